/** The wildcard of a key with full access. */
export const fullAccess = '*'

const knownScopes: ReadonlySet<string> = new Set([
  'profile:read',
  'profile:search',
  'profile:write',
  'memory:read',
  'memory:write',
  'workspace:files:read',
  'workspace:files:write',
  'tool:execute',
  'agent:list',
  'agent:message',
  'billing:read',
  'trace:read',
  'trace:write',
])

const scopePatterns = [
  /^connector:[a-z0-9][a-z0-9_-]{0,63}:(read|exec)$/,
  /^tool:execute:[a-z0-9][a-z0-9-]{0,63}$/,
]

export function isKnownScope(scope: string): boolean {
  return knownScopes.has(scope) || scopePatterns.some((pattern) => pattern.test(scope))
}
