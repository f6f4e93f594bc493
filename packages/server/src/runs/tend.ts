import { stopCarrying } from './cancel.ts'
import { voidOldLaunches } from './launch.ts'
import { handOver, sendRun } from './queue.ts'
import { reconcileRuns } from './reconcile.ts'
import type { RunParts } from './run-parts.ts'
import * as store from './store.ts'

const atOnce = 100
const launchWithinSeconds = 60
const askAgainSeconds = 2
/** The engine remembers a cancellation; longer than this it must have lost the run itself. */
const stopWithinSeconds = 600

/**
 * What every process does about once a second, so that no run is left behind by the death of any other: launches that
 * nobody confirmed are void, answers and runs that may not have reached the engine are sent again, canceled runs are
 * stopped again, what should not be is put right, and queues go on.
 */
export async function tendRuns(parts: RunParts): Promise<void> {
  const { db } = parts.database
  const freed = await voidOldLaunches(parts, launchWithinSeconds)
  for (const { run_id, resume_id, resume_key } of await store.listUntaken(db, askAgainSeconds, atOnce)) {
    if (resume_id === null || resume_key === null) continue
    await parts.engine.answerRun(run_id, { key: resume_key, resumeId: resume_id }).catch(() => {})
  }
  for (const runId of await store.listUnsent(db, askAgainSeconds, atOnce))
    await sendRun(parts, runId).catch(() => {})
  const leaving = { fromSeconds: askAgainSeconds, toSeconds: stopWithinSeconds }
  for (const row of await store.listLeaving(db, leaving, atOnce)) await stopCarrying(parts, row)
  await reconcileRuns(parts)
  const waiting = await store.listWaitingWorkspaces(db, atOnce)
  for (const workspaceId of new Set([...waiting, ...freed])) await handOver(parts, workspaceId)
}
