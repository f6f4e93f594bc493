import type { Route } from '@guildhall/contract'
import type { Access } from './access.ts'
import { ApiError } from './errors.ts'
import type { Principal } from './principal.ts'

const refusals = {
  session: 'Only a person signed in to the app may do this (x-auth-token)',
  key: 'Only an API key may do this (x-api-key)',
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
    throw new ApiError('FORBIDDEN', {
      message: 'This key is not activated yet: declare its scopes with POST /api/v1/agents/connect',
      details: { activation_url: '/api/v1/agents/connect' },
    })
  }
  const { audience } = route
  if ((audience === 'session' || audience === 'key') && principal.kind !== audience) {
    throw new ApiError('FORBIDDEN', { message: refusals[audience], details: { credential: principal.kind } })
  }
  if (principal.kind === 'oauth') requireOAuthScopes(route, principal)
  await access.require(needed)
}

/**
 * What a token must name itself: a wildcard does not stand for it. Where read, write and admin are not enforced,
 * whoever checked the token has put all three among its scopes.
 */
function requireOAuthScopes(route: Route, { scopes }: Principal): void {
  const access = route.method === 'GET' ? 'read' : 'write'
  const needed = [...(scopes.includes('admin') ? [] : [access]), ...(route.oauthScopes ?? [])]
  const missing = needed.filter((scope) => !scopes.includes(scope))
  if (missing.length === 0) return
  throw new ApiError('FORBIDDEN', {
    message: `This token lacks the scope ${missing.join(', ')}`,
    details: { missing_scopes: missing },
    authenticate: `Bearer error="insufficient_scope", scope="${missing.join(' ')}"`,
  })
}
