import { announceApprovals, recordQuestions } from '../approvals/approvals.ts'
import type { StepRecord } from '../graph/graph.ts'
import { ApiError } from '../http/api-error.ts'
import { listAskingSteps, lockSuspended } from './read-store.ts'
import { resumeRun } from './resume.ts'
import type { RunParts } from './run-parts.ts'
import * as store from './store.ts'

/** Shows people what a run waits for that has suspended. Whatever they know already stays as it is. */
export async function askPeople(parts: RunParts, runId: string): Promise<void> {
  const asked = await parts.database.transaction(async (tx) => {
    const run = await lockSuspended(tx, runId)
    if (!run) return undefined
    const { workspace_id: workspaceId, user_id: userId, api_key_id: apiKeyId, workflow_id: workflowId } = run
    const steps = await listAskingSteps(tx, runId)
    const waiting = steps.flatMap(({ record }) => (record as StepRecord).metadata?.waiting ?? [])
    const questions = waiting.map(({ stepId, index, key, payload }) => ({
      workflowId,
      stepId,
      index,
      key,
      payload,
    }))
    return {
      workspaceId,
      ids: await recordQuestions(tx, { runId, workspaceId, userId, apiKeyId }, questions),
    }
  })
  if (asked) await announceApprovals(parts, { kind: 'workflow', ...asked })
}

/** What somebody says in the inbox to one certain question. */
export async function answerQuestion(
  parts: RunParts,
  { workspaceId, runId, key, data }: { workspaceId: string; runId: string; key: string; data: unknown },
): Promise<void> {
  const row = await store.findRun(parts.database.db, workspaceId, runId)
  if (!row) throw new ApiError('NOT_FOUND')
  try {
    await resumeRun(parts, row, { key, data })
  } catch (error) {
    throw asDecision(error)
  }
}

/** The codes of the resume route are its own. */
function asDecision(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  if (error.code === 'RESUME_FAILED')
    return new ApiError('SERVICE_UNAVAILABLE', { cause: error, retryAfterSeconds: 1 })
  const message = 'This was answered already, or the run has ended'
  return error.status === 409 ? new ApiError('CONFLICT', { message, cause: error }) : error
}
