import type { Reconciler } from '#platform/reconcile.ts'

/** What a process does about once a second, once. */
export async function reconcileOnce(tasks: readonly Reconciler[]): Promise<void> {
  for (const { run } of tasks) await run()
}
