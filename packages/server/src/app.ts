import { deleteOldActivations } from './activation/activation.ts'
import { releaseLostAsks } from './agents/agents.ts'
import { deleteOldRequests } from './approvals/approvals.ts'
import { sweepBlobs } from './artifacts/artifacts.ts'
import { createGrants, deleteOldGrants } from './consent/consent.ts'
import type { Deps } from './deps.ts'
import {
  deleteOldAttachments,
  deleteOldEventPartitions,
  EventStreams,
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
import { deleteUsedAddresses, Live } from './live/live.ts'
import { authorizationServer, deleteEndedRecords, findLiveGrants } from './oauth/oauth.ts'
import { createPerform, type Perform, toOperations } from './operations/perform.ts'
import { deletePasskeyLeftovers } from './passkeys/passkeys.ts'
import type { Sweep, Tending } from './platform/sweep.ts'
import { runStreams } from './runs/routes.ts'
import { runTending } from './runs/runs.ts'
import { deleteEndedSessions, findLiveSessions } from './sessions/sessions.ts'
import { deleteLapsedFetches } from './skills/skills.ts'

/** Puts the API together. */
export function createApp(deps: Deps): {
  server: Server
  perform: Perform
  authenticators: Authenticators
  sweeps: Sweep[]
  tending: Tending[]
  live: Live
} {
  const checks = createChecks(deps)
  const live = createLive(deps, checks)
  const { executions, runs, routes } = bindFeatures(deps, checks, live)
  const executionStreams = new EventStreams(deps, live)
  const streamsOfRuns = runStreams({ ...runs, stopping: deps.stopping })
  const grants = createGrants(deps)
  const operations = toOperations([
    ...routes,
    ...executionStreamHandlers(executionStreams),
    ...streamsOfRuns.routes,
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
    socketDoor: live.socketDoor,
    authenticators,
    grants,
    operations,
    rawRoutes: authorizationServer(deps, oauth),
    closing: [() => executionStreams.close(), () => streamsOfRuns.close()],
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
  return { server, perform, authenticators, sweeps, tending, live }
}

/** Sockets end with their credential, which `live/` knows only by name. */
function createLive(deps: Deps, { keys, sessions, oauth }: Checks): Live {
  const { database } = deps
  const live = new Live(deps, {
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
  const recheck = (credential: string) => live.recheckCredential(credential)
  keys.onEnded(recheck)
  sessions.onEnded(recheck)
  oauth.onGrantEnded((ended) => (ended === undefined ? live.recheckKind('oauth') : recheck(ended)))
  return live
}
