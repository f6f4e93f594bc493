import {
  actionArgsLimits,
  describeScope,
  fullAccess,
  type GrantMode,
  missingScopes,
} from '@guildhall/contract'
import { type Asked, ask } from '../approvals/approvals.ts'
import type { Deps } from '../deps.ts'
import { isNestedWithin, jsonBytes } from '../graph/graph.ts'
import { lockKeyScopes } from '../keys/keys.ts'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import * as store from './store.ts'

export { createGrants } from './grants.ts'
export { scopeKinds } from './scope-kinds.ts'
export { deleteOldGrants } from './store.ts'

const scopesByDefault = ['profile:read', 'agent:list']

export type Answered = { outcome: 'held'; scopes: string[] } | Asked

/** Declares the scopes a key needs. A key with full access is always asked about: this is how it is narrowed. */
export async function connect(
  deps: Deps,
  key: Principal,
  requested: readonly string[] | undefined,
): Promise<Answered> {
  const scopes = [...new Set(requested?.length ? requested : scopesByDefault)].sort()
  requireKnown(scopes)
  return deps.database.transaction(async (tx) => {
    const own = await lockKeyScopes(tx, key.credentialId)
    const covered =
      own.activated && !own.scopes.includes(fullAccess) && missingScopes(own.scopes, scopes).length === 0
    if (covered) return { outcome: 'held', scopes: own.scopes }
    return ask(tx, key, { kind: 'consent', scopes, mode: null, reason: null, action: null })
  })
}

export interface PermissionRequest {
  scope: string
  mode: GrantMode
  reason: string
  action: { args?: unknown } | undefined
}

/** What is kept for a person to read has a size, and nothing that shows it has to recurse far. */
function refuseLargeArgs(action: { args?: unknown } | undefined): void {
  const { bytes, depth } = actionArgsLimits
  if (action?.args === undefined) return
  if (isNestedWithin(action.args, depth) && jsonBytes(action.args) <= bytes) return
  throw new ApiError('INVALID_INPUT', {
    message: `action.args: at most ${bytes} bytes as JSON and ${depth} levels deep`,
    details: { limit: bytes, depth },
  })
}

/** Asks for one more scope. A one_time grant that waits to be used does not count as held: it may be meant for else. */
export async function requestPermission(
  deps: Deps,
  key: Principal,
  request: PermissionRequest,
): Promise<Answered> {
  requireKnown([request.scope])
  refuseLargeArgs(request.action)
  return deps.database.transaction(async (tx) => {
    const own = await lockKeyScopes(tx, key.credentialId)
    if (!own.activated) {
      throw new ApiError('ACTIVATION_REQUIRED', { details: { activation_url: '/api/v1/agents/connect' } })
    }
    const inSession = await store.listLiveGrants(tx, key.credentialId)
    const held = [
      ...own.scopes,
      ...inSession.filter(({ mode }) => mode === 'session').map(({ scope }) => scope),
    ]
    if (missingScopes(held, [request.scope]).length === 0) return { outcome: 'held', scopes: own.scopes }
    const { scope, mode, reason, action } = request
    return ask(tx, key, { kind: 'permission', scopes: [scope], mode, reason, action: action ?? null })
  })
}

function requireKnown(scopes: readonly string[]): void {
  const unknown = scopes.filter((scope) => !describeScope(scope))
  if (unknown.length === 0) return
  throw new ApiError('INVALID_INPUT', {
    message: `Unknown scope: ${unknown.join(', ')}`,
    details: { unknown },
  })
}
