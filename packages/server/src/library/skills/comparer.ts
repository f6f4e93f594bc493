import { ApiError } from '#operations/errors.ts'
import { FairPlaces } from '#platform/fair-places.ts'
import { Threads } from '#platform/threads.ts'
import { type Comparison, type FilePair, leftOut } from './compare.ts'
import type { Task } from './compare-thread.ts'

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

/** Compares files in threads: at most two at once, one of a workspace, and workspaces in turn. */
export function openComparer(): Compare {
  const places = new FairPlaces(atOnce, 1)
  const threads = new Threads<Task, Comparison[]>(new URL('./compare-thread.ts', import.meta.url), memoryMib)

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
      const compared = await threads.ask({ pairs, time }, time.totalMs + graceMs)
      return compared ?? pairs.map(() => leftOut('over-budget'))
    } finally {
      leave()
    }
  }
}
