import { activationRoutes } from './activation.ts'
import { activityRoutes } from './activity.ts'
import { agentRoutes } from './agents.ts'
import { approvalRoutes } from './approvals.ts'
import { artifactRoutes } from './artifacts.ts'
import { billingRoutes } from './billing.ts'
import { consentRoutes } from './consent.ts'
import { executionRoutes } from './executions.ts'
import { invitationRoutes } from './invitations.ts'
import { keyRoutes } from './keys.ts'
import { liveRoutes } from './live-events.ts'
import { marketplaceRoutes } from './marketplace.ts'
import { metaRoutes } from './meta.ts'
import { modelRoutes } from './models.ts'
import { oauthRoutes } from './oauth.ts'
import { passkeyRoutes } from './passkeys.ts'
import { profileRoutes } from './profile.ts'
import { defineRoutes } from './route.ts'
import { sessionRoutes } from './sessions.ts'
import { skillRoutes } from './skills.ts'
import { runStreamRoutes, workflowRoutes, workflowRunRoutes } from './workflows.ts'
import { workspaceRoutes } from './workspaces.ts'

/** Every route of the service. */
export const routes = defineRoutes({
  ...metaRoutes,
  ...sessionRoutes,
  ...workspaceRoutes,
  ...invitationRoutes,
  ...liveRoutes,
  ...keyRoutes,
  ...passkeyRoutes,
  ...activationRoutes,
  ...artifactRoutes,
  ...marketplaceRoutes,
  ...skillRoutes,
  ...executionRoutes,
  ...agentRoutes,
  ...workflowRoutes,
  ...workflowRunRoutes,
  ...runStreamRoutes,
  ...profileRoutes,
  ...modelRoutes,
  ...billingRoutes,
  ...consentRoutes,
  ...approvalRoutes,
  ...activityRoutes,
  ...oauthRoutes,
})

export { activationRoutes } from './activation.ts'
export { type ActivityType, activityRoutes, activityTypes } from './activity.ts'
export { agentRoutes, agentsPerWorkspace, reservedAgentSlugs } from './agents.ts'
export { approvalRoutes } from './approvals.ts'
export { artifactRoutes, bundleLimits } from './artifacts.ts'
export { billingRoutes, milliPerDs, minimumCreditsDs } from './billing.ts'
export { consentRoutes } from './consent.ts'
export { type ErrorCode, errorTable } from './errors.ts'
export {
  ExecutionEvent,
  executionEventPayloads,
  messageDeltaType,
  type NewExecutionEvent,
  StopReason,
  streamUrlLifetimeMs,
} from './execution-events.ts'
export {
  executionRoutes,
  executionTimeoutSeconds,
  idleExecutionSeconds,
  inputBytes,
} from './executions.ts'
export {
  invitationLifetimeSeconds,
  invitationRoutes,
  invitationsPerAddress,
  invitationsPerInviter,
  invitationsPerWorkspace,
} from './invitations.ts'
export { accessOf, type KeyWish, keyRoutes } from './keys.ts'
export {
  actionArgsLimits,
  activationLifetimeSeconds,
  activationPollIntervalSeconds,
  approvalLifetimeSeconds,
  approvalPollIntervalSeconds,
  keysPerUser,
  type Limit,
  type LimitName,
  limits,
  membersPerWorkspace,
  oauthClientsPerUser,
  oneTimeGrantSeconds,
  passkeysPerUser,
  pendingPerKey,
  sessionGrantSeconds,
  socketUrlLifetimeMs,
  workspacesPerUser,
} from './limits.ts'
export { type LiveEvent, liveRoutes } from './live-events.ts'
export { marketplaceRoutes } from './marketplace.ts'
export { metaRoutes, workflowFormat } from './meta.ts'
export { type ModelProvider, modelRoutes } from './models.ts'
export { oauthRoutes, oauthScopes } from './oauth.ts'
export { openApiDocument } from './openapi.ts'
export { passkeyRoutes } from './passkeys.ts'
export { factsPerProfile, profileRoutes } from './profile.ts'
export type { AnswerOf, Audience, BodyOf, ParamsOf, QueryOf, Route, Routes } from './route.ts'
export {
  anySkill,
  coversScope,
  defaultMode,
  describeScope,
  fullAccess,
  type GrantMode,
  missingScopes,
  type ScopeInfo,
  scopesThatCover,
} from './scopes.ts'
export { sessionRoutes } from './sessions.ts'
export { type Clamped, succeeded } from './shapes.ts'
export { skillRoutes, skillsPerWorkspace } from './skills.ts'
export {
  reservedWorkflowSlugs,
  runStreamRoutes,
  workflowRoutes,
  workflowRunRoutes,
  workflowsPerWorkspace,
} from './workflows.ts'
export { workspaceRoutes } from './workspaces.ts'
