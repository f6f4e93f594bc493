import type { Selectable } from 'kysely'
import { now, secondsAgo, secondsFromNow, thisMoment } from '#platform/clock.ts'
import type { Db, HotStatement, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'

const keepSpentSeconds = 31 * 24 * 3600

export interface NewGrant {
  key_id: number
  workspace_id: string
  scope: string
  mode: 'session' | 'one_time'
  request_id: string | null
  bound_method: string | null
  bound_path: string | null
  bound_body_sha256: string | null
  approved_by: string
  passkey: string | null
}

export async function insertGrant(tx: Tx, grant: NewGrant, lifetimeSeconds: number): Promise<string> {
  const row = await tx
    .insertInto('grants')
    .values({ ...grant, expires_at: secondsFromNow(lifetimeSeconds) as never })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return row.expires_at
}

export async function listLiveGrants(db: Db, keyId: number) {
  return db
    .selectFrom('grants')
    .select(['id', 'scope', 'mode', 'created_at', 'expires_at', 'request_id'])
    .select(['bound_method', 'bound_path', 'bound_body_sha256'])
    .where('key_id', '=', keyId)
    .where('consumed_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('id')
    .limit(1000)
    .execute()
}

/** Who gave a grant is told with it; it was made when it was approved. */
const foundColumns = ['id', 'scope', 'mode', 'request_id', 'approved_by', 'created_at', 'passkey'] as const
export type FoundGrant = Pick<Selectable<Tables['grants']>, (typeof foundColumns)[number]>

/** What a key may use for this request: its live grants, but those that are bound to another one. */
export const findGrantsStatement: HotStatement = {
  name: 'find-grants-3',
  text: `select ${foundColumns.join(', ')} from grants
         where key_id = $1 and consumed_at is null and expires_at > guild_now()
           and (bound_method is null or (bound_method = $2 and bound_path = $3))`,
}

/**
 * Spends one one_time grant of any of these scopes that fits the request. Who comes at the same time waits: when the
 * first one's effect is undone, the grant is there for the next. One that is bound to this very request goes before one
 * that would do for any.
 */
export async function claimOneTime(
  tx: Db,
  keyId: number,
  scopes: readonly string[],
  request: { method: string; path: string; bodySha256: string | null; repeatKey: string | null },
) {
  const candidate = tx
    .selectFrom('grants')
    .select('id')
    .where('key_id', '=', keyId)
    .where('scope', 'in', scopes)
    .where('mode', '=', 'one_time')
    .where('consumed_at', 'is', null)
    .where('expires_at', '>', now)
    .where((e) =>
      e.or([
        e('bound_method', 'is', null),
        e.and([
          e('bound_method', '=', request.method),
          e('bound_path', '=', request.path),
          e.or([e('bound_body_sha256', 'is', null), e('bound_body_sha256', '=', request.bodySha256)]),
        ]),
      ]),
    )
    .orderBy((e) => e('bound_method', 'is', null))
    .orderBy('id')
    .limit(1)
    .forUpdate()
  return tx
    .updateTable('grants')
    .set({ consumed_at: thisMoment, spent_for: request.repeatKey })
    .where('id', '=', candidate)
    .returning(foundColumns)
    .executeTakeFirst()
}

export async function isSpentFor(db: Db, keyId: number, repeatKey: string): Promise<boolean> {
  const found = await db
    .selectFrom('grants')
    .select('id')
    .where('key_id', '=', keyId)
    .where('spent_for', '=', repeatKey)
    .executeTakeFirst()
  return found !== undefined
}

/** What was spent on something that came to nothing is there again, as long as it would have lasted. */
export async function returnSpent(tx: Tx, keyId: number, repeatKey: string): Promise<void> {
  await tx
    .updateTable('grants')
    .set({ consumed_at: null, spent_for: null })
    .where('key_id', '=', keyId)
    .where('spent_for', '=', repeatKey)
    .execute()
}

/** Ends what a scope that is taken away had been granted for a time. */
export async function deleteGrants(tx: Tx, keyId: number, scope: string): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('grants')
    .where('key_id', '=', keyId)
    .where('scope', '=', scope)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/**
 * Ends one that can still be used. Who spends it at the same time and comes first has used it up: then there is nothing to
 * end. Who comes second finds it gone.
 */
export async function claimGrantEnd(tx: Tx, keyId: number, grantId: number) {
  return tx
    .deleteFrom('grants')
    .where('id', '=', grantId)
    .where('key_id', '=', keyId)
    .where('consumed_at', 'is', null)
    .where('expires_at', '>', now)
    .returning(['scope', 'mode'])
    .executeTakeFirst()
}

/** All that keys could still use; how many that were. What they have used stays on record. */
export async function deleteLiveGrants(tx: Tx, keyIds: readonly number[]): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('grants')
    .where((e) => e('key_id', '=', e.fn.any(e.val([...keyIds]))))
    .where('consumed_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Whether what a request was granted has been used. */
export async function findSpent(db: Db, requestId: string) {
  return db
    .selectFrom('grants')
    .select('id')
    .where('request_id', '=', requestId)
    .where('consumed_at', 'is not', null)
    .limit(1)
    .executeTakeFirst()
}

export async function deleteOldGrants(db: Db): Promise<number> {
  // A spent one stays as long as the request that it answers, whose poll tells of it.
  const { numDeletedRows } = await db
    .deleteFrom('grants')
    .where('expires_at', '<=', secondsAgo(24 * 3600))
    .where((e) => e.or([e('consumed_at', 'is', null), e('expires_at', '<=', secondsAgo(keepSpentSeconds))]))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
