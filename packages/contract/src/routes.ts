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
import { runStreamRoutes, workflowRunRoutes } from './workflow-runs.ts'
import { workflowRoutes } from './workflows.ts'
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

export type { AnswerOf, Audience, BodyOf, ParamsOf, QueryOf, Route, Routes } from './route.ts'
