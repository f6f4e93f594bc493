import type { Tending } from '../../src/platform/sweep.ts'

/** What a process does about once a second, once. */
export async function tendOnce(tasks: readonly Tending[]): Promise<void> {
  for (const { run } of tasks) await run()
}
