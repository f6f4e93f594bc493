import { deleteOldActivations } from './activation/activation.ts'
import { releaseLostAsks } from './agents/agents.ts'
import { deleteOldRequests } from './approvals/approvals.ts'
import { sweepBlobs } from './artifacts/artifacts.ts'
import { Bus } from './bus/bus.ts'
import { createGrants, deleteOldGrants } from './consent/consent.ts'
import type { Deps } from './deps.ts'
import {
  deleteOldAttachments,
  deleteOldEventPartitions,
  ExecutionStreams,
  insertEventPartitions,
} from './executions/executions.ts'
import { executionStreamHandlers } from './executions/routes.ts'
import { executionTending } from './executions/tend.ts'
import { bindFeatures, type Checks, createChecks } from './features.ts'
import type { Authenticators } from './http/authenticate.ts'
import { createServer, type Server } from './http/server.ts'
import { deleteForgottenKeys } from './idempotency/idempotency.ts'
import { deleteEndedInvitations } from './invitations/invitations.ts'
import { deleteEndedSecrets, deleteUnclaimedKeys, findLiveKeys } from './keys/keys.ts'
import { authorizationServer, deleteEndedRecords, findLiveGrants } from './oauth/oauth.ts'
import { createPerform, type Perform, toOperations } from './operations/perform.ts'
import { deletePasskeyLeftovers } from './passkeys/passkeys.ts'
import type { Sweep, Tending } from './platform/sweep.ts'
import { runStreamHandlers } from './runs/routes.ts'
import { runTending } from './runs/runs.ts'
import { deleteEndedSessions, findLiveSessions } from './sessions/sessions.ts'
import { deleteLapsedFetches } from './skills/skills.ts'
import { deleteUsedAddresses, Sockets } from './sockets/sockets.ts'
import { Streams } from './streams/streams.ts'

/** Puts the API together. */
export function createApp(deps: Deps): {
  server: Server
  perform: Perform
  authenticators: Authenticators
  sweeps: Sweep[]
  tending: Tending[]
  bus: Bus
  sockets: Sockets
} {
  const checks = createChecks(deps)
  const bus = new Bus(deps)
  const sockets = createSockets(deps, bus, checks)
  const { executions, runs, routes } = bindFeatures(deps, checks, bus)
  const streams = new Streams({ ...deps, sockets })
  const grants = createGrants(deps)
  const operations = toOperations([
    ...routes,
    ...executionStreamHandlers(new ExecutionStreams(deps, streams)),
    ...runStreamHandlers(runs, streams),
  ])
  const { keys, sessions, oauth } = checks
  const authenticators: Authenticators = {
    key: (secret, address) => keys.authenticate(secret, address),
    session: (token) => sessions.authenticate(token),
    enterWorkspace: (session, workspaceId) => sessions.enterWorkspace(session, workspaceId),
    oauth: (token) => oauth.authenticate(token),
  }
  const server = createServer({
    deps,
    socketDoor: sockets.door,
    authenticators,
    grants,
    operations,
    rawRoutes: authorizationServer(deps, oauth),
    closing: [() => streams.close()],
  })
  const { db } = deps.database
  const missSeconds = deps.config.limits.codeMisses.windowSeconds
  const sweeps: Sweep[] = [
    { table: 'activations', run: () => deleteOldActivations(db, missSeconds) },
    { table: 'api_keys', run: () => deleteUnclaimedKeys(db) },
    { table: 'api_key_secrets', run: () => deleteEndedSecrets(db) },
    { table: 'sessions', run: () => deleteEndedSessions(db) },
    { table: 'invitations', run: () => deleteEndedInvitations(db) },
    { table: 'passkey_challenges', run: () => deletePasskeyLeftovers(db) },
    { table: 'event_partitions', run: () => insertEventPartitions(db) },
    {
      table: 'execution_events',
      run: () => deleteOldEventPartitions(db, deps.config.eventDays * 24 * 3600),
    },
    { table: 'attachments', run: () => deleteOldAttachments(db, deps.config.eventDays * 24 * 3600) },
    { table: 'reservations', run: () => releaseLostAsks(deps) },
    { table: 'blobs', run: () => sweepBlobs(deps) },
    { table: 'grants', run: () => deleteOldGrants(db) },
    { table: 'approval_requests', run: () => deleteOldRequests(db) },
    { table: 'skill_fetches', run: () => deleteLapsedFetches(db) },
    { table: 'used_addresses', run: () => deleteUsedAddresses(db) },
    { table: 'oauth_records', run: () => deleteEndedRecords(db) },
    { table: 'idempotency_keys', run: () => deleteForgottenKeys(db) },
  ]
  const tending = [...executionTending(executions), ...runTending(runs)]
  const perform = createPerform({ deps, grants, operations })
  return { server, perform, authenticators, sweeps, tending, bus, sockets }
}

/** Sockets end with their credential, which `sockets/` knows only by name. */
function createSockets(deps: Deps, bus: Bus, { keys, sessions, oauth }: Checks): Sockets {
  const { database } = deps
  const sockets = new Sockets(deps, bus, {
    key: async (asked) => {
      const good = new Set(
        await findLiveKeys(
          database,
          asked.map(({ credentialId }) => credentialId),
        ),
      )
      return asked.filter(({ credentialId }) => good.has(credentialId))
    },
    session: (asked) => findLiveSessions(database, asked),
    oauth: (asked) => findLiveGrants(database, asked),
  })
  const recheck = (credential: string) => sockets.recheckCredential(credential)
  keys.onEnded(recheck)
  sessions.onEnded(recheck)
  oauth.onGrantEnded((ended) => (ended === undefined ? sockets.recheckKind('oauth') : recheck(ended)))
  return sockets
}
