import { secondsAgo, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import { exists, notLapsed } from './store.ts'

/** Undefined when there was nothing to revoke. */
export async function claimRevocation(
  tx: Tx,
  key: { id: number; userId?: string },
  because: 'revoked' | 'leak_reported',
) {
  const named = tx.selectFrom('api_keys').select('id').where('id', '=', key.id).where(exists)
  const own = key.userId === undefined ? named : named.where('user_id', '=', key.userId)
  const [revoked] = await updateRevoked(tx, await own.forNoKeyUpdate().execute(), because)
  return revoked
}

/** Every key with which somebody who is no member any more acted there. They do not come back with the person. */
export async function claimRemoval(tx: Tx, { workspaceId, userId }: { workspaceId: string; userId: string }) {
  const own = tx
    .selectFrom('api_keys')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where(notLapsed)
    .orderBy('id')
  const revoked = await updateRevoked(tx, await own.forNoKeyUpdate().execute(), 'member_removed')
  return revoked.map(({ id }) => id)
}

/**
 * Of keys that are held: whoever started something with one, and was not done with that, is told as having come before its
 * end. The secrets go, so a revoked key cannot come back.
 */
async function updateRevoked(
  tx: Tx,
  held: readonly { readonly id: number }[],
  because: 'revoked' | 'leak_reported' | 'member_removed',
) {
  const ids = held.map(({ id }) => id)
  await tx
    .deleteFrom('api_key_secrets')
    .where((e) => e('key_id', '=', e.fn.any(e.val(ids))))
    .execute()
  return tx
    .updateTable('api_keys')
    .set({ revoked_at: thisMoment, revoked_because: because })
    .where((e) => e('id', '=', e.fn.any(e.val(ids))))
    .returning(['id', 'label', 'user_id', 'workspace_id'])
    .execute()
}

/** Of these, the ones that are this person's and exist or were revoked, held still and in one order. */
export async function lockOwn(tx: Tx, userId: string, ids: readonly number[]) {
  return tx
    .selectFrom('api_keys')
    .select(['id', 'revoked_at'])
    .where('user_id', '=', userId)
    .where('id', 'in', ids)
    .where((e) => e.or([exists, e('revoked_at', 'is not', null)]))
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** Those that nobody has used for so long. Held still, so that one which is used in this moment is not among them. */
export async function lockQuiet(tx: Tx, userId: string, forSeconds: number, limit: number) {
  return tx
    .selectFrom('api_keys')
    .select(['id', 'revoked_at'])
    .where('user_id', '=', userId)
    .where(exists)
    .where((e) => e(e.fn.coalesce('last_used_at', 'created_at'), '<', secondsAgo(forSeconds)))
    .orderBy('id')
    .limit(limit)
    .forUpdate()
    .execute()
}

/** One that this person has had revoked, or somebody who found it. */
export async function findRevoked(db: Db, key: { id: number; userId: string }) {
  return db
    .selectFrom('api_keys')
    .select('id')
    .where('id', '=', key.id)
    .where('user_id', '=', key.userId)
    .where('revoked_at', 'is not', null)
    .executeTakeFirst()
}
