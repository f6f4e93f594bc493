import type { Feature, Requirement } from './requirements.ts'

/**
 * Where the routes of each feature lie. A feature exists once every one of its places has a route; from then on
 * none of its rules may be pending.
 */
export const featurePlaces: Readonly<Record<Feature, readonly string[]>> = {
  house: [
    '/api/v1/meta',
    '/api/v1/auth',
    '/api/v1/me',
    '/api/v1/workspaces',
    '/api/v1/invitations',
    '/api/v1/keys',
    '/api/v1/activate',
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
  ],
  permissions: [
    '/api/v1/agents/connect',
    '/api/v1/agents/request-permission',
    '/api/v1/agents/:keyId/scopes',
    '/api/v1/agents/me',
    '/api/v1/approvals',
    '/api/v1/passkeys',
    '/api/v1/push',
    '/api/v1/oauth/clients',
    '/api/v1/oauth/grants',
    '/api/v1/profile',
    '/api/v1/activity',
    '/api/v1/events/subscribe-url',
  ],
  skills: [
    '/api/v1/skills',
    '/api/v1/marketplace',
    '/api/v1/artifacts',
    '/api/v1/operator',
    '/api/v1/install',
  ],
  executions: ['/api/v1/executions', '/api/v1/billing'],
  workflows: ['/api/v1/workflows', '/api/v1/agents'],
  traces: ['/api/v1/traces', '/api/v1/receipts', '/.well-known/guildhall-receipt-keys'],
  chat: ['/api/v1/chat', '/api/v1/threads', '/api/v1/notifications'],
  mcp: ['/mcp'],
}

type Places = Readonly<Partial<Record<Feature, readonly string[]>>>

/** Rules that wait for what is there already, and routes that no feature counts among its own. */
export function findOverdue(
  requirements: readonly Requirement[],
  paths: readonly string[],
  places: Places = featurePlaces,
): string[] {
  const isThere = (place: string) => paths.some((path) => isBelow(path, place))
  const known = Object.values(places).flat()
  const overdue = requirements.flatMap(({ id, pending }) => {
    const own = pending ? (places[pending] ?? []) : []
    return own.length > 0 && own.every(isThere) ? [`${id}: pending, yet ${pending} has its routes`] : []
  })
  const strays = paths.filter((path) => !known.some((place) => isBelow(path, place)))
  return [...overdue, ...strays.map((path) => `${path}: a route of no feature`)]
}

function isBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`)
}
