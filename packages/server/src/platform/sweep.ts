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

export function startTending(
  parts: { database: Database; logger: Logger },
  tasks: readonly Tending[],
): { stop(): void } {
  let stopped = false
  let timer: NodeJS.Timeout
  const next = () => {
    if (!stopped) timer = setTimeout(() => void runAll(), tendEveryMs * (0.75 + Math.random() / 2)).unref()
  }
  const runAll = async () => {
    for (const { name, run } of tasks) {
      if (stopped || !parts.database.available) continue
      await run().catch((error) => parts.logger.warn({ err: error, name }, 'tending failed; it runs again'))
    }
    next()
  }
  next()
  return {
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}
