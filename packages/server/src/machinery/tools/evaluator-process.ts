import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { endStart } from '#machinery/sandbox/sandbox.ts'

/** What a process needs to start on a busy machine; not counted as the expression's time. */
const startMs = 10_000
const troubleChars = 500

interface Bounds {
  readonly withinMs: number
  readonly late: string
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

/** A process for one request. It has heard nothing of anybody when it is made, and ends with its answer. */
export interface EvaluatorProcess {
  readonly alive: boolean
  ask(request: string, bounds: Bounds): Promise<string>
}

/** Starts a process and waits until it is ready, with the language loaded. */
export async function startEvaluator([program, ...args]: [string, ...string[]]): Promise<EvaluatorProcess> {
  const options = { detached: true, env: { PATH: process.env['PATH'] }, stdio: 'pipe' } as const
  const child = spawn(program, args, options)
  let trouble = ''
  child.stderr.on('data', (chunk: Buffer) => {
    trouble = (trouble + chunk.toString()).slice(0, troubleChars)
  })
  // Whoever writes to a process that has ended hears of the end itself.
  child.stdin.on('error', () => {})
  child.on('error', () => {})
  try {
    await readLine(child, { withinMs: startMs, late: `not ready after ${startMs} ms`, maxBytes: 1 })
  } catch (error) {
    endStart(child)
    throw new Error(
      `No evaluator could be started; workers need bubblewrap 0.8 on PATH and user namespaces: ${trouble || (error as Error).message}`,
    )
  }
  keepAlive(child, false)
  return {
    get alive() {
      return child.exitCode === null && child.signalCode === null
    },
    async ask(request, bounds) {
      keepAlive(child, true)
      try {
        bounds.signal?.throwIfAborted()
        const answer = readLine(child, bounds)
        child.stdin.end(request)
        return await answer
      } finally {
        child.kill('SIGKILL')
      }
    },
  }
}

/** Whether this process goes on for it: one at rest must not keep it from ending. */
function keepAlive(child: ChildProcessWithoutNullStreams, wanted: boolean): void {
  for (const part of [child, child.stdin as Socket, child.stdout as Socket, child.stderr as Socket]) {
    if (wanted) part.ref()
    else part.unref()
  }
}

/** What it says until the end of its line. The bytes are counted as they come, because it may be anything by now. */
function readLine(
  child: ChildProcessWithoutNullStreams,
  { withinMs, late, maxBytes, signal }: Bounds,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const settle = (act: () => void) => {
      clearTimeout(timer)
      child.stdout.off('data', heard)
      child.off('close', died)
      signal?.removeEventListener('abort', aborted)
      act()
    }
    const fail = (error: unknown) => settle(() => reject(error))
    const heard = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) return fail(new Error(`The answer has more than ${maxBytes} bytes.`))
      chunks.push(chunk)
      if (chunk.at(-1) === lineFeed) settle(() => resolve(Buffer.concat(chunks).toString()))
    }
    const died = () => fail(new Error('The evaluation ended early; the expression may need too much memory.'))
    const aborted = () => fail(signal?.reason)
    const timer = setTimeout(() => fail(new Error(late)), withinMs)
    child.stdout.on('data', heard)
    child.once('close', died)
    signal?.addEventListener('abort', aborted)
  })
}

const lineFeed = 10
