import { describeScope, type Route } from '@guildhall/contract'
import { Access, fillScope } from './access.ts'
import { authorize } from './authorize.ts'
import type { Client } from './bind.ts'
import { ApiError } from './errors.ts'
import type { ExactRequest, Grants } from './grants.ts'
import type { Principal } from './principal.ts'

/**
 * Whether this caller may have this done, before anything is read or looked up. Gives what it is allowed by. Asked again for
 * the same call, it is the same `access`: else what only a grant covers by now would not be spent.
 */
export async function admit(
  grants: Grants,
  route: Route,
  caller: {
    readonly principal: Principal
    readonly via: Client['via']
    readonly params: Readonly<Record<string, string>>
    readonly request: ExactRequest
    readonly access?: Access | undefined
  },
): Promise<Access> {
  const { principal, via, params, request } = caller
  // A person's session is a person's: no agent decides for itself with it, however it came to be called.
  if (via !== 'http' && (route.audience === 'session' || route.audience === 'operator')) {
    throw new ApiError('FORBIDDEN', {
      message: 'Only a person may do this, in the app; no call that is made for an agent',
      details: { via },
    })
  }
  const access = caller.access ?? new Access(grants, principal, request)
  if (caller.access) await access.renew(principal)
  await authorize(route, neededScopes(route, params), principal, access)
  return access
}

/** Of parameters of the path. What no scope can be named after is refused for the lack of the general one. */
function neededScopes(route: Route, params: Readonly<Record<string, string>>): string[] {
  return (route.scopes ?? []).map((scope) => {
    const named = fillScope(scope, params)
    return describeScope(named) ? named : scope.replace(/:\{\w+\}/g, '')
  })
}
