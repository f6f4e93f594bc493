import { type ChildProcess, fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Evaluated, Evaluation } from './evaluation.ts'

const program = fileURLToPath(new URL('./evaluator.ts', import.meta.url))
const library = dirname(createRequire(import.meta.url).resolve('jsonata/package.json'))

/** More would only take the processor from each other. */
const mostAtOnce = 2
const memoryMib = 128
const maxResultChars = 1_000_000
/** For the message to travel, before the process is taken for stuck. */
const graceMs = 500
/** What a process needs to start on a busy machine; not counted as the expression's time. */
const startMs = 10_000

type Evaluate = (wish: Pick<Evaluation, 'expression' | 'data'>, signal: AbortSignal) => Promise<unknown>

/**
 * Evaluates JSONata apart from this process: what loops is killed, what eats memory dies alone, and this event loop
 * goes on in the meantime. Processes are started when they are first needed, and used again.
 */
export function openEvaluators(timeoutMs: number): Evaluate {
  const idle = new Set<ChildProcess>()
  const waiting: (() => void)[] = []
  let busy = 0

  const take = async (): Promise<ChildProcess> => {
    const [rested] = idle
    if (!rested) return start((child) => idle.delete(child))
    idle.delete(rested)
    rested.channel?.ref()
    return rested
  }
  const evaluate = async (evaluation: Evaluation, signal: AbortSignal): Promise<Evaluated> => {
    const child = await take()
    try {
      const answer = nextMessage(child, timeoutMs + graceMs, signal)
      child.send(evaluation)
      const evaluated = (await answer) as Evaluated
      // At rest it must not keep this process from ending.
      child.channel?.unref()
      idle.add(child)
      return evaluated
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
  }

  return async (wish, signal) => {
    if (busy === mostAtOnce) await new Promise<void>((free) => waiting.push(free))
    else busy++
    try {
      signal.throwIfAborted()
      const evaluated = await evaluate({ ...wish, timeoutMs, maxChars: maxResultChars }, signal)
      if ('problem' in evaluated) throw new Error(`The expression fails: ${evaluated.problem}.`)
      return JSON.parse(evaluated.text)
    } finally {
      // The place goes on to whoever waits longest, without becoming free in between.
      const next = waiting.shift()
      if (next) next()
      else busy--
    }
  }
}

async function start(onEnd: (child: ChildProcess) => void): Promise<ChildProcess> {
  const child = fork(program, [], {
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: [
      '--permission',
      `--allow-fs-read=${dirname(program)}/*`,
      `--allow-fs-read=${library}/*`,
      `--max-old-space-size=${memoryMib}`,
    ],
  })
  child.unref()
  child.once('exit', () => onEnd(child))
  try {
    await nextMessage(child, startMs)
    return child
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

function nextMessage(child: ChildProcess, withinMs: number, signal?: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => () => {
      clearTimeout(timer)
      child.off('message', heard)
      child.off('exit', died)
      signal?.removeEventListener('abort', aborted)
      act()
    }
    const fail = (error: Error) => settle(() => reject(error))
    const heard = (message: unknown) => settle(() => resolve(message))()
    const died = fail(new Error('The evaluation ended early; the expression may need too much memory.'))
    const aborted = () => settle(() => reject(signal?.reason))()
    const timer = setTimeout(fail(new Error(`The expression takes more than ${withinMs} ms.`)), withinMs)
    child.once('message', heard)
    child.once('exit', died)
    signal?.addEventListener('abort', aborted)
  })
}
