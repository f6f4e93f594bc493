import { type SqlBool, sql } from 'kysely'
import { now, secondsFromNow } from '../platform/clock.ts'
import type { Database, Db, HotStatement, Tx } from '../platform/database.ts'
import type { Mode } from '../platform/tables.ts'

/** A key that exists: not revoked, its owner still a member, and if it was paired, claimed or still claimable. */
const exists = sql<SqlBool>`(
  api_keys.revoked_at is null and (claim_before is null or claim_before > guild_now())
  and exists (select 1 from workspace_members where workspace_members.workspace_id = api_keys.workspace_id
    and workspace_members.user_id = api_keys.user_id))`

export interface AuthenticatedKey {
  id: number
  workspaceId: string
  userId: string
  mode: Mode
  scopes: string[]
  activated: boolean
  pepperVersion: number
  /** Until the key or this secret of it ends; null when it does not. */
  endsInMs: number | null
  touchDue: boolean
}

/**
 * Read by every request with a cold key. The join on membership makes a key stop with its owner's membership.
 */
export const findBySecretStatement: HotStatement = {
  name: 'find-key-by-secret',
  text: `select k.id, k.workspace_id as "workspaceId", k.user_id as "userId", u.mode, k.scopes,
           k.activated_at is not null as activated, s.pepper_version as "pepperVersion",
           extract(epoch from least(k.expires_at, s.expires_at) - guild_now())::float8 * 1000 as "endsInMs",
           coalesce(k.last_used_at < guild_now() - interval '1 minute', true) as "touchDue"
         from api_key_secrets s
           join api_keys k on k.id = s.key_id
           join users u on u.id = k.user_id
           join workspace_members m on m.workspace_id = k.workspace_id and m.user_id = k.user_id
         where s.secret_hash = any($1::bytea[])
           and k.revoked_at is null and k.claim_before is null
           and (k.expires_at is null or k.expires_at > guild_now())
           and (s.expires_at is null or s.expires_at > guild_now())`,
}

const findLiveStatement: HotStatement = {
  name: 'find-live-keys',
  text: `select k.id from api_keys k
      join workspace_members m on m.workspace_id = k.workspace_id and m.user_id = k.user_id
    where k.id = any($1::bigint[]) and k.revoked_at is null and k.claim_before is null
      and (k.expires_at is null or k.expires_at > guild_now())`,
}

/** Which of these keys are good now. Their secrets are not asked: a key that is good has one. */
export async function findLiveKeys(database: Database, ids: readonly number[]): Promise<number[]> {
  const rows = await database.hot<{ id: number }>(findLiveStatement, [ids])
  return rows.map(({ id }) => id)
}

/** At most one write a minute and key, whichever processes see it. */
export async function touchKey(db: Db, keyId: number, address: string): Promise<void> {
  await db
    .updateTable('api_keys')
    .set({ last_used_at: now, last_used_ip: address })
    .where('id', '=', keyId)
    .where(sql<SqlBool>`coalesce(last_used_at < guild_now() - interval '1 minute', true)`)
    .execute()
}

export async function updateSecretHash(
  db: Db,
  oldHash: Buffer,
  renewed: { secret_hash: Buffer; pepper_version: number },
): Promise<void> {
  await db.updateTable('api_key_secrets').set(renewed).where('secret_hash', '=', oldHash).execute()
}

export async function countKeys(tx: Tx, userId: string): Promise<number> {
  const row = await tx
    .selectFrom('api_keys')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where(exists)
    .executeTakeFirstOrThrow()
  return row.count
}

export interface NewKeyRow {
  workspace_id: string
  user_id: string
  label: string
  scopes: string[]
  activated: boolean
  created_via: 'pairing' | 'manual'
  client_label: string | null
  client_ua: string | null
  client_ip: string | null
  expires_at: string | null
  spend_limit_milli_ds: number | null
  claim_before: string | null
}

export async function insertKey(tx: Tx, { activated, ...row }: NewKeyRow): Promise<number> {
  const { id } = await tx
    .insertInto('api_keys')
    .values({
      ...row,
      hint: null,
      activated_at: activated ? (sql<string>`guild_now()` as never) : null,
      last_used_ip: null,
      revoked_because: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function insertSecret(
  tx: Tx,
  secret: { key_id: number; secret_hash: Buffer; pepper_version: number; hint: string },
): Promise<void> {
  const { hint, ...row } = secret
  await tx
    .insertInto('api_key_secrets')
    .values({ ...row, expires_at: null })
    .execute()
  await tx.updateTable('api_keys').set({ hint, claim_before: null }).where('id', '=', secret.key_id).execute()
}

/** The secrets a key has now end with the overlap; one that ends sooner keeps its end. */
export async function expireSecrets(tx: Tx, keyId: number, seconds: number): Promise<void> {
  await tx
    .updateTable('api_key_secrets')
    .set({ expires_at: sql`least(expires_at, ${secondsFromNow(seconds)})` as never })
    .where('key_id', '=', keyId)
    .execute()
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
      sql<number>`extract(epoch from guild_now() - coalesce(last_used_at, api_keys.created_at))::float8`.as(
        'quiet_seconds',
      ),
    ])
    .where(exists)
}

export type KeyRow = NonNullable<Awaited<ReturnType<typeof findKey>>>

/** Newest first; bounded far above what any person keeps. */
export async function listKeys(db: Db, userId: string) {
  return selectKeys(db)
    .where('api_keys.user_id', '=', userId)
    .orderBy('api_keys.id', 'desc')
    .limit(10_000)
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

/** Undefined when there was nothing to revoke. The secrets go: a revoked key cannot come back. */
export async function claimRevocation(
  tx: Tx,
  key: { id: number; userId?: string },
  because: 'revoked' | 'leak_reported',
) {
  let revocation = tx
    .updateTable('api_keys')
    .set({ revoked_at: now, revoked_because: because })
    .where('id', '=', key.id)
    .where(exists)
  if (key.userId !== undefined) revocation = revocation.where('user_id', '=', key.userId)
  const revoked = await revocation.returning(['id', 'label', 'user_id', 'workspace_id']).executeTakeFirst()
  if (revoked) await tx.deleteFrom('api_key_secrets').where('key_id', '=', key.id).execute()
  return revoked
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

/** Keys whose pairing was approved but never claimed in time. */
export async function deleteUnclaimedKeys(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('api_keys')
    .where('claim_before', '<=', now)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

export async function deleteEndedSecrets(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('api_key_secrets')
    .where('expires_at', '<=', now)
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
  activate: boolean,
): Promise<void> {
  await tx
    .updateTable('api_keys')
    .set({ scopes, ...(activate ? { activated_at: sql<string>`coalesce(activated_at, guild_now())` } : {}) })
    .where('id', '=', keyId)
    .execute()
}

/** Holds the key's row. Undefined when the key may spend without limit. */
export async function lockSpendLimit(tx: Tx, keyId: number): Promise<number | undefined> {
  const key = await tx
    .selectFrom('api_keys')
    .select('spend_limit_milli_ds')
    .where('id', '=', keyId)
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
    .select(['api_keys.id', 'users.mode', 'workspaces.id as workspaceId', 'workspaces.name as workspaceName'])
    .where('api_keys.id', '=', keyId)
    .where('api_keys.revoked_at', 'is', null)
    .forUpdate('api_keys')
    .executeTakeFirst()
}
