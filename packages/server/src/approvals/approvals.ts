import { createHash, randomUUID } from 'node:crypto'
import { toDs } from '@guildhall/contract'
import type { Live } from '../live/live.ts'
import type { Db, Tx } from '../platform/database.ts'
import type { Logger } from '../platform/logger.ts'
import { listMemberIds } from '../workspaces/workspaces.ts'
import * as store from './store.ts'

/** A step of a run that waits for a person. */
export interface Question {
  readonly workflowId: string
  readonly stepId: string
  readonly index: number
  /** Unlike that of any other question of the run. */
  readonly key: string
  readonly payload: unknown
}

interface AskingRun {
  readonly runId: string
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
}

/**
 * Puts the questions of a suspended run into the inbox of everybody in its workspace; those that are there already stay,
 * and one that was closed by an answer that was taken back is open again. Hold the run's row, so that it is not canceled
 * meanwhile. Gives the ids of those that are new or open again.
 */
export async function recordQuestions(
  tx: Tx,
  { runId, workspaceId, userId, apiKeyId }: AskingRun,
  questions: readonly Question[],
): Promise<string[]> {
  const rows = questions.map((question) => ({
    id: questionId(runId, question.key),
    kind: 'workflow' as const,
    key_id: apiKeyId,
    user_id: userId,
    workspace_id: workspaceId,
    subject: runId,
    question: JSON.stringify(question),
  }))
  if (rows.length === 0) return []
  const added = await store.insertApprovals(tx, rows)
  const others = rows.map(({ id }) => id).filter((id) => !added.includes(id))
  return others.length === 0 ? added : [...added, ...(await store.updatePending(tx, others))]
}

/** A question that was answered, in the transaction that takes the answer. */
export async function closeQuestion(tx: Tx, runId: string, key: string, answer: unknown) {
  const status = isRefusal(answer) ? 'denied' : 'granted'
  const closed = await store.claimDecision(tx, questionId(runId, key), { status, deny_reason: null })
  return { ids: closed ? [closed.id] : [], status } as const
}

/** What a run asked and does not ask any more. Gives the ids. */
export async function dropQuestions(
  tx: Tx,
  runId: string,
  kept: readonly Pick<Question, 'key'>[] = [],
): Promise<string[]> {
  return store.updateExpired(
    tx,
    runId,
    kept.map(({ key }) => questionId(runId, key)),
  )
}

export function questionId(runId: string, key: string): string {
  return `workflow_${createHash('sha256').update(`${runId}:${key}`).digest('hex').slice(0, 40)}`
}

function isRefusal(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'approved' in answer && answer.approved === false
}

interface StoppedExecution {
  readonly executionId: string
  readonly keyId: number
  readonly userId: string
  readonly workspaceId: string
}

/** In the transaction that ends what reached its key's limit. Undefined when the key's owner is asked already. */
export async function requestBudget(tx: Tx, stopped: StoppedExecution): Promise<string | undefined> {
  const { executionId, keyId, userId, workspaceId } = stopped
  const limitMilliDs = await store.findKeyLimit(tx, keyId)
  if (limitMilliDs === undefined) return undefined
  const [id] = await store.insertApprovals(tx, [
    {
      id: `budget_${randomUUID()}`,
      kind: 'budget',
      key_id: keyId,
      user_id: userId,
      workspace_id: workspaceId,
      subject: executionId,
      question: JSON.stringify({ limit: toDs(limitMilliDs) }),
    },
  ])
  return id
}

interface Word {
  readonly kind: 'workflow' | 'budget'
  readonly workspaceId: string
  readonly ids: readonly string[]
  /** Left out for what was just asked. */
  readonly status?: store.ApprovalState
  /** Whose it is; everybody's in the workspace when left out. */
  readonly userId?: string
}

/** To whoever may decide, after the change is committed. Nothing here is needed for the truth. */
export async function announceApprovals(
  { live, database, logger }: { live: Live; database: { db: Db }; logger: Logger },
  { kind, workspaceId, ids, status, userId }: Word,
): Promise<void> {
  if (ids.length === 0) return
  try {
    const told = userId ?? (await listMemberIds(database.db, workspaceId))
    const type = status === undefined ? 'approval-requested' : 'approval-resolved'
    for (const approvalId of ids) {
      live.publish({ type, workspaceId, approvalId, kind, ...(status && { status }) }, { userId: told })
    }
  } catch (error) {
    logger.warn({ err: error, ids }, 'nobody was told of an approval')
  }
}
