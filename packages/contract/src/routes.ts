import { activationRoutes } from './activation.ts'
import { activityRoutes } from './activity.ts'
import { agentRoutes } from './agents.ts'
import { approvalRoutes } from './approvals.ts'
import { artifactRoutes } from './artifacts.ts'
import { askRoutes } from './asks.ts'
import { billingRoutes } from './billing.ts'
import { consentRoutes } from './consent.ts'
import { executionRoutes } from './executions.ts'
import { invitationRoutes } from './invitations.ts'
import { keyEndRoutes } from './key-ends.ts'
import { keyTouchedRoutes } from './key-touched.ts'
import { keyRoutes } from './keys.ts'
import { liveRoutes } from './live-events.ts'
import { marketplaceRoutes } from './marketplace.ts'
import { messageRoutes, threadStreamRoutes } from './messages.ts'
import { metaRoutes } from './meta.ts'
import { modelRoutes } from './models.ts'
import { notificationRoutes } from './notifications.ts'
import { oauthRoutes } from './oauth.ts'
import { oneKeyRoutes } from './one-key.ts'
import { passkeyRecoveryRoutes } from './passkey-recovery.ts'
import { passkeyRoutes } from './passkeys.ts'
import { profileRoutes } from './profile.ts'
import { pushRoutes } from './push.ts'
import { receiptRoutes } from './receipts.ts'
import { defineRoutes } from './route.ts'
import { selfRoutes } from './self.ts'
import { sessionRoutes } from './sessions.ts'
import { skillRoutes } from './skills.ts'
import { threadRoutes } from './threads.ts'
import { traceExportRoutes } from './trace-exports.ts'
import { traceHandoverRoutes } from './trace-handovers.ts'
import { traceRoutes } from './traces.ts'
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
  ...oneKeyRoutes,
  ...keyTouchedRoutes,
  ...keyEndRoutes,
  ...passkeyRoutes,
  ...passkeyRecoveryRoutes,
  ...activationRoutes,
  ...artifactRoutes,
  ...marketplaceRoutes,
  ...skillRoutes,
  ...executionRoutes,
  ...agentRoutes,
  ...workflowRoutes,
  ...workflowRunRoutes,
  ...runStreamRoutes,
  ...messageRoutes,
  ...threadRoutes,
  ...threadStreamRoutes,
  ...notificationRoutes,
  ...receiptRoutes,
  ...traceRoutes,
  ...traceExportRoutes,
  ...traceHandoverRoutes,
  ...profileRoutes,
  ...pushRoutes,
  ...modelRoutes,
  ...billingRoutes,
  ...consentRoutes,
  ...selfRoutes,
  ...askRoutes,
  ...approvalRoutes,
  ...activityRoutes,
  ...oauthRoutes,
})

export type { AnswerOf, Audience, BodyOf, ParamsOf, QueryOf, Route, Routes } from './route.ts'
