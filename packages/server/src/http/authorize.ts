import type { Route } from '@guildhall/contract'
import { ApiError } from './api-error.ts'
import type { Principal } from './principal.ts'

/** Decided before anything is looked up, so that a refusal never tells whether the target exists. */
export function authorize(route: Route, principal: Principal): void {
  if (!principal.activated) {
    throw new ApiError('FORBIDDEN', {
      message: 'This key is not activated yet: declare its scopes with POST /api/v1/agents/connect',
      details: { activation_url: '/api/v1/agents/connect' },
    })
  }
  if (route.audience === 'session' && principal.kind !== 'session') {
    throw new ApiError('FORBIDDEN', {
      message: 'Only a person signed in to the app may do this (x-auth-token)',
      details: { credential: principal.kind },
    })
  }
}
