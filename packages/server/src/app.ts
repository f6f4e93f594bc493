import { deleteOldActivations } from './activation/activation.ts'
import { activationHandlers } from './activation/routes.ts'
import type { Deps } from './deps.ts'
import { createServer, type Server } from './http/server.ts'
import { deleteForgottenKeys } from './idempotency/idempotency.ts'
import { deleteEndedSecrets, deleteUnclaimedKeys, KeyCheck } from './keys/keys.ts'
import { keyHandlers } from './keys/routes.ts'
import type { Sweep } from './platform/sweep.ts'
import { sessionHandlers } from './sessions/routes.ts'
import { deleteEndedSessions, SessionCheck, setSessionWorkspace } from './sessions/sessions.ts'
import { statusHandlers } from './status/routes.ts'
import { workspaceHandlers } from './workspaces/routes.ts'

/** Puts the house together. The only place that knows every feature. */
export function createApp(deps: Deps): { server: Server; sweeps: Sweep[] } {
  const keys = new KeyCheck(deps)
  const sessions = new SessionCheck(deps)
  const server = createServer({
    deps,
    authenticators: {
      key: (secret, address) => keys.authenticate(secret, address),
      session: (token) => sessions.authenticate(token),
      enterWorkspace: (session, workspaceId) => sessions.enterWorkspace(session, workspaceId),
    },
    routes: [
      ...statusHandlers(),
      ...sessionHandlers(deps.config, sessions),
      ...workspaceHandlers({
        setSessionWorkspace: (sessionId, workspaceId) =>
          setSessionWorkspace(deps.database, sessions, sessionId, workspaceId),
      }),
      ...keyHandlers(keys),
      ...activationHandlers(),
    ],
  })
  const { db } = deps.database
  const missSeconds = deps.config.limits.codeMisses.windowSeconds
  const sweeps: Sweep[] = [
    { table: 'activations', run: () => deleteOldActivations(db, missSeconds) },
    { table: 'api_keys', run: () => deleteUnclaimedKeys(db) },
    { table: 'api_key_secrets', run: () => deleteEndedSecrets(db) },
    { table: 'sessions', run: () => deleteEndedSessions(db) },
    { table: 'idempotency_keys', run: () => deleteForgottenKeys(db) },
  ]
  return { server, sweeps }
}
