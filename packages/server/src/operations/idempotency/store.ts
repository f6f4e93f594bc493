import { secondsAgo, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'

const rememberedSeconds = 24 * 3600

/** Undefined when the key was used before; waits while another transaction is using it right now. */
export async function claimKey(tx: Tx, claim: { caller: string; key: string; requestHash: Buffer }) {
  return tx
    .insertInto('idempotency_keys')
    .values({ caller: claim.caller, idempotency_key: claim.key, request_hash: claim.requestHash })
    .onConflict((conflict) =>
      conflict
        .columns(['caller', 'idempotency_key'])
        .doUpdateSet({
          request_hash: claim.requestHash,
          answer: null,
          resource_id: null,
          created_at: thisMoment,
        })
        .where('idempotency_keys.created_at', '<=', secondsAgo(rememberedSeconds)),
    )
    .returning('caller')
    .executeTakeFirst()
}

export async function findAnswer(db: Db, caller: string, key: string) {
  return db
    .selectFrom('idempotency_keys')
    .select(['request_hash', 'answer', 'resource_id'])
    .where('caller', '=', caller)
    .where('idempotency_key', '=', key)
    .where('created_at', '>', secondsAgo(rememberedSeconds))
    .executeTakeFirst()
}

export async function updateAnswer(
  tx: Tx,
  claim: { caller: string; key: string },
  outcome: { answer: unknown; resourceId: string },
): Promise<void> {
  await tx
    .updateTable('idempotency_keys')
    .set({ answer: JSON.stringify(outcome.answer), resource_id: outcome.resourceId })
    .where('caller', '=', claim.caller)
    .where('idempotency_key', '=', claim.key)
    .execute()
}

/**
 * For what ended before anything came of it: whoever repeats the request that made it tries anew. Gives by whom and under
 * which key it was made.
 */
export async function deleteAnswersOf(tx: Tx, resourceIds: readonly string[]) {
  if (resourceIds.length === 0) return []
  return tx
    .deleteFrom('idempotency_keys')
    .where('resource_id', 'in', resourceIds)
    .returning(['caller', 'idempotency_key'])
    .execute()
}

export async function deleteForgottenKeys(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('idempotency_keys')
    .where('created_at', '<=', secondsAgo(rememberedSeconds))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
