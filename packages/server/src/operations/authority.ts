import { anySkill, fullAccess, scopesThatCover } from '@guildhall/contract'
import type { Right } from '#platform/tables.ts'
import type { UsedGrant } from './grants.ts'
import type { Principal } from './principal.ts'

/** One right for each scope that a call needs. It is recorded with what the call starts. */
export type Authority = readonly Right[]

/** The right by which a principal that needs no grant has this. Undefined for what only opens the door. */
export function ownRight(principal: Principal, needed: string): Right | undefined {
  if (needed === anySkill) return undefined
  const { kind, userId: approvedBy, oauthGrantId, scopes, approvals = {} } = principal
  if (kind === 'session') return { scope: needed, via: 'person', approvedBy }
  if (kind === 'oauth') {
    return { scope: needed, via: 'app', approvedBy, ...(oauthGrantId !== null && { oauthGrantId }) }
  }
  const held = scopesThatCover(needed).find((scope) => scopes.includes(scope))
  const right =
    held === undefined
      ? ({ scope: fullAccess, via: 'full' } as const)
      : ({ scope: held, via: 'key' } as const)
  return { ...right, ...approvals[right.scope] }
}

export function grantedRight({ id, scope, approval }: UsedGrant): Right {
  return { scope, via: 'grant', grantId: id, ...approval }
}
