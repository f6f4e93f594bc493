import type { Database } from './database.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'

/** Removes what has had its time. Nothing depends on when it runs: every read tells time for itself. */
export interface Sweep {
  readonly table: string
  run(): Promise<number>
}

const sweepEveryMs = 60_000

export function startSweeps(
  parts: { database: Database; logger: Logger; metrics: Metrics },
  sweeps: readonly Sweep[],
): { stop(): void } {
  const runAll = async () => {
    for (const sweep of sweeps) {
      if (!parts.database.available) return
      try {
        const removed = await sweep.run()
        if (removed > 0) parts.metrics.swept.inc({ table: sweep.table }, removed)
      } catch (error) {
        parts.logger.warn({ err: error, table: sweep.table }, 'sweep failed; it runs again in a minute')
      }
    }
  }
  // Spread over the minute, so that many processes do not sweep at one moment.
  const timer = setInterval(() => void runAll(), sweepEveryMs * (0.75 + Math.random() / 2))
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

/** What every process looks after about once a second, because whoever should have done it may be dead. */
export interface Tending {
  readonly name: string
  run(): Promise<void>
}

const tendEveryMs = 1000

/** Each by itself: what one waits for, the others do not. */
export function startTending(
  parts: { database: Database; logger: Logger },
  tasks: readonly Tending[],
): { stop(): void } {
  const timers = new Map<Tending, NodeJS.Timeout>()
  let stopped = false
  const next = (task: Tending) => {
    if (stopped) return
    const delayMs = tendEveryMs * (0.75 + Math.random() / 2)
    timers.set(task, setTimeout(() => void tend(task), delayMs).unref())
  }
  const tend = async (task: Tending) => {
    if (parts.database.available) {
      await task.run().catch((error) => {
        parts.logger.warn({ err: error, name: task.name }, 'tending failed; it runs again')
      })
    }
    next(task)
  }
  for (const task of tasks) next(task)
  return {
    stop: () => {
      stopped = true
      for (const timer of timers.values()) clearTimeout(timer)
    },
  }
}
