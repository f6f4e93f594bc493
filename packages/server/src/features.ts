import { activationHandlers } from './activation/routes.ts'
import { activityHandlers } from './activity/routes.ts'
import { agentHandlers } from './agents/routes.ts'
import { Approvals, budgetKind, workflowKind } from './approvals/approvals.ts'
import { approvalHandlers } from './approvals/routes.ts'
import { artifactHandlers } from './artifacts/routes.ts'
import { billingHandlers } from './billing/routes.ts'
import type { Bus } from './bus/bus.ts'
import { catalogHandlers } from './catalog/routes.ts'
import { scopeKinds } from './consent/consent.ts'
import { consentHandlers } from './consent/routes.ts'
import type { Deps } from './deps.ts'
import { type ExecutionParts, listWorkingOfKey, stopExecutionsOfKey } from './executions/executions.ts'
import { executionHandlers } from './executions/routes.ts'
import { invitationHandlers } from './invitations/routes.ts'
import { KeyCheck } from './keys/keys.ts'
import { keyHandlers } from './keys/routes.ts'
import { modelHandlers } from './models/routes.ts'
import { OAuthCheck } from './oauth/oauth.ts'
import { oauthHandlers } from './oauth/routes.ts'
import type { BoundRoute } from './operations/bind.ts'
import { createKeySubject, requireAssertionIfRegistered } from './passkeys/passkeys.ts'
import { passkeyHandlers } from './passkeys/routes.ts'
import { profileHandlers } from './profile/routes.ts'
import { runHandlers } from './runs/routes.ts'
import {
  answerQuestion,
  listRunningOfKey,
  PinnedDefinitions,
  type RunParts,
  stopRunsOfKey,
} from './runs/runs.ts'
import { sessionHandlers } from './sessions/routes.ts'
import { SessionCheck, setSessionWorkspace } from './sessions/sessions.ts'
import { skillHandlers } from './skills/routes.ts'
import { socketHandlers } from './sockets/routes.ts'
import { announceRemoval } from './sockets/sockets.ts'
import { statusHandlers } from './status/routes.ts'
import { createToolbox } from './tools/tools.ts'
import { workflowHandlers, workflowInstaller } from './workflows/routes.ts'
import { workspaceHandlers } from './workspaces/routes.ts'

/** What tells whose a credential is. */
export interface Checks {
  readonly keys: KeyCheck
  readonly sessions: SessionCheck
  readonly oauth: OAuthCheck
}

export function createChecks(deps: Deps): Checks {
  return { keys: new KeyCheck(deps), sessions: new SessionCheck(deps), oauth: new OAuthCheck(deps) }
}

export interface Features {
  readonly executions: ExecutionParts
  readonly runs: RunParts
  /** All that the contract names but streams, which are for a process that holds connections. */
  readonly routes: BoundRoute[]
}

/** Joins every feature to the others and to the contract, for the API and for workers alike. */
export function bindFeatures(deps: Deps, { keys, sessions, oauth }: Checks, bus: Bus): Features {
  const executions: ExecutionParts = { ...deps, bus }
  const library = { bus, toolbox: createToolbox(deps) }
  const runs: RunParts = {
    ...executions,
    toolbox: library.toolbox,
    definitions: new PinnedDefinitions(deps.database),
  }
  const approvals = new Approvals(deps, bus, {
    ...scopeKinds(deps, keys),
    budget: budgetKind,
    workflow: workflowKind((answered) => answerQuestion(runs, answered)),
  })
  const { db } = deps.database
  const routes = [
    ...statusHandlers(),
    ...sessionHandlers(deps.config, sessions),
    ...workspaceHandlers({
      setSessionWorkspace: (sessionId, workspaceId) =>
        setSessionWorkspace(deps.database, sessions, sessionId, workspaceId),
      announceRemoval: (workspaceId, userId) => announceRemoval(bus, workspaceId, userId),
    }),
    ...invitationHandlers(),
    ...socketHandlers(),
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
      bus,
      listRunning: async ({ workspaceId, credentialId }) => [
        ...(await listWorkingOfKey(db, credentialId)),
        ...(await listRunningOfKey(db, workspaceId, credentialId)),
      ],
    }),
    ...approvalHandlers(approvals),
    ...oauthHandlers(oauth),
    ...artifactHandlers(),
    ...catalogHandlers(deps),
    ...skillHandlers({ bus, installWorkflow: workflowInstaller(library) }),
    ...executionHandlers(executions),
    ...agentHandlers({ bus }),
    ...workflowHandlers(library),
    ...runHandlers(runs),
    ...modelHandlers(),
    ...billingHandlers(),
    ...profileHandlers(),
    ...activityHandlers(),
  ]
  return { executions, runs, routes }
}
