import { deleteOldActivations } from './activation/activation.ts'
import { activationHandlers } from './activation/routes.ts'
import { activityHandlers } from './activity/routes.ts'
import { releaseLostAsks } from './agents/agents.ts'
import { agentHandlers } from './agents/routes.ts'
import { Approvals, budgetKind, deleteOldRequests, workflowKind } from './approvals/approvals.ts'
import { approvalHandlers } from './approvals/routes.ts'
import { sweepBlobs } from './artifacts/artifacts.ts'
import { artifactHandlers } from './artifacts/routes.ts'
import { billingHandlers } from './billing/routes.ts'
import { catalogHandlers } from './catalog/routes.ts'
import { createGrants, deleteOldGrants, scopeKinds } from './consent/consent.ts'
import { consentHandlers } from './consent/routes.ts'
import type { Deps } from './deps.ts'
import {
  deleteOldAttachments,
  deleteOldEventPartitions,
  EventStreams,
  type ExecutionParts,
  insertEventPartitions,
  listWorkingOfKey,
  stopExecutionsOfKey,
} from './executions/executions.ts'
import { executionHandlers } from './executions/routes.ts'
import { executionTending } from './executions/tend.ts'
import { createServer, type Server } from './http/server.ts'
import { deleteForgottenKeys } from './idempotency/idempotency.ts'
import { deleteEndedInvitations } from './invitations/invitations.ts'
import { invitationHandlers } from './invitations/routes.ts'
import { deleteEndedSecrets, deleteUnclaimedKeys, findLiveKeys, KeyCheck } from './keys/keys.ts'
import { keyHandlers } from './keys/routes.ts'
import { deleteUsedAddresses, Live } from './live/live.ts'
import { liveHandlers } from './live/routes.ts'
import { modelHandlers } from './models/routes.ts'
import { authorizationServer, deleteEndedRecords, findLiveGrants, OAuthCheck } from './oauth/oauth.ts'
import { oauthHandlers } from './oauth/routes.ts'
import {
  createKeySubject,
  deletePasskeyLeftovers,
  requireAssertionIfRegistered,
} from './passkeys/passkeys.ts'
import { passkeyHandlers } from './passkeys/routes.ts'
import type { Sweep, Tending } from './platform/sweep.ts'
import { profileHandlers } from './profile/routes.ts'
import { runHandlers, runStreamRoute } from './runs/routes.ts'
import {
  answerQuestion,
  listRunningOfKey,
  PinnedDefinitions,
  type RunParts,
  runTending,
  stopRunsOfKey,
} from './runs/runs.ts'
import { sessionHandlers } from './sessions/routes.ts'
import {
  deleteEndedSessions,
  findLiveSessions,
  SessionCheck,
  setSessionWorkspace,
} from './sessions/sessions.ts'
import { skillHandlers } from './skills/routes.ts'
import { deleteLapsedFetches } from './skills/skills.ts'
import { statusHandlers } from './status/routes.ts'
import { createToolbox } from './tools/tools.ts'
import { workflowHandlers, workflowInstaller } from './workflows/routes.ts'
import { workspaceHandlers } from './workspaces/routes.ts'

/** Puts the house together. The only place that knows every feature. */
export function createApp(deps: Deps): {
  server: Server
  sweeps: Sweep[]
  tending: Tending[]
  live: Live
} {
  const keys = new KeyCheck(deps)
  const sessions = new SessionCheck(deps)
  const oauth = new OAuthCheck(deps)
  const live = createLive(deps, { keys, sessions, oauth })
  const executions: ExecutionParts = { ...deps, live }
  const streams = new EventStreams(deps, live)
  const library = { live, toolbox: createToolbox(deps) }
  const runs: RunParts = {
    ...executions,
    toolbox: library.toolbox,
    definitions: new PinnedDefinitions(deps.database),
  }
  const approvals = new Approvals(deps, live, {
    ...scopeKinds(deps, keys),
    budget: budgetKind,
    workflow: workflowKind((answered) => answerQuestion(runs, answered)),
  })
  const { db } = deps.database
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
      ...invitationHandlers(),
      ...liveHandlers(live),
      ...keyHandlers(keys, {
        // Runs first, so that none of them starts another execution.
        stopRunning: async (keyId, by) =>
          (await stopRunsOfKey(runs, keyId, by)) + (await stopExecutionsOfKey(executions, keyId, by)),
        requireDeviceAuth: (tx, userId, wish, deviceAuth) =>
          requireAssertionIfRegistered(tx, deps, userId, createKeySubject(wish), deviceAuth),
      }),
      ...passkeyHandlers(),
      ...activationHandlers(),
      ...consentHandlers({
        approvals,
        check: keys,
        live,
        listRunning: async ({ workspaceId, credentialId }) => [
          ...(await listWorkingOfKey(db, credentialId)),
          ...(await listRunningOfKey(db, workspaceId, credentialId)),
        ],
      }),
      ...approvalHandlers(approvals),
      ...oauthHandlers(oauth),
      ...artifactHandlers(),
      ...catalogHandlers(deps),
      ...skillHandlers({ live, installWorkflow: workflowInstaller(library) }),
      ...executionHandlers(executions),
      ...agentHandlers({ live }),
      ...workflowHandlers(library),
      ...runHandlers(runs),
      ...modelHandlers(),
      ...billingHandlers(),
      ...profileHandlers(),
      ...activityHandlers(),
    ],
    rawRoutes: [
      ...authorizationServer(deps, oauth),
      streams.route,
      streams.directRoute,
      runStreamRoute({ ...runs, stopping: deps.stopping }),
    ],
  })
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
  return { server, sweeps, tending, live }
}

/** Sockets end with their credential, which `live/` knows only by name. */
function createLive(
  deps: Deps,
  { keys, sessions, oauth }: { keys: KeyCheck; sessions: SessionCheck; oauth: OAuthCheck },
): Live {
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
