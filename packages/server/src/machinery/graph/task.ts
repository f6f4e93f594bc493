import type { Durable, DurablePromise } from './durable.ts'

/** What a task is waiting for. */
interface Wait {
  readonly promise: DurablePromise<unknown>
  readonly forPerson: boolean
}

/** Work that stops at every durable promise and is moved on by `drive`; tasks interleave only there. */
export type Task<T> = Generator<Wait, T, unknown>

export function* waitFor<T>(promise: DurablePromise<T>): Task<T> {
  return (yield { promise, forPerson: false }) as T
}

export function* waitForPerson<T>(promise: DurablePromise<T>): Task<T> {
  return (yield { promise, forPerson: true }) as T
}

/**
 * Runs tasks, at most `concurrency` of them at a time, to their results in the order given. Once a result is `bad` no
 * further task starts; what runs finishes, and what waits for a person is left: it has no result.
 */
export async function drive<T>(
  durable: Durable,
  tasks: readonly Task<T>[],
  isBad: (result: T) => boolean,
  concurrency = tasks.length,
): Promise<(T | undefined)[]> {
  const results: (T | undefined)[] = tasks.map(() => undefined)
  const live = new Map<number, Wait>()
  let failed = false
  let started = 0

  const advance = (index: number, value?: unknown) => {
    const step = tasks[index]?.next(value)
    if (!step) return
    if (!step.done) {
      live.set(index, step.value)
      return
    }
    live.delete(index)
    results[index] = step.value
    failed ||= isBad(step.value)
  }

  for (;;) {
    while (!failed && started < tasks.length && live.size < concurrency) advance(started++)
    if (live.size === 0) return results
    const waits = [...live.entries()]
    if (waits.every(([, wait]) => wait.forPerson)) {
      if (failed) return results
      await durable.suspended()
    }
    const first = await durable.race(waits.map(([, wait]) => wait.promise))
    const winner = waits[first.index]
    if (winner) advance(winner[0], first.value)
  }
}
