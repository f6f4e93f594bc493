import { type SqlBool, sql } from 'kysely'
import { now, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'

/** If it was paired: claimed or still claimable. */
export const notLapsed = sql<SqlBool>`(claim_before is null or claim_before > guild_now())`

/** A key that exists: not revoked, its owner still a member, and not lapsed. */
export const exists = sql<SqlBool>`(
  api_keys.revoked_at is null and ${notLapsed}
  and exists (select 1 from workspace_members where workspace_members.workspace_id = api_keys.workspace_id
    and workspace_members.user_id = api_keys.user_id))`

export async function countKeys(tx: Tx, userId: string): Promise<number> {
  const row = await tx
    .selectFrom('api_keys')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where(exists)
    .executeTakeFirstOrThrow()
  return row.count
}

/** Scopes that a person has just let a key have. */
export interface Approved {
  scopes: readonly string[]
  userId: string
  requestId?: string
  passkey: string | undefined
}

/** What is kept of it, for each scope. */
function approvalsOf({ scopes, userId, requestId, passkey }: Approved) {
  const at = sql`(select to_char(guild_moment() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`
  return sql<string>`(select coalesce(jsonb_object_agg(scope, jsonb_strip_nulls(jsonb_build_object('approvedBy', ${userId}::text,
      'approvedAt', ${at}, 'requestId', ${requestId ?? null}::text, 'passkey', ${passkey ?? null}::text))), '{}')
    from unnest(${[...scopes]}::text[]) scope)`
}

export interface NewKeyRow {
  workspace_id: string
  user_id: string
  label: string
  scopes: string[]
  approved: Approved
  activated: boolean
  created_via: 'pairing' | 'manual'
  client_label: string | null
  client_ua: string | null
  client_ip: string | null
  expires_at: string | null
  spend_limit_milli_ds: number | null
  claim_before: string | null
}

export async function insertKey(tx: Tx, { activated, approved, ...row }: NewKeyRow): Promise<number> {
  const { id } = await tx
    .insertInto('api_keys')
    .values({
      ...row,
      approvals: approvalsOf(approved) as never,
      hint: null,
      activated_at: activated ? (thisMoment as never) : null,
      last_used_ip: null,
      revoked_because: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

function selectKeys(db: Db) {
  return db
    .selectFrom('api_keys')
    .innerJoin('workspaces', 'workspaces.id', 'api_keys.workspace_id')
    .select([
      'api_keys.id',
      'label',
      'hint',
      'api_keys.workspace_id',
      'workspaces.name as workspace_name',
      'scopes',
      'activated_at',
      'created_via',
      'client_label',
      'client_ua',
      'client_ip',
      'last_used_at',
      'last_used_ip',
      'api_keys.created_at',
      'api_keys.expires_at',
      'spend_limit_milli_ds',
      'spent_milli_ds',
      'reserved_milli_ds',
      sql<number>`extract(epoch from guild_now() - coalesce(last_used_at, api_keys.created_at))::float8`.as(
        'quiet_seconds',
      ),
    ])
    .where(exists)
}

export type KeyRow = NonNullable<Awaited<ReturnType<typeof findKey>>>

/** Those below the given id, newest first. */
export async function listKeys(db: Db, userId: string, below: number, limit: number) {
  return selectKeys(db)
    .where('api_keys.user_id', '=', userId)
    .where('api_keys.id', '<', below)
    .orderBy('api_keys.id', 'desc')
    .limit(limit)
    .execute()
}

export async function findKey(db: Db, userId: string, keyId: number) {
  return selectKeys(db)
    .where('api_keys.user_id', '=', userId)
    .where('api_keys.id', '=', keyId)
    .executeTakeFirst()
}

/** Undefined when the person has no such key. */
export async function updateKey(
  db: Db,
  userId: string,
  keyId: number,
  changes: { label?: string; expires_at?: string | null; spend_limit_milli_ds?: number | null },
) {
  return db
    .updateTable('api_keys')
    .set(changes)
    .where('user_id', '=', userId)
    .where('id', '=', keyId)
    .where(exists)
    .returning('id')
    .executeTakeFirst()
}

/** Holds the row against a revocation that runs beside. */
export async function lockKey(tx: Tx, userId: string, keyId: number) {
  return tx
    .selectFrom('api_keys')
    .select(['id', 'claim_before'])
    .where('user_id', '=', userId)
    .where('id', '=', keyId)
    .where(exists)
    .forUpdate()
    .executeTakeFirst()
}

export async function findHint(db: Db, keyId: number) {
  return db.selectFrom('api_keys').select('hint').where('id', '=', keyId).executeTakeFirst()
}

/** Keys whose pairing was approved but never claimed in time. */
export async function deleteUnclaimedKeys(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('api_keys')
    .where('claim_before', '<=', now)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Holds a key's scopes against every other change of them. With a person: only if it is that person's key. */
export async function lockScopes(tx: Tx, keyId: number, userId?: string) {
  let query = tx
    .selectFrom('api_keys')
    .select(['scopes', 'workspace_id as workspaceId', sql<boolean>`activated_at is not null`.as('activated')])
    .where('id', '=', keyId)
    .where(exists)
    .forUpdate()
  if (userId !== undefined) query = query.where('user_id', '=', userId)
  return query.executeTakeFirst()
}

export async function updateScopes(
  tx: Tx,
  keyId: number,
  scopes: string[],
  { activate, approved }: { activate: boolean; approved?: Approved },
): Promise<void> {
  const added = approved ? approvalsOf(approved) : sql`'{}'::jsonb`
  await tx
    .updateTable('api_keys')
    .set({
      scopes,
      approvals:
        sql`(select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(approvals || ${added})
        where key = any(${scopes}::text[]))` as never,
      ...(activate ? { activated_at: sql<string>`coalesce(activated_at, guild_moment())` } : {}),
    })
    .where('id', '=', keyId)
    .execute()
}

/** Holds the key's row. Undefined when the key may spend without limit. */
export async function lockSpendLimit(tx: Tx, keyId: number): Promise<number | undefined> {
  const key = await tx
    .selectFrom('api_keys')
    .select('spend_limit_milli_ds')
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return key?.spend_limit_milli_ds ?? undefined
}

/** Undefined when the key has no limit; one that is higher already stays. */
export async function updateSpendLimit(tx: Tx, keyId: number, atLeastMilliDs: number) {
  const row = await tx
    .updateTable('api_keys')
    .set({ spend_limit_milli_ds: sql<number>`greatest(spend_limit_milli_ds, ${atLeastMilliDs})` })
    .where('id', '=', keyId)
    .where('spend_limit_milli_ds', 'is not', null)
    .returning('spend_limit_milli_ds as limitMilliDs')
    .executeTakeFirst()
  return row?.limitMilliDs ?? undefined
}

/** The key a claim hands over; undefined when it was revoked between approval and claim. */
export async function lockPairedKey(tx: Tx, keyId: number) {
  return tx
    .selectFrom('api_keys')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .innerJoin('workspaces', 'workspaces.id', 'api_keys.workspace_id')
    .select([
      'api_keys.id',
      'users.id as userId',
      'users.mode',
      'workspaces.id as workspaceId',
      'workspaces.name as workspaceName',
      sql<boolean>`api_keys.activated_at is not null`.as('activated'),
    ])
    .where('api_keys.id', '=', keyId)
    .where('api_keys.revoked_at', 'is', null)
    .forUpdate('api_keys')
    .executeTakeFirst()
}
