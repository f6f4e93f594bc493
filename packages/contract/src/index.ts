import { activationRoutes } from './activation.ts'
import { keyRoutes } from './keys.ts'
import { metaRoutes } from './meta.ts'
import { defineRoutes } from './route.ts'
import { sessionRoutes } from './sessions.ts'
import { workspaceRoutes } from './workspaces.ts'

/** Every route of the service. */
export const routes = defineRoutes({
  ...metaRoutes,
  ...sessionRoutes,
  ...workspaceRoutes,
  ...keyRoutes,
  ...activationRoutes,
})

export { activationRoutes, type activationStatuses } from './activation.ts'
export { type ErrorCode, errorTable } from './errors.ts'
export { keyRoutes } from './keys.ts'
export {
  activationLifetimeSeconds,
  activationPollIntervalSeconds,
  keysPerUser,
  type Limit,
  type LimitName,
  limits,
  membersPerWorkspace,
  workspacesPerUser,
} from './limits.ts'
export { metaRoutes, workflowFormat } from './meta.ts'
export { openApiDocument } from './openapi.ts'
export type { AnswerOf, Audience, BodyOf, ParamsOf, QueryOf, Route, Routes } from './route.ts'
export { fullAccess, isKnownScope } from './scopes.ts'
export { sessionRoutes } from './sessions.ts'
export { succeeded } from './shapes.ts'
export { workspaceRoutes } from './workspaces.ts'
