import { sql } from 'kysely'
import { now, secondsFromNow } from '#platform/clock.ts'
import type { Database, Db, HotStatement, Tx } from '#platform/database.ts'
import type { Approval, Mode } from '#platform/tables.ts'

export interface AuthenticatedKey {
  id: number
  workspaceId: string
  userId: string
  mode: Mode
  scopes: string[]
  approvals: Readonly<Record<string, Approval>>
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
  name: 'find-key-by-secret-2',
  text: `select k.id, k.workspace_id as "workspaceId", k.user_id as "userId", u.mode, k.scopes, k.approvals,
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

export type LoadedKey = Pick<
  AuthenticatedKey,
  'id' | 'workspaceId' | 'userId' | 'mode' | 'scopes' | 'approvals' | 'activated'
>

/** For whoever acts for a key without having its secret. Secrets are not asked: a key that is good has one. */
export const findByIdStatement: HotStatement = {
  name: 'find-key-by-id',
  text: `select k.id, k.workspace_id as "workspaceId", k.user_id as "userId", u.mode, k.scopes, k.approvals,
           k.activated_at is not null as activated
         from api_keys k
           join users u on u.id = k.user_id
           join workspace_members m on m.workspace_id = k.workspace_id and m.user_id = k.user_id
         where k.id = $1 and k.revoked_at is null and k.claim_before is null
           and (k.expires_at is null or k.expires_at > guild_now())`,
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

export async function updateSecretHash(
  db: Db,
  oldHash: Buffer,
  renewed: { secret_hash: Buffer; pepper_version: number },
): Promise<void> {
  await db.updateTable('api_key_secrets').set(renewed).where('secret_hash', '=', oldHash).execute()
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

/** Null when the key has no secret but its newest. */
export async function findOldSecretEnd(db: Db, keyId: number): Promise<string | null> {
  const { until } = await db
    .selectFrom('api_key_secrets')
    .select((e) => e.fn.max('expires_at').as('until'))
    .where('key_id', '=', keyId)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return until
}

export async function deleteEndedSecrets(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('api_key_secrets')
    .where('expires_at', '<=', now)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
