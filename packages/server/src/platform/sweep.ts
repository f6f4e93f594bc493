import type { Database } from './database.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'

/**
 * Removes what has had its time. Nothing depends on when it runs, as every read tells time for itself; but for passkeys
 * that are taken away after three days, which work and can be kept until it has run.
 */
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
