import { announceApprovals, dropQuestions } from '#access/approvals/approvals.ts'
import { type Author, recordActivity } from '#accounts/activity/activity.ts'
import { abandoned, type StepRecord } from '#machinery/graph/graph.ts'
import type { Tx } from '#platform/database.ts'
import { interruptExecutionsOfRun } from '#running/executions/executions.ts'
import { announceRun } from './announce.ts'
import { handOver } from './queue.ts'
import type { RunParts } from './run-parts.ts'
import * as store from './store.ts'

type Status = store.RunRow['status']

const open: readonly Status[] = ['launching', 'running', 'suspended']

/** Gives the row when this canceled it. */
export async function cancelRun(
  parts: RunParts,
  runId: string,
  by: Author,
  {
    from = ['running', 'suspended'],
    spend,
  }: { from?: readonly Status[]; spend?: (tx: Tx) => Promise<void> } = {},
): Promise<store.RunRow | undefined> {
  return endRun(parts, runId, from, { status: 'canceled' }, async (tx, canceled) => {
    await spend?.(tx)
    const { workspace_id: workspaceId, workflow_id: workflowId } = canceled
    await recordActivity(tx, by, { type: 'workflow.canceled', workspaceId, details: { runId, workflowId } })
  })
}

/** For one that no worker brings to its end. */
export async function failRun(parts: RunParts, runId: string): Promise<void> {
  const message = 'The run could not be carried on, for a reason of the service. It can be run again.'
  const error = { name: 'WorkflowError', code: 'INTERNAL_ERROR', message } as const
  await endRun(parts, runId, open, { status: 'failed', error })
}

/**
 * Ends a run, if it has not ended: the row decides, and whatever the engine does from then on counts for nothing. Its
 * skills and agents are stopped; the engine gets word of it, and nobody waits for that. What cannot be reached now gets the word
 * again from a reconciler. Gives the row when this ended it.
 */
async function endRun(
  parts: RunParts,
  runId: string,
  from: readonly Status[],
  end: Parameters<typeof store.claimEnd>[3],
  within: (tx: Tx, row: store.RunRow) => Promise<void> = async () => {},
): Promise<store.RunRow | undefined> {
  const { row, dropped } = await parts.database.transaction(async (tx) => {
    const ended = await store.claimEnd(tx, runId, from, end)
    if (!ended) return { row: undefined, dropped: [] }
    await within(tx, ended)
    const endedAt = Date.parse(ended.ended_at ?? ended.updated_at)
    for (const step of await store.listSteps(tx, runId)) {
      const record = abandoned(step.record as StepRecord, endedAt)
      if (record) await store.updateLastRecord(tx, step, record)
    }
    return { row: ended, dropped: await dropQuestions(tx, runId) }
  })
  if (!row) return undefined
  announceRun(parts, row)
  const word = { kind: 'workflow', workspaceId: row.workspace_id, ids: dropped, status: 'expired' } as const
  await announceApprovals(parts, word)
  void tellEngine(parts, row)
  void handOver(parts, row.workspace_id)
  await interruptBegun(parts, row)
  return row
}

const atOnce = 20

/**
 * For a key that is revoked together with what it runs; how many runs that ended. A launch that the engine has not confirmed
 * yet is among them: its process may stand still, and would go on with it.
 */
export async function stopRunsOfKey(parts: RunParts, keyId: number, by: Author): Promise<number> {
  for (let stopped = 0; ; ) {
    const runIds = await store.listOpenOfKey(parts.database.db, keyId, atOnce)
    if (runIds.length === 0) return stopped
    const canceled = await Promise.all(runIds.map((runId) => cancelRun(parts, runId, by, { from: open })))
    stopped += canceled.filter((row) => row !== undefined).length
  }
}

type Leaving = Pick<store.RunRow, 'run_id' | 'invocation_id'>

/** Tells the engine, and whatever the run began, that it is over. */
export async function stopDriving(parts: RunParts, row: Leaving): Promise<void> {
  await Promise.all([tellEngine(parts, row), interruptBegun(parts, row)])
}

async function tellEngine(parts: RunParts, { run_id, invocation_id }: Leaving): Promise<void> {
  if (invocation_id !== null) await parts.engine.cancelRun(run_id, invocation_id).catch(notYet(parts, run_id))
}

/** Agents first, so that none of them starts another skill. */
async function interruptBegun(parts: RunParts, { run_id }: Leaving): Promise<void> {
  await parts.agentRuns.interruptOfRun(run_id).catch(notYet(parts, run_id))
  await interruptExecutionsOfRun(parts, run_id).catch(notYet(parts, run_id))
}

function notYet({ logger }: RunParts, runId: string) {
  return (error: unknown) =>
    logger.debug({ err: error, run: runId }, 'a canceled run was not stopped everywhere yet')
}
