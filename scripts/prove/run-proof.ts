import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Seen } from '../../test/support/proof.ts'
import { endProcess, processesOf } from '../gate/machine.ts'
import { readResults } from '../gate/results.ts'
import type { Proof } from './proof.ts'

export interface Ran {
  /** Somebody wanted it to end: it says nothing. */
  readonly isInterrupted: boolean
  readonly passed: boolean
  readonly figures: readonly string[]
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** What a proof may say, so that a page of them can be read. */
const most = { told: 20, judged: 3, letters: 300 }

/** Longer than it should ever take: a night goes on with the next one. */
const tooLongMs = ({ minutes }: Proof) => (3 * minutes + 10) * 60_000

const vitest = ['run', '--no-file-parallelism', '--reporter=default', '--reporter=./scripts/gate/reporter.ts']

/** One proof as a process of its own; what it prints goes to the log. */
export async function runProof(
  proof: Proof,
  log: string,
  seenFile: string,
  mostMs = tooLongMs(proof),
): Promise<Ran> {
  const { run } = proof
  const [command, args] =
    'files' in run ? ['vitest', [...vitest, ...run.files]] : ['node', [run.program, ...(run.args ?? [])]]
  const temporary = mkdtempSync(join(dirname(log), 'tmp-'))
  // PostgreSQL's user must reach what is in it.
  for (const folder of [dirname(log), temporary]) chmodSync(folder, 0o755)
  const report = `${seenFile}.jsonl`
  for (const file of [seenFile, report]) rmSync(file, { force: true })
  const own = { PROOF: '1', PROOF_SEEN: seenFile, GATE_REPORT: report, TMPDIR: temporary, NO_COLOR: '1' }
  // A file, not a pipe: who inherits that keeps it open, and it would be waited for.
  const out = openSync(log, 'w')
  const child = spawn(command, args, {
    env: { ...process.env, ...own },
    stdio: ['ignore', out, out],
    detached: true,
  })
  closeSync(out)
  const end = (signal: NodeJS.Signals) => endGroup(child, signal)
  let killing: NodeJS.Timeout | undefined
  const stop = () => {
    end('SIGTERM')
    killing ??= setTimeout(() => end('SIGKILL'), 15_000)
  }
  let isInterrupted = false
  const interrupt = () => {
    isInterrupted = true
    stop()
  }
  for (const signal of signals) process.on(signal, interrupt)
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    stop()
  }, mostMs)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  for (const timer of [late, killing]) clearTimeout(timer)
  for (const signal of signals) process.off(signal, interrupt)
  const printed = readFileSync(log, 'utf8')
  const faults = [
    ...(isLate ? ['did not end by itself'] : []),
    ...('files' in run ? notShown(run.files, report, printed) : []),
    ...sweep(temporary),
  ]
  const figures = 'files' in run ? figuresOfTests(printed, seenFile) : linesOf(printed, run.figures)
  return {
    isInterrupted,
    passed: code === 0 && faults.length === 0,
    figures: [...figures, ...faults],
  }
}

/** What it was to show and has not, although nothing failed. */
function notShown(files: readonly string[], report: string, printed: string): string[] {
  const ended = readResults(report).files.map(({ file }) => file)
  const missing = files.filter((name) => !ended.some((file) => file.includes(name)))
  return [
    ...missing.map((name) => `not run: ${name}`),
    ...(/^\s*Tests .*\bskipped\b/m.test(printed) ? ['some of its tests were left out'] : []),
  ]
}

/** The next one is not measured beside what this one left. */
function sweep(temporary: string): string[] {
  const left = processesOf(temporary)
  for (const { pid } of left) endProcess(pid)
  rmSync(temporary, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  return left.map(({ words }) => `left alive: ${words}`)
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
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as Seen]
    } catch {
      return [] // Of a process that was killed the last line may be half a line.
    }
  })
}

const round = (value: number) => (value < 10 ? value.toFixed(2) : value.toFixed(0))
const shorten = (text: string) => (text.length > most.letters ? `${text.slice(0, most.letters)}…` : text)
