import { sql } from 'kysely'
import { now, secondsFromNow } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'

export interface NewSubscription {
  readonly id: string
  readonly user_id: string
  readonly session_id: number
  readonly endpoint_hash: Buffer
  readonly endpoint: string
  readonly origin: string
  readonly p256dh: Buffer
  readonly auth: Buffer
  readonly vapid_version: number
  readonly label: string | null
}

export async function lockEndpoint(tx: Tx, endpointHash: Buffer) {
  return tx
    .selectFrom('push_subscriptions')
    .select(['id', 'user_id', 'p256dh', 'auth'])
    .where('endpoint_hash', '=', endpointHash)
    .forUpdate()
    .executeTakeFirst()
}

export async function countSubscriptions(tx: Tx, userId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('push_subscriptions')
    .select((e) => e.fn.countAll<string>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Undefined when somebody else has taken the endpoint meanwhile. */
export async function insertSubscription(tx: Tx, row: NewSubscription) {
  return tx
    .insertInto('push_subscriptions')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
}

/** The same browser once more, with what it says of itself now. */
export async function updateSubscription(
  tx: Tx,
  id: string,
  { session_id, p256dh, auth, vapid_version, label }: NewSubscription,
): Promise<void> {
  await tx
    .updateTable('push_subscriptions')
    .set({ session_id, p256dh, auth, vapid_version, label, failures: 0, failing_since: null })
    .where('id', '=', id)
    .execute()
}

export async function listSubscriptions(db: Db, userId: string) {
  return db
    .selectFrom('push_subscriptions')
    .innerJoin('sessions', 'sessions.id', 'push_subscriptions.session_id')
    .select([
      'push_subscriptions.id',
      'push_subscriptions.label',
      'push_subscriptions.created_at',
      'delivered_at',
      'failures',
      'session_id',
    ])
    .where('push_subscriptions.user_id', '=', userId)
    .where('sessions.expires_at', '>', now)
    .orderBy('push_subscriptions.created_at')
    .orderBy('push_subscriptions.id')
    .execute()
}

/** With all that was due to it. */
export async function deleteSubscription(db: Db, id: string): Promise<void> {
  await db.deleteFrom('push_subscriptions').where('id', '=', id).execute()
}

/** Undefined when this person has none of that name. */
export async function claimRemoval(tx: Tx, userId: string, id: string) {
  return tx
    .deleteFrom('push_subscriptions')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst()
}

/** False when this person has none of that name; one that waits already is enough. */
export async function insertTest(tx: Tx, userId: string, id: string, seconds: number): Promise<boolean> {
  const own = await tx
    .selectFrom('push_subscriptions')
    .select('id')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!own) return false
  const expires = secondsFromNow(seconds)
  await sql`
    insert into push_messages (subscription_id, kind, expires_at) values (${own.id}, 'test', ${expires})
    on conflict (subscription_id, kind) where kind in ('digest', 'test') and sent_at is null
    do update set expires_at = excluded.expires_at`.execute(tx)
  return true
}
