import { Worker } from 'node:worker_threads'
import { ApiError } from '#operations/errors.ts'
import { FairPlaces } from '#platform/fair-places.ts'
import { type Comparison, type FilePair, leftOut } from './compare.ts'

const atOnce = 2
/** Of all files of a request together; whoever asks again gets the same. */
const time = { totalMs: 1000, perFileMs: 200 }
/** For the thread to start and the message to travel on a busy machine, before it is taken for stuck. */
const graceMs = 5000
const memoryMib = 192
const longestWaitMs = 10_000

export type Compare = (
  workspaceId: string,
  /** Called when its turn has come, so that who waits holds no content. */
  readPairs: () => Promise<FilePair[]>,
  signal: AbortSignal,
) => Promise<Comparison[]>

/**
 * Compares files in threads of their own, so that this event loop goes on: at most two at once, one of a workspace, and
 * workspaces in turn. Threads are started when they are first needed, and used again.
 */
export function openComparer(): Compare {
  const places = new FairPlaces(atOnce, 1)
  const idle: Worker[] = []

  return async (workspaceId, readPairs, signal) => {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(longestWaitMs)])
    const leave = await places.take(workspaceId, patience).catch(() => {
      const message = 'Other comparisons of this workspace are under way; try again in 1 s'
      throw new ApiError('RATE_LIMITED', {
        message,
        retryAfterSeconds: 1,
        window: { limit: 1, resetSeconds: 1 },
      })
    })
    try {
      const pairs = await readPairs()
      if (pairs.length === 0) return []
      const thread = idle.pop() ?? startThread()
      const compared = await ask(thread, pairs)
      if (compared) idle.push(thread)
      else await thread.terminate()
      return compared ?? pairs.map(() => leftOut('over-budget'))
    } finally {
      leave()
    }
  }
}

function startThread(): Worker {
  return new Worker(new URL('./compare-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: memoryMib },
  })
}

/** What the thread finds; undefined when it died of it or took more time than it was given. */
function ask(thread: Worker, pairs: readonly FilePair[]): Promise<Comparison[] | undefined> {
  return new Promise((resolve) => {
    const settle = (compared?: Comparison[]) => {
      clearTimeout(timer)
      thread.removeAllListeners()
      // At rest it must not keep the process from ending, and what befalls it then is nobody's fault.
      thread.on('error', () => {})
      thread.unref()
      resolve(compared)
    }
    const timer = setTimeout(settle, time.totalMs + graceMs)
    thread.removeAllListeners()
    thread.once('message', settle)
    thread.once('error', () => settle())
    thread.once('exit', () => settle())
    thread.ref()
    thread.postMessage({ pairs, time })
  })
}
