import { fullAccess, type SessionKind } from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { findUser, lockUser, type User } from '#accounts/users/users.ts'
import {
  createMembershipCheck,
  describeWorkspace,
  findPersonalWorkspace,
  listWorkspaces,
} from '#accounts/workspaces/workspaces.ts'
import { inPerson } from '#operations/actor.ts'
import type { Client } from '#operations/bind.ts'
import { CredentialCache } from '#operations/credential-cache.ts'
import { inNoSession, type Principal } from '#operations/principal.ts'
import { noteChange } from '#platform/changes.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { toPrintable } from '#platform/printable.ts'
import { hashSecret, mintSecret } from '#platform/secrets.ts'
import { matchesChallenge } from './sign-in.ts'
import * as store from './store.ts'

export { codePagePath } from './sign-in.ts'
export { signInUser } from './sign-in-user.ts'
export type { WhichSessions } from './store.ts'
export { findLiveSessions, findSession, findSessionName } from './store.ts'

type Parts = Pick<Deps, 'database' | 'redis' | 'logger'>

const lifetimeSeconds = 30 * 24 * 3600
const userAgentLength = 256
const labelLength = 80
/** More than anybody has; whoever goes on signing in without signing out does not fill the table. */
const browsersPerPerson = 20
/** How long a sign-in is new enough for what needs one. */
export const freshSignInSeconds = 600
/** How long a browser keeps a session's cookie; the row ends no later. */
export const cookieSeconds = lifetimeSeconds

export class SessionCheck extends CredentialCache {
  readonly #parts: Parts
  readonly #isMember: (workspaceId: string, userId: string) => Promise<boolean>

  constructor(parts: Parts) {
    super(parts.redis, {
      secret: 'session',
      channel: 'sessions:changed',
      hash: hashSecret,
      find: (hash) => findPrincipal(parts, hash),
    })
    this.#parts = parts
    this.#isMember = createMembershipCheck(parts.database)
  }

  /**
   * A browser's token counts in its cookie alone, any other in the header alone. Whoever gets hold of one cannot go on
   * with it where the other is asked less.
   */
  async authenticateAs(kind: SessionKind, token: string): Promise<Principal | undefined> {
    const principal = await this.authenticate(token)
    return principal?.sessionKind === kind ? principal : undefined
  }

  /** The session as it is at this moment, for what acts for it without its token; undefined once it has ended. */
  async load(sessionId: number, workspaceId: string): Promise<Principal | undefined> {
    const asked = [sessionId, workspaceId]
    const [session] = await this.#parts.database.hot<store.LoadedSession>(store.findByIdStatement, asked)
    return session && principalOf(session)
  }

  /** A person for whom something goes on that they began in a session, which may be over; undefined once they have left. */
  async loadPerson(userId: string, workspaceId: string): Promise<Principal | undefined> {
    const asked = [userId, workspaceId]
    const [person] = await this.#parts.database.hot<Omit<store.LoadedSession, 'id'>>(
      store.findPersonStatement,
      asked,
    )
    return person && { ...principalOf({ ...person, id: inNoSession }), credential: `person:${userId}` }
  }

  async enterWorkspace(session: Principal, workspaceId: string): Promise<Principal | undefined> {
    const id = workspaceId.toLowerCase()
    if (id === session.workspaceId) return session
    return (await this.#isMember(id, session.userId)) ? { ...session, workspaceId: id } : undefined
  }

  announceChange(sessionId: number): Promise<void> {
    return this.announceEnd(nameOf(sessionId))
  }
}

function nameOf(sessionId: number): string {
  return `session:${sessionId}`
}

async function findPrincipal({ database, logger }: Parts, tokenHash: Buffer) {
  const [session] = await database.hot<store.AuthenticatedSession>(store.findByTokenStatement, [tokenHash])
  if (!session) return undefined
  if (session.renewalDue) {
    store
      .renewSession(database.db, session.id, lifetimeSeconds)
      .catch((error) => logger.warn({ err: error, sessionId: session.id }, 'session not renewed'))
  }
  return { principal: { ...principalOf(session), sessionKind: session.kind }, names: [nameOf(session.id)] }
}

function principalOf(session: store.LoadedSession): Principal {
  return {
    kind: 'session',
    credentialId: session.id,
    credential: nameOf(session.id),
    userId: session.userId,
    workspaceId: session.workspaceId,
    apiKeyId: null,
    oauthGrantId: null,
    ...(session.id !== inNoSession && { sessionId: session.id }),
    mode: session.mode,
    scopes: [fullAccess],
    activated: true,
  }
}

/**
 * Who signed in, for a page of ours that began the sign-in itself. Unlike an app it may not leave the challenge out:
 * a code from a sign-in that somebody else began must not be taken here.
 */
export async function claimSignIn(tx: Tx, code: string, verifier: string): Promise<User | undefined> {
  const claimed = await store.claimSignInCode(tx, hashSecret(code))
  if (!claimed || claimed.challenge === null) return undefined
  return matchesChallenge(claimed.challenge, verifier) ? findUser(tx, claimed.user_id) : undefined
}

/** What who signs in may want: a name for the session, and that it ends at its time however much it is used. */
type Wanted = {
  readonly label?: string | undefined
  readonly lifetimeSeconds?: number | undefined
  readonly kind?: SessionKind
}

export async function openSession(
  tx: Tx,
  user: User,
  client: Pick<Client, 'userAgent' | 'address'>,
  wanted: Wanted = {},
) {
  const token = mintSecret('session')
  const personal = await findPersonalWorkspace(tx, user.id)
  if (!personal) throw new Error('An account without a personal workspace')
  const session = await store.insertSession(
    tx,
    {
      token_hash: hashSecret(token),
      user_id: user.id,
      workspace_id: personal.id,
      client_ua: toPrintable(client.userAgent, userAgentLength),
      client_ip: client.address,
      label: wanted.label === undefined ? null : toPrintable(wanted.label, labelLength),
      lifetime_seconds: wanted.lifetimeSeconds ?? null,
      kind: wanted.kind ?? 'token',
    },
    wanted.lifetimeSeconds ?? lifetimeSeconds,
  )
  await recordSession(tx, user.id, 'session.signed_in', session.id)
  noteChange(tx, { kinds: ['session'], userId: user.id })
  const workspaces = await listWorkspaces(tx, user.id)
  return {
    auth_token: token,
    expires_at: session.expires_at,
    user: { id: user.id, email: user.email, name: user.name, mode: user.mode },
    workspaces: workspaces.map((workspace) => describeWorkspace(workspace, personal.id)),
    current_workspace_id: personal.id,
  }
}

/** A session for the cookie of a browser; gives also those that it ended, of which every process must be told. */
export async function openBrowserSession(
  tx: Tx,
  user: User,
  client: Pick<Client, 'userAgent' | 'address'>,
): Promise<{ token: string; ended: number[] }> {
  await lockUser(tx, user.id)
  const { auth_token } = await openSession(tx, user, client, { kind: 'browser' })
  return { token: auth_token, ended: await endSessions(tx, user.id, { browsersBeyond: browsersPerPerson }) }
}

/** Ends what else rests on a person's having signed in somewhere. */
export type EndAlong = (tx: Tx, userId: string) => Promise<unknown>

/** Ends sessions of a person, with what ends along; gives those that it ended, of which every process must be told. */
export async function endSessions(
  tx: Tx,
  userId: string,
  which: store.WhichSessions,
  endAlong?: EndAlong,
): Promise<number[]> {
  const ended = await store.deleteSessions(tx, userId, which)
  if (ended.length > 0) await endAlong?.(tx, userId)
  for (const id of ended) await recordSession(tx, userId, 'session.signed_out', id)
  return ended
}

/** In the log of the person's own workspace: when they come and go is nobody else's business. */
async function recordSession(
  tx: Tx,
  userId: string,
  type: 'session.signed_in' | 'session.signed_out',
  sessionId: number,
): Promise<void> {
  const personal = await findPersonalWorkspace(tx, userId)
  await recordActivity(tx, inPerson(userId), {
    type,
    workspaceId: personal?.id ?? null,
    details: { sessionId },
  })
}

/** Whether the person signed in a moment ago; using a session does not make its sign-in newer. */
export async function isSignInFresh(db: Db, sessionId: number): Promise<boolean> {
  return (await store.findFreshSession(db, sessionId, freshSignInSeconds)) !== undefined
}

export async function setSessionWorkspace(
  database: Deps['database'],
  check: SessionCheck,
  sessionId: number,
  workspaceId: string,
): Promise<void> {
  await store.updateWorkspace(database.db, sessionId, workspaceId)
  await check.announceChange(sessionId)
}
