import { type approvalRoutes, type BodyOf, fromDs, minimumCreditsDs, toDs } from '@guildhall/contract'
import { recordActivity } from '../activity/activity.ts'
import { raiseKeySpendLimit } from '../billing/billing.ts'
import { refuseDecision } from '../consent/consent.ts'
import type { Deps } from '../deps.ts'
import type { Live } from '../live/live.ts'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import type { Tx } from '../platform/database.ts'
import { announceApprovals, type Question } from './approvals.ts'
import * as store from './store.ts'

interface Answered {
  readonly workspaceId: string
  readonly runId: string
  /** Of the question; whatever else the run asks meanwhile stays open. */
  readonly key: string
  readonly data: unknown
  readonly by: Principal
}

export interface DecisionParts {
  readonly live: Live
  /** Lets the run go on with what was said; it closes the question and tells who answered. */
  answerQuestion(answered: Answered): Promise<void>
}

type Wish = BodyOf<typeof approvalRoutes.approveApproval>

export async function approve(
  deps: Deps,
  parts: DecisionParts,
  person: Principal,
  id: string,
  { resumeData, amount }: Wish,
): Promise<void> {
  const found = await findPending(deps, person, id)
  if (found.kind === 'workflow') {
    const { payload } = found.question as Question
    const data = resumeData === undefined && asksForLeave(payload) ? { approved: true } : resumeData
    return answer(parts, person, found, data)
  }
  await decideBudget(deps, parts, person, found, { status: 'granted', deny_reason: null }, amount)
}

/** A step that asks for leave is told no, which is data to it; one that asks anything else needs an answer. */
export async function deny(
  deps: Deps,
  parts: DecisionParts,
  person: Principal,
  id: string,
  reason: string | undefined,
): Promise<void> {
  const found = await findPending(deps, person, id)
  const note = reason?.trim() || null
  if (found.kind === 'budget') {
    await decideBudget(deps, parts, person, found, { status: 'denied', deny_reason: note })
    return
  }
  if (!asksForLeave((found.question as Question).payload)) {
    const message = 'This step asks a question: approve it with resumeData, or cancel the run'
    throw new ApiError('INVALID_INPUT', { message })
  }
  await answer(parts, person, found, { approved: false, ...(note !== null && { note }) })
}

async function findPending(deps: Deps, { userId }: Principal, id: string): Promise<store.DecidableRow> {
  const found = await store.findDecidable(deps.database.db, userId, id)
  if (!found) throw new ApiError('NOT_FOUND')
  if (found.state !== 'pending') throw refuseDecision(found.state)
  return found
}

function asksForLeave(payload: unknown): boolean {
  return typeof payload === 'object' && payload !== null && 'kind' in payload && payload.kind === 'approval'
}

async function answer(
  parts: DecisionParts,
  person: Principal,
  { subject, workspace_id: workspaceId, question }: store.DecidableRow,
  data: unknown,
): Promise<void> {
  const { key } = question as Question
  await parts.answerQuestion({ workspaceId, runId: subject ?? '', key, data, by: person })
}

/** In one transaction: the limit, the decision, the line in the log. The key's row is taken first, as everywhere. */
async function decideBudget(
  deps: Deps,
  parts: DecisionParts,
  person: Principal,
  { id, key_id: keyId, workspace_id: workspaceId, user_id: userId }: store.DecidableRow,
  decision: store.Decision,
  amount?: number,
): Promise<void> {
  const { status } = decision
  await deps.database.transaction(async (tx) => {
    const limit = status === 'granted' && keyId !== null ? await raise(tx, keyId, amount) : undefined
    if (!(await store.claimDecision(tx, id, decision))) {
      const now = await store.findDecidable(tx, person.userId, id)
      throw now ? refuseDecision(now.state) : new ApiError('NOT_FOUND')
    }
    const details = { requestId: id, keyId, ...(limit !== undefined && { limit: toDs(limit) }) }
    await recordActivity(tx, person, { type: `budget.${status}`, workspaceId, details })
  })
  const word = { kind: 'budget', workspaceId, ids: [id], status, userId } as const
  await announceApprovals({ ...deps, live: parts.live }, word)
}

/** As much again, unless the person says how much. Undefined when the key has no limit any more. */
async function raise(tx: Tx, keyId: number, amount: number | undefined): Promise<number | undefined> {
  const limit = await store.findKeyLimit(tx, keyId)
  if (limit === undefined) return undefined
  // Something is added, however little was said.
  const added = amount === undefined ? Math.max(limit, fromDs(minimumCreditsDs)) : Math.max(1, fromDs(amount))
  return raiseKeySpendLimit(tx, keyId, limit + added)
}
