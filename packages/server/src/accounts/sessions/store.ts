import type { SessionKind } from '@guildhall/contract'
import { sql } from 'kysely'
import { now, secondsAgo, secondsFromNow, thisMoment } from '#platform/clock.ts'
import type { Database, Db, HotStatement, Tx } from '#platform/database.ts'
import type { Mode } from '#platform/tables.ts'

export interface AuthenticatedSession {
  id: number
  userId: string
  mode: Mode
  /** The chosen workspace, or the personal one once the person has left the chosen one. */
  workspaceId: string
  kind: SessionKind
  renewalDue: boolean
}

/** Read by every request with a cold session. */
export const findByTokenStatement: HotStatement = {
  name: 'find-session-by-token-3',
  text: `select s.id, s.user_id as "userId", u.mode, s.kind,
           s.last_used_at < guild_now() - interval '1 minute' as "renewalDue",
           coalesce(m.workspace_id, (
             select w.id from workspaces w join workspace_members pm on pm.workspace_id = w.id
             where pm.user_id = s.user_id and w.kind = 'personal')) as "workspaceId"
         from sessions s
           join users u on u.id = s.user_id
           left join workspace_members m on m.workspace_id = s.workspace_id and m.user_id = s.user_id
         where s.token_hash = $1 and s.expires_at > guild_now() and s.created_at > guild_now() - interval '180 days'`,
}

export type LoadedSession = Pick<AuthenticatedSession, 'id' | 'userId' | 'mode' | 'workspaceId'>

/** For whoever acts for a session without having its token, in a workspace that its person is still a member of. */
export const findByIdStatement: HotStatement = {
  name: 'find-session-by-id',
  text: `select s.id, s.user_id as "userId", u.mode, m.workspace_id as "workspaceId"
         from sessions s
           join users u on u.id = s.user_id
           join workspace_members m on m.workspace_id = $2 and m.user_id = s.user_id
         where s.id = $1 and s.expires_at > guild_now() and s.created_at > guild_now() - interval '180 days'`,
}

/** Who somebody is in a workspace that they are still a member of. */
export const findPersonStatement: HotStatement = {
  name: 'find-person-in-workspace',
  text: `select u.id as "userId", u.mode, m.workspace_id as "workspaceId"
         from users u join workspace_members m on m.workspace_id = $2 and m.user_id = u.id
         where u.id = $1`,
}

export async function insertSession(
  tx: Tx,
  session: {
    token_hash: Buffer
    user_id: string
    workspace_id: string
    client_ua: string
    client_ip: string
    label: string | null
    lifetime_seconds: number | null
    kind: SessionKind
  },
  lifetimeSeconds: number,
) {
  return tx
    .insertInto('sessions')
    .values({ ...session, expires_at: secondsFromNow(lifetimeSeconds) as never })
    .returning(['id', 'expires_at'])
    .executeTakeFirstOrThrow()
}

export async function findSession(db: Db, sessionId: number) {
  return db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select([
      'sessions.expires_at',
      'sessions.created_at',
      'sessions.kind',
      'users.id',
      'users.email',
      'users.name',
      'users.mode',
    ])
    .where('sessions.id', '=', sessionId)
    .executeTakeFirst()
}

/** What its person called it, or else what its client said it is. */
export async function findSessionName(db: Db, sessionId: number): Promise<string | null> {
  const found = await db
    .selectFrom('sessions')
    .select((e) => e.fn.coalesce('label', 'client_ua').as('name'))
    .where('id', '=', sessionId)
    .executeTakeFirst()
  return found?.name || null
}

export async function findFreshSession(db: Db, sessionId: number, seconds: number) {
  return db
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', sessionId)
    .where('created_at', '>', secondsAgo(seconds))
    .executeTakeFirst()
}

const findLiveStatement: HotStatement = {
  name: 'find-live-sessions',
  text: `select s.id as "credentialId", m.workspace_id as "workspaceId"
    from unnest($1::bigint[], $2::uuid[]) as asked (id, workspace_id)
      join sessions s on s.id = asked.id and s.expires_at > guild_now()
        and s.created_at > guild_now() - interval '180 days'
      join workspace_members m on m.workspace_id = asked.workspace_id and m.user_id = s.user_id`,
}

/** Which of these sessions are good now and their person a member of the workspace named with them. */
export async function findLiveSessions(
  database: Database,
  asked: readonly { credentialId: number; workspaceId: string }[],
): Promise<{ credentialId: number; workspaceId: string }[]> {
  return database.hot(findLiveStatement, [
    asked.map(({ credentialId }) => credentialId),
    asked.map(({ workspaceId }) => workspaceId),
  ])
}

/** However much it is used, a session ends some time after its sign-in; sooner, where its person wanted it short. */
export async function renewSession(db: Db, sessionId: number, lifetimeSeconds: number): Promise<void> {
  await db
    .updateTable('sessions')
    .set({
      expires_at: sql<string>`least(${secondsFromNow(lifetimeSeconds)}, created_at + interval '180 days',
        created_at + make_interval(secs => lifetime_seconds))`,
      last_used_at: thisMoment,
    })
    .where('id', '=', sessionId)
    .execute()
}

const sessionsShown = 200

export async function listSessions(db: Db, userId: string) {
  return db
    .selectFrom('sessions')
    .select(['id', 'kind', 'label', 'client_ua', 'client_ip', 'created_at', 'last_used_at', 'expires_at'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('id', 'desc')
    .limit(sessionsShown)
    .execute()
}

export type WhichSessions =
  | { readonly only: number }
  | { readonly allBut: number }
  | { readonly all: true }
  /** Of browsers, all but so many that signed in last. */
  | { readonly browsersBeyond: number }

/** Of this person's. Gives those that it ended. */
export async function deleteSessions(tx: Tx, userId: string, which: WhichSessions): Promise<number[]> {
  const rows = await tx
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where((e) => {
      if ('only' in which) return e('id', '=', which.only)
      if ('allBut' in which) return e('id', '!=', which.allBut)
      if ('all' in which) return e.lit(true)
      const ofBrowsers = e
        .selectFrom('sessions as b')
        .select('b.id')
        .where('b.user_id', '=', userId)
        .where('b.kind', '=', 'browser')
      return e('id', 'in', ofBrowsers.orderBy('b.id', 'desc').offset(which.browsersBeyond))
    })
    .where('expires_at', '>', now)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

export async function updateWorkspace(db: Db, sessionId: number, workspaceId: string): Promise<void> {
  await db.updateTable('sessions').set({ workspace_id: workspaceId }).where('id', '=', sessionId).execute()
}

export async function insertSignInCode(
  db: Db,
  code: { code_hash: Buffer; user_id: string; challenge: string | null },
  lifetimeSeconds: number,
): Promise<void> {
  await db
    .insertInto('sign_in_codes')
    .values({ ...code, expires_at: secondsFromNow(lifetimeSeconds) as never })
    .execute()
}

/** Whoever asks first gets it; there is no second time. */
export async function claimSignInCode(tx: Tx, codeHash: Buffer) {
  return tx
    .deleteFrom('sign_in_codes')
    .where('code_hash', '=', codeHash)
    .where('expires_at', '>', now)
    .returning(['user_id', 'challenge'])
    .executeTakeFirst()
}

export async function deleteEndedSessions(db: Db): Promise<number> {
  const sessions = await db.deleteFrom('sessions').where('expires_at', '<=', now).executeTakeFirst()
  const codes = await db.deleteFrom('sign_in_codes').where('expires_at', '<=', now).executeTakeFirst()
  return Number(sessions.numDeletedRows) + Number(codes.numDeletedRows)
}
