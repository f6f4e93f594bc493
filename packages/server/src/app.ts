import { deleteOldActivations } from './activation/activation.ts'
import { activationHandlers } from './activation/routes.ts'
import { activityHandlers } from './activity/routes.ts'
import { approvalHandlers } from './approvals/routes.ts'
import { sweepBlobs } from './artifacts/artifacts.ts'
import { artifactHandlers } from './artifacts/routes.ts'
import { createGrants, deleteOldRequests } from './consent/consent.ts'
import { consentHandlers } from './consent/routes.ts'
import type { Deps } from './deps.ts'
import { createServer, type Server } from './http/server.ts'
import { deleteForgottenKeys } from './idempotency/idempotency.ts'
import {
  deleteEndedSecrets,
  deleteUnclaimedKeys,
  findLiveKeys,
  KeyCheck,
  onCredentialEnded,
} from './keys/keys.ts'
import { keyHandlers } from './keys/routes.ts'
import { deleteUsedAddresses, Live } from './live/live.ts'
import { liveHandlers } from './live/routes.ts'
import {
  authorizationServer,
  deleteEndedRecords,
  findLiveGrants,
  OAuthCheck,
  onGrantEnded,
} from './oauth/oauth.ts'
import { oauthHandlers } from './oauth/routes.ts'
import {
  createKeySubject,
  deletePasskeyLeftovers,
  requireAssertionIfRegistered,
} from './passkeys/passkeys.ts'
import { passkeyHandlers } from './passkeys/routes.ts'
import type { Sweep } from './platform/sweep.ts'
import { profileHandlers } from './profile/routes.ts'
import { sessionHandlers } from './sessions/routes.ts'
import {
  deleteEndedSessions,
  findLiveSessions,
  onSessionChanged,
  SessionCheck,
  setSessionWorkspace,
} from './sessions/sessions.ts'
import { statusHandlers } from './status/routes.ts'
import { workspaceHandlers } from './workspaces/routes.ts'

/** Puts the house together. The only place that knows every feature. */
export function createApp(deps: Deps): { server: Server; sweeps: Sweep[]; live: Live } {
  const keys = new KeyCheck(deps)
  const sessions = new SessionCheck(deps)
  const oauth = new OAuthCheck(deps)
  const live = createLive(deps)
  const server = createServer({
    deps,
    socketDoor: live.socketDoor,
    authenticators: {
      key: (secret, address) => keys.authenticate(secret, address),
      session: (token) => sessions.authenticate(token),
      enterWorkspace: (session, workspaceId) => sessions.enterWorkspace(session, workspaceId),
      oauth: (token) => oauth.authenticate(token),
    },
    grants: createGrants(deps),
    routes: [
      ...statusHandlers(),
      ...sessionHandlers(deps.config, sessions),
      ...workspaceHandlers({
        setSessionWorkspace: (sessionId, workspaceId) =>
          setSessionWorkspace(deps.database, sessions, sessionId, workspaceId),
        announceRemoval: (workspaceId, userId) => live.announceRemoval(workspaceId, userId),
      }),
      ...liveHandlers(live),
      ...keyHandlers(keys, {
        requireDeviceAuth: (tx, userId, wish, deviceAuth) =>
          requireAssertionIfRegistered(tx, deps, userId, createKeySubject(wish), deviceAuth),
      }),
      ...passkeyHandlers(),
      ...activationHandlers(),
      ...consentHandlers({ check: keys, live }),
      ...approvalHandlers(),
      ...oauthHandlers(oauth),
      ...artifactHandlers(),
      ...profileHandlers(),
      ...activityHandlers(),
    ],
    rawRoutes: authorizationServer(deps, oauth),
  })
  const { db } = deps.database
  const missSeconds = deps.config.limits.codeMisses.windowSeconds
  const sweeps: Sweep[] = [
    { table: 'activations', run: () => deleteOldActivations(db, missSeconds) },
    { table: 'api_keys', run: () => deleteUnclaimedKeys(db) },
    { table: 'api_key_secrets', run: () => deleteEndedSecrets(db) },
    { table: 'sessions', run: () => deleteEndedSessions(db) },
    { table: 'passkey_challenges', run: () => deletePasskeyLeftovers(db) },
    { table: 'blobs', run: () => sweepBlobs(deps) },
    { table: 'approval_requests', run: () => deleteOldRequests(db) },
    { table: 'used_addresses', run: () => deleteUsedAddresses(db) },
    { table: 'oauth_records', run: () => deleteEndedRecords(db) },
    { table: 'idempotency_keys', run: () => deleteForgottenKeys(db) },
  ]
  return { server, sweeps, live }
}

/** Sockets end with their credential, which `live/` knows only by name. */
function createLive(deps: Deps): Live {
  const { db } = deps.database
  const live = new Live(deps, {
    key: async (asked) => {
      const good = new Set(
        await findLiveKeys(
          db,
          asked.map(({ credentialId }) => credentialId),
        ),
      )
      return asked.filter(({ credentialId }) => good.has(credentialId))
    },
    session: (asked) => findLiveSessions(db, asked),
    oauth: (asked) => findLiveGrants(db, asked),
  })
  const recheck = (credential: string) => live.recheckCredential(credential)
  onCredentialEnded(deps.redis, recheck)
  onSessionChanged(deps.redis, recheck)
  onGrantEnded(deps.redis, recheck)
  return live
}
