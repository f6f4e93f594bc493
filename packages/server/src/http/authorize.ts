import { missingScopes, type Route } from '@guildhall/contract'
import { ApiError } from './api-error.ts'
import type { ExactRequest, Grants } from './grants.ts'
import type { Principal } from './principal.ts'

const refusals = {
  session: 'Only a person signed in to the app may do this (x-auth-token)',
  key: 'Only an API key may do this (x-api-key)',
}

/**
 * Whether this credential may call this route, decided before anything is looked up, so that a refusal never tells
 * whether the target exists. Gives the scopes that only a grant covers: the handler's call must spend them.
 */
export async function authorize(
  route: Route,
  needed: readonly string[],
  principal: Principal,
  grants: Grants,
): Promise<string[]> {
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
  return requireScopes(needed, principal, grants)
}

/** Gives those that only a grant covers. */
export async function requireScopes(
  needed: readonly string[],
  principal: Principal,
  grants: Grants,
): Promise<string[]> {
  const missing = missingScopes(principal.scopes, needed)
  if (missing.length === 0) return missing
  const uncovered = await grants.findUncovered(principal, missing)
  if (uncovered.length > 0) throw scopeRefusal(uncovered)
  return missing
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

/** Consumes one_time grants at the last moment before the handler, so that a malformed request costs nothing. */
export async function spendGrants(
  grants: Grants,
  principal: Principal,
  scopes: readonly string[],
  request: ExactRequest,
): Promise<void> {
  const uncovered = await grants.spend(principal, scopes, request)
  if (uncovered.length > 0) throw scopeRefusal(uncovered)
}

/** Names what is missing and carries the request that asks for it, ready to be sent. */
function scopeRefusal(missing: readonly string[]): ApiError {
  return new ApiError('FORBIDDEN', {
    message: `This credential lacks the scope ${missing.join(', ')}; ask for it with the request in details.request`,
    details: {
      missing_scopes: missing,
      request: {
        method: 'POST',
        path: '/api/v1/agents/request-permission',
        body: { scope: missing[0], reason: `A call needs ${missing[0]}` },
      },
    },
    authenticate: `Bearer error="insufficient_scope", scope="${missing.join(' ')}"`,
  })
}
