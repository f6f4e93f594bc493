import { fullAccess } from '@guildhall/contract'
import { recordActivity } from '../activity/activity.ts'
import { openAccount } from '../billing/billing.ts'
import type { Deps } from '../deps.ts'
import { inPerson } from '../operations/actor.ts'
import type { Client } from '../operations/bind.ts'
import { CredentialCache } from '../operations/credential-cache.ts'
import type { Principal } from '../operations/principal.ts'
import type { Db, Tx } from '../platform/database.ts'
import { toPrintable } from '../platform/printable.ts'
import { hashSecret, mintSecret } from '../platform/secrets.ts'
import type { Mode } from '../platform/tables.ts'
import {
  createUser,
  findUser,
  findUserByIdentity,
  type Identity,
  type User,
  updateUser,
} from '../users/users.ts'
import {
  createMembershipCheck,
  createPersonalWorkspace,
  describeWorkspace,
  findPersonalWorkspace,
  listWorkspaces,
} from '../workspaces/workspaces.ts'
import { matchesChallenge } from './sign-in.ts'
import * as store from './store.ts'

export type { WhichSessions } from './store.ts'
export { deleteEndedSessions, findLiveSessions } from './store.ts'

type Parts = Pick<Deps, 'database' | 'redis' | 'logger'>

const lifetimeSeconds = 30 * 24 * 3600
const userAgentLength = 256

export class SessionCheck extends CredentialCache {
  readonly #isMember: (workspaceId: string, userId: string) => Promise<boolean>

  constructor(parts: Parts) {
    super(parts.redis, {
      secret: 'session',
      channel: 'sessions:changed',
      hash: hashSecret,
      find: (hash) => findPrincipal(parts, hash),
    })
    this.#isMember = createMembershipCheck(parts.database)
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
  const name = nameOf(session.id)
  const principal: Principal = {
    kind: 'session',
    credentialId: session.id,
    credential: name,
    userId: session.userId,
    workspaceId: session.workspaceId,
    apiKeyId: null,
    oauthGrantId: null,
    mode: session.mode,
    scopes: [fullAccess],
    activated: true,
  }
  return { principal, names: [name] }
}

/** The account behind an identity; made, with its workspace and its credits, the first time it is seen. */
export async function signInUser(
  { database, config }: Pick<Deps, 'database' | 'config'>,
  identity: Identity,
  mode?: Mode,
): Promise<User> {
  for (;;) {
    const known = await findUserByIdentity(database.db, identity.issuer, identity.subject)
    if (known) {
      const changes = { ...(mode ? { mode } : {}), ...(identity.name ? { name: identity.name } : {}) }
      const changed = Object.entries(changes).some(([field, value]) => known[field as keyof User] !== value)
      return changed ? ((await updateUser(database.db, known.id, changes)) ?? known) : known
    }
    const created = await database
      .transaction(async (tx) => {
        const user = await createUser(tx, identity, mode)
        if (!user) throw new LostRace()
        await createPersonalWorkspace(tx, user.id)
        await openAccount(tx, config, user.id)
        return user
      })
      .catch((error) => {
        if (error instanceof LostRace) return undefined
        throw error
      })
    if (created) return created
  }
}

/** Another sign-in made the same account first; what this one made is rolled back. */
class LostRace extends Error {}

/**
 * Who signed in, for a page of ours that began the sign-in itself. Unlike an app it may not leave the challenge out:
 * a code from a sign-in that somebody else began must not be taken here.
 */
export async function claimSignIn(tx: Tx, code: string, verifier: string): Promise<User | undefined> {
  const claimed = await store.claimSignInCode(tx, hashSecret(code))
  if (!claimed || claimed.challenge === null) return undefined
  return matchesChallenge(claimed.challenge, verifier) ? findUser(tx, claimed.user_id) : undefined
}

export async function openSession(tx: Tx, user: User, client: Pick<Client, 'userAgent' | 'address'>) {
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
    },
    lifetimeSeconds,
  )
  await recordSession(tx, user.id, 'session.signed_in', session.id)
  const workspaces = await listWorkspaces(tx, user.id)
  return {
    auth_token: token,
    expires_at: session.expires_at,
    user: { id: user.id, email: user.email, name: user.name, mode: user.mode },
    workspaces: workspaces.map((workspace) => describeWorkspace(workspace, personal.id)),
    current_workspace_id: personal.id,
  }
}

/** Ends sessions of a person; gives those that it ended, of which every process must be told. */
export async function endSessions(tx: Tx, userId: string, which: store.WhichSessions): Promise<number[]> {
  const ended = await store.deleteSessions(tx, userId, which)
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

/** Whether the person signed in within these seconds; using a session does not make its sign-in newer. */
export async function isSignInFresh(db: Db, sessionId: number, seconds: number): Promise<boolean> {
  return (await store.findFreshSession(db, sessionId, seconds)) !== undefined
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
