import { handOver } from './queue.ts'
import * as reconcileStore from './reconcile-store.ts'
import type { RunParts } from './run-parts.ts'
import { settleQuestions } from './settle-questions.ts'

const atOnce = 100
const askAgainSeconds = 2

/**
 * Puts right what no run should be like: places held by runs that do not advance, suspended runs whose questions nobody
 * sees, questions of runs that have ended. The last two are left behind by a process that dies between the two writes;
 * the first should not be, and is told of. Then asks what there was no room for in the inbox.
 */
export async function repairRuns(parts: RunParts): Promise<void> {
  const { db } = parts.database
  const stray = await reconcileStore.claimStrayPlaces(db)
  for (const { run_id: run } of stray) parts.logger.warn({ run }, 'a run held a place without advancing')
  for (const workspaceId of new Set(stray.map(({ workspace_id }) => workspace_id)))
    await handOver(parts, workspaceId)
  const unsettled = await reconcileStore.listUnsettled(db, askAgainSeconds, atOnce)
  const heldBack = await reconcileStore.listHeldBack(db, atOnce)
  for (const runId of [...unsettled, ...heldBack]) {
    await settleQuestions(parts, runId).catch((error: unknown) =>
      parts.logger.warn({ err: error, run: runId }, 'the questions of a run are not in the inbox yet'),
    )
  }
}
