import { activationFeature } from '#access/activation/routes.ts'
import { Approvals, budgetKind, toolKind, workflowKind } from '#access/approvals/approvals.ts'
import { approvalFeature } from '#access/approvals/routes.ts'
import { askKind } from '#access/asks/asks.ts'
import { askFeature } from '#access/asks/routes.ts'
import { endGrantsOfKeys, grantAtPairing, scopeKinds } from '#access/consent/consent.ts'
import { consentFeature } from '#access/consent/routes.ts'
import { endKeysOfMember, KeyCheck } from '#access/keys/keys.ts'
import { keyFeature } from '#access/keys/routes.ts'
import { endGrantsOfMember, endUndecidedConsents, OAuthCheck } from '#access/oauth/oauth.ts'
import { oauthFeature } from '#access/oauth/routes.ts'
import type { SenderParts } from '#access/push/push.ts'
import { pushFeature } from '#access/push/routes.ts'
import { activityFeature } from '#accounts/activity/routes.ts'
import { billingFeature } from '#accounts/billing/routes.ts'
import { invitationFeature } from '#accounts/invitations/routes.ts'
import { createKeySubject, requireAssertionIfRegistered } from '#accounts/passkeys/passkeys.ts'
import { passkeyFeature } from '#accounts/passkeys/routes.ts'
import { profileFeature } from '#accounts/profile/routes.ts'
import { sessionFeature } from '#accounts/sessions/routes.ts'
import { SessionCheck, setSessionWorkspace } from '#accounts/sessions/sessions.ts'
import { workspaceFeature } from '#accounts/workspaces/routes.ts'
import { agentFeature } from '#library/agents/routes.ts'
import { artifactFeature } from '#library/artifacts/routes.ts'
import { catalogFeature } from '#library/catalog/routes.ts'
import { skillFeature } from '#library/skills/routes.ts'
import { workflowFeature, workflowInstaller } from '#library/workflows/routes.ts'
import { modelFeature } from '#machinery/models/routes.ts'
import { createToolbox } from '#machinery/tools/tools.ts'
import { type Feature, joinFeatures } from '#operations/feature.ts'
import { idempotencyFeature } from '#operations/idempotency/idempotency.ts'
import { inNoSession, type Principal } from '#operations/principal.ts'
import type { Bus } from '#platform/bus.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import {
  type ExecutionParts,
  executionTurns,
  listWorkingOfKey,
  stopExecutionsOfKey,
} from '#running/executions/executions.ts'
import { executionFeature } from '#running/executions/routes.ts'
import { RunNotices } from '#running/notifications/notifications.ts'
import { notificationFeature } from '#running/notifications/routes.ts'
import { receiptFeature } from '#running/receipts/routes.ts'
import { runFeature } from '#running/runs/routes.ts'
import {
  answerQuestion,
  listRunsOfKey,
  PinnedDefinitions,
  type RunParts,
  stopRunsOfKey,
} from '#running/runs/runs.ts'
import { threadFeature } from '#running/threads/routes.ts'
import {
  agentRuns,
  chatQueue,
  listChatsOfKey,
  stopChatsOfKey,
  type ThreadParts,
  threadTurns,
  wakeDecided,
} from '#running/threads/threads.ts'
import { traceFeature } from '#running/traces/routes.ts'
import { Numbering, type TraceParts } from '#running/traces/traces.ts'
import type { Streams } from '#streams/streams.ts'
import { socketFeature } from '#transports/sockets/routes.ts'
import { announceRemoval } from '#transports/sockets/sockets.ts'
import { statusFeature } from '#transports/status/routes.ts'
import { touchReaders } from './touched.ts'

/** What tells whose a credential is. */
export interface Checks {
  readonly keys: KeyCheck
  readonly sessions: SessionCheck
  readonly oauth: OAuthCheck
}

export function createChecks(deps: Deps): Checks {
  return { keys: new KeyCheck(deps), sessions: new SessionCheck(deps), oauth: new OAuthCheck(deps) }
}

/** Who a credential is at this moment, for what acts for it and has no secret of it. Undefined once it has ended. */
export function principalLoader({ keys, sessions, oauth }: Checks) {
  return async (
    { kind, id }: { readonly kind: Principal['kind']; readonly id: number },
    workspaceId: string,
    userId?: string,
  ): Promise<Principal | undefined> => {
    if (kind === 'session' && id === inNoSession)
      return userId === undefined ? undefined : sessions.loadPerson(userId, workspaceId)
    if (kind === 'session') return sessions.load(id, workspaceId)
    const principal = await (kind === 'key' ? keys : oauth).load(id)
    return principal?.workspaceId === workspaceId ? principal : undefined
  }
}

interface House extends Required<Feature> {
  readonly executions: ExecutionParts
  readonly runs: RunParts
  readonly traces: TraceParts
  readonly threads: ThreadParts
  readonly pushes: SenderParts
}

/**
 * Joins every feature to the others and to the contract, for the API and for workers alike. Only a process that holds
 * connections has streams; in others those of the contract are not bound.
 */
export function bindFeatures(
  deps: Deps,
  { keys, sessions, oauth }: Checks,
  bus: Bus,
  streams?: Streams,
): House {
  deps.database.onChanged((changed) => bus.changed(changed))
  const executions: ExecutionParts = { ...deps, bus }
  const notices = new RunNotices(executions)
  const library = { toolbox: createToolbox(deps) }
  const runs: RunParts = {
    ...executions,
    toolbox: library.toolbox,
    definitions: new PinnedDefinitions(deps.database),
    hear: (run) => notices.hear(run),
    agentRuns: agentRuns(executions),
  }
  const traces: TraceParts = {
    ...deps,
    bus,
    sources: { execution: executionTurns(deps.redis), thread: threadTurns(deps.redis) },
    numbering: new Numbering(deps.config.databasePoolSize),
  }
  const kinds = {
    ...scopeKinds(deps, keys),
    budget: budgetKind,
    tool: toolKind(deps),
    ask: askKind,
    workflow: workflowKind((answered) => answerQuestion(runs, answered)),
  }
  const approvals = new Approvals(deps, bus, kinds, (id) => wakeDecided(executions, id))
  const endAlong = async (tx: Tx, keyIds: readonly number[]) => ({
    endedGrants: await endGrantsOfKeys(tx, keyIds),
    ...(await approvals.endWithKeys(tx, keyIds)),
  })
  const { db } = deps.database
  const features: Feature[] = [
    idempotencyFeature(deps),
    statusFeature(),
    sessionFeature(deps, sessions, {
      countPending: (userId) => approvals.countPending(userId),
      endAlong: endUndecidedConsents,
    }),
    workspaceFeature({
      setSessionWorkspace: (sessionId, workspaceId) =>
        setSessionWorkspace(deps.database, sessions, sessionId, workspaceId),
      endAccess: async (tx, member) => {
        const keyIds = await endKeysOfMember(tx, member)
        const grantIds = await endGrantsOfMember(tx, member)
        const along = await endAlong(tx, keyIds)
        const tell = async () => {
          await Promise.all(keyIds.map((id) => keys.announceChange(id)))
          await Promise.all(grantIds.map((id) => oauth.announceEnd(`oauth:${id}`)))
          await along.tell()
        }
        return { endedKeys: keyIds.length, endedOAuthGrants: grantIds.length, tell }
      },
      announceRemoval: (workspaceId, userId) => announceRemoval(bus, workspaceId, userId),
    }),
    invitationFeature(deps),
    socketFeature(deps),
    keyFeature(deps, keys, {
      // Chats first, then runs, so that none of them starts another run or execution.
      stopRunning: async (keyId, by) => {
        const stoppedRuns = (await stopChatsOfKey(executions, keyId)) + (await stopRunsOfKey(runs, keyId, by))
        return { stopped: stoppedRuns + (await stopExecutionsOfKey(executions, keyId, by)), stoppedRuns }
      },
      endAlong,
      requireDeviceAuth: (tx, userId, input, deviceAuth) =>
        requireAssertionIfRegistered(tx, deps, userId, createKeySubject(input), deviceAuth),
    }),
    passkeyFeature(deps, {
      endAlong: endUndecidedConsents,
      announceEnded: (ended) => Promise.all(ended.map((id) => sessions.announceChange(id))),
    }),
    activationFeature(deps, { bus, grant: grantAtPairing }),
    consentFeature(deps, {
      approvals,
      check: keys,
      bus,
      listRunning: async ({ credentialId: keyId }) => [
        ...(await listWorkingOfKey(db, keyId)).map(({ executionId }) => executionId),
        ...(await listRunsOfKey(db, keyId, ['running'])).map(({ runId }) => runId),
        ...(await listChatsOfKey(db, keyId, ['working', 'waiting'])).map(({ runId }) => runId),
      ],
      listWork: async (keyId) => ({
        running: await listWorkingOfKey(db, keyId),
        runs: await listRunsOfKey(db, keyId, ['running', 'suspended']),
        chats: await listChatsOfKey(db, keyId, ['queued', 'working', 'waiting']),
      }),
      touchReaders: touchReaders(db),
    }),
    askFeature(bus),
    approvalFeature(deps, approvals),
    oauthFeature(deps, oauth),
    pushFeature(deps, bus),
    artifactFeature(deps),
    catalogFeature(deps),
    skillFeature(deps, { installWorkflow: workflowInstaller(library) }),
    executionFeature(executions, streams),
    agentFeature(deps),
    workflowFeature(library),
    runFeature(runs, chatQueue(executions), streams),
    threadFeature(executions, streams),
    notificationFeature(deps, executions, notices),
    traceFeature(traces),
    receiptFeature(deps, traces),
    modelFeature(),
    billingFeature(),
    profileFeature(),
    activityFeature(),
  ]
  const pushes = { ...deps, bus, sharedKinds: approvals.sharedKinds }
  return { ...joinFeatures(features), executions, runs, traces, threads: executions, pushes }
}
