import type { Route } from '@guildhall/contract'
import type { Access } from './access.ts'
import { ApiError } from './errors.ts'
import type { Principal } from './principal.ts'

const refusals = {
  session: 'Only a person signed in to the app may do this (x-auth-token)',
  key: 'Only an API key may do this (x-api-key)',
  agent: 'Only an API key or an OAuth token may do this: a session has no scopes that would bound an agent',
}

/**
 * Whether this credential may call this route, decided before anything is looked up, so that a refusal never tells
 * whether the target exists.
 */
export async function authorize(
  route: Route,
  needed: readonly string[],
  principal: Principal,
  access: Access,
): Promise<void> {
  if (!principal.activated && !route.servesUnactivated) {
    throw new ApiError(route.errors.includes('ACTIVATION_REQUIRED') ? 'ACTIVATION_REQUIRED' : 'FORBIDDEN', {
      message: 'This key is not activated yet: declare its scopes with POST /api/v1/agents/connect',
      details: { activation_url: '/api/v1/agents/connect' },
    })
  }
  const { audience } = route
  const isRefused = audience === 'agent' ? principal.kind === 'session' : principal.kind !== audience
  if ((audience === 'session' || audience === 'key' || audience === 'agent') && isRefused) {
    throw new ApiError('FORBIDDEN', { message: refusals[audience], details: { credential: principal.kind } })
  }
  if (route.modes && !route.modes.includes(principal.mode)) {
    throw new ApiError('FORBIDDEN', {
      message: `This needs the plan ${route.modes.join(' or ')}; the owner of this credential can change it in the app`,
      details: { tier: principal.mode },
    })
  }
  if (principal.kind === 'oauth' && !route.door) requireOAuthScopes(route, principal)
  await access.require(needed)
}

/**
 * What a token must name itself: a wildcard does not stand for it. Where read, write and admin are not enforced,
 * whoever checked the token has put all three among its scopes.
 */
function requireOAuthScopes(route: Route, principal: Principal): void {
  const access = route.method === 'GET' ? 'read' : 'write'
  const named = route.oauthScopes ?? []
  const needed = principal.scopes.includes('admin') ? named : [access, ...named]
  // Who asks anew and asks for no more than it is told would lose the first by getting the second.
  requireOfApp(principal, needed, [access, ...named])
}

/**
 * What comes along from earlier work is for whose work it was: a key goes on with what it made or was handed, and with
 * what others made by these scopes. Whoever acts in person, or for one as an app, has been asked already.
 */
export async function requireOwnOr(
  scopes: readonly string[],
  { principal, access }: { readonly principal: Principal; readonly access: Access },
  keyIds: readonly (number | null)[],
): Promise<void> {
  if (principal.kind === 'key' && !keyIds.includes(principal.apiKeyId)) await access.require(scopes)
}

/** What an app must have been let have beside what the route wants of all, because of what it sends. */
export function requireOfApp(
  { kind, scopes }: Principal,
  needed: readonly string[],
  asked: readonly string[] = needed,
): void {
  if (kind !== 'oauth') return
  const missing = needed.filter((scope) => !scopes.includes(scope))
  if (missing.length === 0) return
  throw new ApiError('FORBIDDEN', {
    message: `This token lacks the scope ${missing.join(', ')}`,
    details: { missing_scopes: missing },
    authenticate: `Bearer error="insufficient_scope", scope="${asked.join(' ')}"`,
  })
}
