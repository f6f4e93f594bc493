import type { Reconciler } from '#platform/reconcile.ts'
import { sideBySide } from '#platform/side-by-side.ts'
import { stopDriving } from './cancel.ts'
import { voidOldLaunches } from './launch.ts'
import { handOver, sendRun } from './queue.ts'
import * as reconcileStore from './reconcile-store.ts'
import { repairRuns } from './repair.ts'
import type { RunParts } from './run-parts.ts'
import { PausedRuns } from './tend.ts'

const atMost = 100
const atOnce = 10
const launchWithinSeconds = 60
const askAgainSeconds = 2
/** The engine remembers a cancellation; longer than this it must have lost the run itself. */
const stopWithinSeconds = 600

/**
 * What every process does about once a second, so that no run is left behind by the death of any other: launches that
 * nobody confirmed are void, answers and runs that may not have reached the engine are sent again, canceled runs are
 * stopped again, what the engine has put aside is taken up, what should not be is put right, and queues go on. Each has
 * a pace of its own, and an engine that hangs holds up no more than what it is asked for.
 */
export function runReconcilers(parts: RunParts): Reconciler[] {
  const { db } = parts.database
  const paused = new PausedRuns(parts)
  return [
    {
      name: 'launches of runs',
      run: async () => {
        const freed = await voidOldLaunches(parts, launchWithinSeconds)
        await sideBySide(new Set(freed), atOnce, (workspaceId) => handOver(parts, workspaceId))
      },
    },
    {
      name: 'answers to runs',
      run: async () =>
        sideBySide(await reconcileStore.listUntaken(db, askAgainSeconds, atMost), atOnce, async (row) => {
          const { run_id, resume_id: resumeId, resume_key: key } = row
          if (resumeId !== null && key !== null) await parts.engine.answerRun(run_id, { key, resumeId })
        }),
    },
    {
      name: 'runs on their way',
      run: async () =>
        sideBySide(await reconcileStore.listUnsent(db, askAgainSeconds, atMost), atOnce, (runId) =>
          sendRun(parts, runId),
        ),
    },
    {
      name: 'canceled runs',
      run: async () => {
        const leaving = { fromSeconds: askAgainSeconds, toSeconds: stopWithinSeconds }
        const rows = await reconcileStore.listLeaving(db, leaving, atMost)
        await sideBySide(rows, atOnce, (row) => stopDriving(parts, row))
      },
    },
    { name: 'runs that the engine put aside', run: () => paused.tend() },
    { name: 'rows of runs', run: () => repairRuns(parts) },
    {
      name: 'queues of runs',
      run: async () =>
        sideBySide(await reconcileStore.listWaitingWorkspaces(db, atMost), atOnce, (workspaceId) =>
          handOver(parts, workspaceId),
        ),
    },
  ]
}
