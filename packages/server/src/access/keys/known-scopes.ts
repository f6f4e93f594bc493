import { describeScope } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'

/** What cannot be named cannot be asked for. */
export function requireKnownScopes(scopes: readonly string[]): void {
  const unknown = scopes.filter((scope) => !describeScope(scope))
  if (unknown.length === 0) return
  throw new ApiError('INVALID_INPUT', {
    message: `Unknown scope: ${unknown.join(', ')}`,
    details: { unknown },
  })
}
