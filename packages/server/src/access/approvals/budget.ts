import { randomUUID } from 'node:crypto'
import { fromDs, minimumCreditsDs, toDs } from '@guildhall/contract'
import { lockSpendLimit, raiseSpendLimit } from '#access/keys/keys.ts'
import type { Tx } from '#platform/database.ts'
import type { AppliedKind } from './kinds.ts'
import * as store from './store.ts'

interface StoppedExecution {
  readonly executionId: string
  readonly keyId: number
  readonly userId: string
  readonly workspaceId: string
}

/** In the transaction that ends what reached its key's limit. Undefined when the key's owner is asked already. */
export async function requestBudget(tx: Tx, stopped: StoppedExecution): Promise<string | undefined> {
  const { executionId, keyId, userId, workspaceId } = stopped
  const limitMilliDs = await lockSpendLimit(tx, keyId)
  if (limitMilliDs === undefined) return undefined
  const [id] = await store.insertRequests(tx, [
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

/**
 * The same for what can wait until the limit is raised: also gives the id of what its owner is asked already. Undefined when
 * the key has no limit any more.
 */
export async function askForBudget(
  tx: Tx,
  { subject, keyId, userId, workspaceId }: Omit<StoppedExecution, 'executionId'> & { subject: string },
): Promise<{ id: string; isNew: boolean } | undefined> {
  const id = await requestBudget(tx, { executionId: subject, keyId, userId, workspaceId })
  if (id !== undefined) return { id, isNew: true }
  const pending = await store.findPendingBudget(tx, keyId)
  return pending && { id: pending.id, isNew: false }
}

/** A key that reached its spend limit. To approve raises the limit; the key's row is taken first, as everywhere. */
export const budgetKind: AppliedKind = {
  decidedBy: 'owner',
  decidedOn: 'inbox',
  lines: { granted: 'budget.granted', denied: 'budget.denied' },
  describe: ({ subject, question }) => ({
    budget: { executionId: subject ?? '', limit: (question as { limit: number }).limit },
  }),
  apply: async (tx, _person, { key_id: keyId }, decision) => {
    if (decision.status === 'denied' || keyId === null) return {}
    const limit = await raise(tx, keyId, decision.choice.amount)
    return limit === undefined ? {} : { details: { limit: toDs(limit) } }
  },
}

/** As much again, unless the person says how much. Undefined when the key has no limit any more. */
async function raise(tx: Tx, keyId: number, amount: number | undefined): Promise<number | undefined> {
  const limit = await lockSpendLimit(tx, keyId)
  if (limit === undefined) return undefined
  // Something is added, however little was said.
  const added = amount === undefined ? Math.max(limit, fromDs(minimumCreditsDs)) : Math.max(1, fromDs(amount))
  return raiseSpendLimit(tx, keyId, limit + added)
}
