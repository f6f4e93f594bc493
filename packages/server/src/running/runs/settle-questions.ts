import { announceApprovals, dropQuestions, recordQuestions } from '#access/approvals/approvals.ts'
import { questionsOf, type StepRecord } from '#machinery/graph/graph.ts'
import type { Tx } from '#platform/database.ts'
import { listAskingSteps } from './read-store.ts'
import type { RunParts } from './run-parts.ts'
import * as store from './store.ts'

interface Settled {
  readonly workspaceId: string
  readonly asked: readonly string[]
  readonly dropped: readonly string[]
}

/**
 * Has the inbox show what a run waits for: what a suspended run asks is open, whatever else it asked is not. Goes by the
 * run as it is, so it may be done at any time and by anybody; whatever people know already stays as it is. A run that
 * goes on is left alone: this is done again when it next waits, or ends.
 */
export async function settleQuestions(parts: RunParts, runId: string): Promise<void> {
  await announceSettled(parts, await parts.database.transaction((tx) => settleWithin(tx, runId)))
}

/** The same in a transaction under way; `announceSettled` once it is committed. */
export async function settleWithin(tx: Tx, runId: string): Promise<Settled | undefined> {
  const run = await store.claimAsking(tx, runId)
  if (!run) return undefined
  const { workspace_id: workspaceId, user_id: userId, api_key_id: apiKeyId, workflow_id: workflowId } = run
  const steps = run.status === 'suspended' ? await listAskingSteps(tx, runId) : []
  const waiting = steps.flatMap(({ record }) => questionsOf(record as StepRecord))
  const questions = waiting.map(({ stepId, index, key, payload }) => ({
    workflowId,
    stepId,
    index,
    key,
    payload,
  }))
  const dropped = run.had ? await dropQuestions(tx, runId, questions) : []
  const { asked, isHeldBack } = await recordQuestions(tx, { runId, workspaceId, userId, apiKeyId }, questions)
  if (isHeldBack) await store.updateHeldBack(tx, runId)
  return { workspaceId, asked, dropped }
}

export async function announceSettled(parts: RunParts, settled: Settled | undefined): Promise<void> {
  if (!settled) return
  const { workspaceId, asked, dropped } = settled
  await announceApprovals(parts, { kind: 'workflow', workspaceId, ids: dropped, status: 'expired' })
  await announceApprovals(parts, { kind: 'workflow', workspaceId, ids: asked })
}
