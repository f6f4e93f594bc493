// The specification's rules as data. Each one is either verified by a test that cites its id, or pending with
// the feature it waits for.
import { activation } from './requirements/activation.ts'
import { activity } from './requirements/activity.ts'
import { agents } from './requirements/agents.ts'
import { approvals } from './requirements/approvals.ts'
import { artifacts } from './requirements/artifacts.ts'
import { auth } from './requirements/auth.ts'
import { billing } from './requirements/billing.ts'
import { consent } from './requirements/consent.ts'
import { controlPlane } from './requirements/control-plane.ts'
import { definitionData } from './requirements/definition-data.ts'
import { definitionShape } from './requirements/definition-shape.ts'
import { errors } from './requirements/errors.ts'
import { events } from './requirements/events.ts'
import { executions } from './requirements/executions.ts'
import { install } from './requirements/install.ts'
import { keys } from './requirements/keys.ts'
import { limits } from './requirements/limits.ts'
import { marketplace } from './requirements/marketplace.ts'
import { mcp } from './requirements/mcp.ts'
import { oauth } from './requirements/oauth.ts'
import { passkeys } from './requirements/passkeys.ts'
import { permission } from './requirements/permission.ts'
import { queue } from './requirements/queue.ts'
import { rateLimit } from './requirements/rate-limit.ts'
import type { Requirement } from './requirements/requirement.ts'
import { runStream } from './requirements/run-stream.ts'
import { runs } from './requirements/runs.ts'
import { scopes } from './requirements/scopes.ts'
import { skills } from './requirements/skills.ts'
import { stream } from './requirements/stream.ts'
import { threads } from './requirements/threads.ts'
import { traces } from './requirements/traces.ts'
import { versioning } from './requirements/versioning.ts'
import { versions } from './requirements/versions.ts'
import { workflows } from './requirements/workflows.ts'
import { workspaces } from './requirements/workspaces.ts'

export type { Feature, Requirement } from './requirements/requirement.ts'

export const requirements: readonly Requirement[] = [
  ...keys,
  ...workspaces,
  ...auth,
  ...activation,
  ...scopes,
  ...consent,
  ...permission,
  ...approvals,
  ...passkeys,
  ...agents,
  ...activity,
  ...oauth,
  ...marketplace,
  ...skills,
  ...versions,
  ...executions,
  ...events,
  ...stream,
  ...controlPlane,
  ...workflows,
  ...definitionShape,
  ...definitionData,
  ...runs,
  ...queue,
  ...runStream,
  ...traces,
  ...threads,
  ...mcp,
  ...errors,
  ...limits,
  ...rateLimit,
  ...versioning,
  ...billing,
  ...artifacts,
  ...install,
]

export const requirementById: ReadonlyMap<string, Requirement> = new Map(
  requirements.map((requirement) => [requirement.id, requirement]),
)
