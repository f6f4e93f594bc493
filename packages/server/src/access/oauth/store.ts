import { sql } from 'kysely'
import { now, secondsFromNow, thisMoment } from '#platform/clock.ts'
import type { Database, Db, HotStatement, Tx } from '#platform/database.ts'
import type { Mode } from '#platform/tables.ts'

export const interactionModel = 'Interaction'

export interface NewRecord {
  model: string
  id_hash: Buffer
  payload: string
  grant_id: string | null
  client_id: string | null
  user_id: string | null
}

/** Replaces what the same id held before, but for what was used or decided: that stays as it was then. */
export async function insertRecord(db: Db, record: NewRecord, lifetimeSeconds: number): Promise<void> {
  const expires_at = secondsFromNow(lifetimeSeconds) as never
  await db
    .insertInto('oauth_records')
    .values({ ...record, workspace_id: null, expires_at })
    .onConflict((conflict) =>
      conflict
        .columns(['model', 'id_hash'])
        .doUpdateSet({ payload: record.payload, user_id: record.user_id, expires_at })
        .where('oauth_records.consumed_at', 'is', null),
    )
    .execute()
}

export async function findRecord(db: Db, model: string, idHash: Buffer) {
  return db
    .selectFrom('oauth_records')
    .select([
      'payload',
      'grant_id',
      sql<boolean>`consumed_at is not null`.as('consumed'),
      sql<number>`ceil(extract(epoch from expires_at - guild_now()))::float8`.as('remaining_seconds'),
    ])
    .where('model', '=', model)
    .where('id_hash', '=', idHash)
    .where('expires_at', '>', now)
    .executeTakeFirst()
}

/** The first to use it gets the row. It stays for a while, so that a second use is known for one. */
export async function claimRecord(db: Db, model: string, idHash: Buffer, keptSeconds: number) {
  return db
    .updateTable('oauth_records')
    .set({
      consumed_at: thisMoment,
      expires_at: sql<string>`greatest(expires_at, ${secondsFromNow(keptSeconds)})`,
    })
    .where('model', '=', model)
    .where('id_hash', '=', idHash)
    .where('consumed_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('id')
    .executeTakeFirst()
}

/** Whoever decides first gets the row, and what they decided goes into it; undefined for who comes later. */
export async function claimInteraction(tx: Tx, idHash: Buffer, result: object) {
  return tx
    .updateTable('oauth_records')
    .set({ consumed_at: thisMoment, payload: sql`payload || ${JSON.stringify({ result })}::jsonb` })
    .where('model', '=', interactionModel)
    .where('id_hash', '=', idHash)
    .where('consumed_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('id')
    .executeTakeFirst()
}

/** What a person signed in for and has not decided, in whichever browser. */
export async function deleteUndecided(tx: Tx, userId: string): Promise<void> {
  await tx
    .deleteFrom('oauth_records')
    .where('model', '=', interactionModel)
    .where('user_id', '=', userId)
    .where('consumed_at', 'is', null)
    .execute()
}

/** False when there was none any more. */
export async function deleteRecord(db: Db, model: string, idHash: Buffer): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('oauth_records')
    .where('model', '=', model)
    .where('id_hash', '=', idHash)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

export interface AuthenticatedToken {
  grantRow: number
  clientId: string
  userId: string
  workspaceId: string
  mode: Mode
  scope: string
  /** Whom it is for, as it was asked for; null for one that is older than that. */
  audience: string | null
  endsInMs: number
  touchDue: boolean
}

/**
 * Read by every request with a cold token. The joins make it stop with its grant, which a revocation removes even
 * when a token is being written at that moment, and with the person's membership.
 */
export const findByTokenStatement: HotStatement = {
  name: 'find-oauth-token-2',
  text: `select g.id as "grantRow", t.client_id as "clientId", u.id as "userId",
           g.workspace_id as "workspaceId", u.mode, coalesce(t.payload->>'scope', '') as scope,
           t.payload->>'aud' as audience,
           extract(epoch from t.expires_at - guild_now())::float8 * 1000 as "endsInMs",
           coalesce(g.last_used_at < guild_now() - interval '1 minute', true) as "touchDue"
         from oauth_records t
           join oauth_records g on g.grant_id = t.grant_id and g.model = 'Grant' and g.expires_at > guild_now()
           join users u on u.id = t.user_id
           join workspace_members m on m.workspace_id = g.workspace_id and m.user_id = t.user_id
         where t.model = 'AccessToken' and t.id_hash = $1 and t.expires_at > guild_now()`,
}

export interface LoadedGrant
  extends Omit<AuthenticatedToken, 'scope' | 'audience' | 'endsInMs' | 'touchDue'> {
  /** Of each of its tokens that are good now. */
  scopes: string[]
}

/** For whoever acts for an app without having its token. Which token it was is not known, so all that are good count. */
export const findByGrantStatement: HotStatement = {
  name: 'find-oauth-grant',
  text: `select g.id as "grantRow", g.client_id as "clientId", u.id as "userId", g.workspace_id as "workspaceId", u.mode,
           array_agg(coalesce(t.payload->>'scope', '')) as scopes
         from oauth_records g
           join oauth_records t on t.grant_id = g.grant_id and t.model = 'AccessToken' and t.expires_at > guild_now()
           join users u on u.id = g.user_id
           join workspace_members m on m.workspace_id = g.workspace_id and m.user_id = g.user_id
         where g.id = $1 and g.model = 'Grant' and g.expires_at > guild_now()
         group by g.id, g.client_id, u.id, g.workspace_id, u.mode`,
}

const findLiveStatement: HotStatement = {
  name: 'find-live-grants',
  text: `select g.id as "credentialId", g.workspace_id as "workspaceId"
    from oauth_records g
      join workspace_members m on m.workspace_id = g.workspace_id and m.user_id = g.user_id
    where g.id = any($1::bigint[]) and g.model = 'Grant' and g.expires_at > guild_now()
      and exists (select 1 from oauth_records t
        where t.grant_id = g.grant_id and t.model = 'AccessToken' and t.expires_at > guild_now())`,
}

/** Which of these grants have a token that is good, for a person who is a member there. */
export async function findLiveGrants(
  database: Database,
  asked: readonly { credentialId: number; workspaceId: string }[],
): Promise<{ credentialId: number; workspaceId: string }[]> {
  return database.hot(findLiveStatement, [asked.map(({ credentialId }) => credentialId)])
}

export async function deleteEndedRecords(db: Db): Promise<number> {
  const ended = db.deleteFrom('oauth_records').where('expires_at', '<=', now)
  return Number((await ended.executeTakeFirst()).numDeletedRows)
}
