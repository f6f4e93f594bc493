import type { Database } from './database.ts'
import type { Logger } from './logger.ts'

/**
 * Looks about once a second, in every process, for records that another process left in a state they should not stay in,
 * and brings them on: the process that should have done it may be dead. It must do no harm when many run it at once.
 */
export interface Reconciler {
  readonly name: string
  run(): Promise<void>
}

const reconcileEveryMs = 1000

/** Each reconciler has a timer of its own: what one waits for, the others do not. */
export function startReconcilers(
  parts: { database: Database; logger: Logger },
  reconcilers: readonly Reconciler[],
): { stop(): void } {
  const timers = new Map<Reconciler, NodeJS.Timeout>()
  let stopped = false
  const next = (reconciler: Reconciler) => {
    if (stopped) return
    const delayMs = reconcileEveryMs * (0.75 + Math.random() / 2)
    timers.set(reconciler, setTimeout(() => void reconcile(reconciler), delayMs).unref())
  }
  const reconcile = async (reconciler: Reconciler) => {
    if (parts.database.available) {
      await reconciler.run().catch((error) => {
        parts.logger.warn({ err: error, name: reconciler.name }, 'reconciling failed; it runs again')
      })
    }
    next(reconciler)
  }
  for (const reconciler of reconcilers) next(reconciler)
  return {
    stop: () => {
      stopped = true
      for (const timer of timers.values()) clearTimeout(timer)
    },
  }
}
