import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, existsSync, readFileSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import type { Seen } from '../../test/support/proof.ts'
import type { Proof } from './proof.ts'

export interface Ran {
  /** Somebody wanted it to end: it says nothing. */
  readonly isInterrupted: boolean
  readonly passed: boolean
  readonly figures: readonly string[]
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** What a proof may say, so that a page of them can be read. */
const most = { told: 10, judged: 3, letters: 300 }

/** Longer than it should ever take: a night goes on with the next one. */
const tooLongMs = ({ minutes }: Proof) => (3 * minutes + 10) * 60_000

/** One proof as a process of its own; what it prints goes to the log. */
export async function runProof(proof: Proof, log: string, seenFile: string): Promise<Ran> {
  const { run } = proof
  const [command, ...args] =
    'files' in run
      ? ['vitest', 'run', '--no-file-parallelism', ...run.files]
      : ['node', run.program, ...(run.args ?? [])]
  const out = createWriteStream(log)
  const env = { ...process.env, PROOF: '1', PROOF_SEEN: seenFile, NO_COLOR: '1' }
  const child = spawn(command ?? '', args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk
    out.write(chunk)
  })
  child.stderr.pipe(out, { end: false })
  const end = (signal: NodeJS.Signals) => endGroup(child, signal)
  let killing: NodeJS.Timeout | undefined
  const stop = () => {
    end('SIGTERM')
    killing = setTimeout(() => end('SIGKILL'), 15_000)
  }
  let isInterrupted = false
  const interrupt = () => {
    isInterrupted = true
    stop()
  }
  for (const signal of signals) process.once(signal, interrupt)
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    stop()
  }, tooLongMs(proof))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  for (const timer of [late, killing]) clearTimeout(timer)
  for (const signal of signals) process.off(signal, interrupt)
  out.end()
  await finished(out)
  const figures = 'files' in run ? figuresOfTests(printed, seenFile) : linesOf(printed, run.figures)
  return {
    isInterrupted,
    passed: code === 0,
    figures: isLate ? [...figures, 'did not end by itself'] : figures,
  }
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid) process.kill(-pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}

/** How many passed, what they told, and those that came closest to a bound. */
function figuresOfTests(printed: string, seenFile: string): string[] {
  const tests = /^\s*Tests\s+(.*)$/m.exec(printed)?.[1]?.trim()
  return [...(tests ? [`tests: ${tests}`] : []), ...figuresOfSeen(readSeen(seenFile))]
}

export function figuresOfSeen(seen: readonly Seen[]): string[] {
  const told = seen.flatMap((one) => (one.kind === 'told' ? [shorten(one.text)] : []))
  const closest = seen
    .flatMap((one) => (one.kind === 'judged' ? [one] : []))
    .toSorted((a, b) => b.value / b.bound - a.value / a.bound)
    .slice(0, most.judged)
    .map(({ about, value, bound, unit }) =>
      shorten(`closest to its bound: ${round(value)} of ${bound}${unit}, ${about}`),
    )
  return [...told.slice(0, most.told), ...closest]
}

function linesOf(printed: string, figures: RegExp): string[] {
  const lines = printed.split('\n').filter((line) => figures.test(line))
  return lines.slice(-most.told).map((line) => shorten(line.trim()))
}

function readSeen(file: string): Seen[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Seen)
}

const round = (value: number) => (value < 10 ? value.toFixed(2) : value.toFixed(0))
const shorten = (text: string) => (text.length > most.letters ? `${text.slice(0, most.letters)}…` : text)
