import { isSlug } from './slug.ts'

/**
 * Every permission an agent can hold, as data: what group it belongs to, whether a person must confirm it with a
 * passkey, and what it lets the agent do, in words for that person.
 */
export interface ScopeInfo {
  readonly scope: string
  readonly group: string
  readonly sensitive: boolean
  readonly description: string
}

export type GrantMode = 'persistent' | 'session' | 'one_time'

/** The wildcard of a key with full access. */
export const fullAccess = '*'

const scopes: readonly ScopeInfo[] = [
  { scope: 'profile:read', group: 'profile', sensitive: false, description: 'Read your profile' },
  {
    scope: 'profile:search',
    group: 'profile',
    sensitive: false,
    description: 'Search what your profile says',
  },
  { scope: 'profile:write', group: 'profile', sensitive: true, description: 'Change your profile' },
  { scope: 'memory:read', group: 'memory', sensitive: false, description: 'Read what your agents remember' },
  {
    scope: 'memory:write',
    group: 'memory',
    sensitive: true,
    description: 'Change what your agents remember',
  },
  {
    scope: 'workspace:files:read',
    group: 'workspace',
    sensitive: false,
    description: 'Read the files of this workspace',
  },
  {
    scope: 'workspace:files:write',
    group: 'workspace',
    sensitive: true,
    description: 'Change the files of this workspace; install and remove skills and workflows',
  },
  {
    scope: 'tool:execute',
    group: 'tool',
    sensitive: true,
    description: 'Run any skill and any workflow, and spend credits on it',
  },
  {
    scope: 'agent:list',
    group: 'agent',
    sensitive: false,
    description: 'See which agents this workspace has',
  },
  {
    scope: 'agent:message',
    group: 'agent',
    sensitive: true,
    description: 'Write to the agents of this workspace',
  },
  {
    scope: 'billing:read',
    group: 'billing',
    sensitive: false,
    description: 'See your credits and what was spent',
  },
  { scope: 'trace:read', group: 'trace', sensitive: true, description: 'Read what agents did, step by step' },
  {
    scope: 'trace:write',
    group: 'trace',
    sensitive: false,
    description: 'Add to the record of what agents did, and go on with the work of others and its files',
  },
]

const byId = new Map(scopes.map((info) => [info.scope, info]))
const connectorPattern = /^connector:([a-z0-9][a-z0-9_-]{0,63}):(read|exec)$/
const skillPrefix = 'tool:execute:'

/** The skill that a scope is for. */
function skillOf(scope: string): string | undefined {
  const slug = scope.startsWith(skillPrefix) ? scope.slice(skillPrefix.length) : ''
  return isSlug(slug) ? slug : undefined
}

/** What a scope is; undefined when there is no such scope. The wildcard is not one: nobody can ask for it. */
export function describeScope(scope: string): ScopeInfo | undefined {
  const known = byId.get(scope)
  if (known) return known
  const [, app, access] = connectorPattern.exec(scope) ?? []
  if (app) {
    const sensitive = access === 'exec'
    const description = sensitive ? `Act in ${app} in your name` : `Read your data in ${app}`
    return { scope, group: 'connector', sensitive, description }
  }
  const slug = skillOf(scope)
  if (slug) {
    return {
      scope,
      group: 'tool',
      sensitive: true,
      description: `Run the skill ${slug}, and spend credits on it`,
    }
  }
  return undefined
}

/** Whether a passkey must confirm it; also what nobody knows. */
export function isSensitiveScope(scope: string): boolean {
  return describeScope(scope)?.sensitive ?? true
}

/** What the approver's screen has chosen beforehand. */
export function defaultMode(info: ScopeInfo): GrantMode {
  return info.sensitive ? 'session' : 'persistent'
}

/** Needed where the skill is not known yet: the right to run any one, whichever it is. Nobody holds it by this name. */
export const anySkill = 'tool:execute:*'

/** The scopes of which any one is enough: the scope itself, and for one skill the right to run any. */
export function scopesThatCover(scope: string): string[] {
  return skillOf(scope) ? [scope, 'tool:execute'] : [scope]
}

/** Whether holding the one is enough where the other is needed. */
export function coversScope(held: string, needed: string): boolean {
  if (needed === anySkill) return held === 'tool:execute' || skillOf(held) !== undefined
  return scopesThatCover(needed).includes(held)
}

/** Which of the needed scopes are not among the held ones. */
export function missingScopes(held: readonly string[], needed: readonly string[]): string[] {
  if (held.includes(fullAccess)) return []
  return needed.filter((scope) => !held.some((one) => coversScope(one, scope)))
}
