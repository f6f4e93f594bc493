import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Does the work again after each failure, as long as `pauseAfter` says in how many milliseconds. When it gives undefined
 * the failure is thrown; it may also throw what shall be thrown instead. An abort ends a pause at once.
 */
export async function retry<T>(
  work: () => Promise<T>,
  pauseAfter: (error: unknown, failures: number) => number | undefined,
  signal?: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await work()
    } catch (error) {
      const pauseMs = pauseAfter(error, failures)
      if (pauseMs === undefined) throw error
      if (pauseMs > 0)
        await sleep(pauseMs, undefined, signal && { signal }).catch(() => signal?.throwIfAborted())
    }
  }
}
