import { createHash } from 'node:crypto'
import { type Action, type AskedAction, fullAccess, type GrantMode, missingScopes } from '@guildhall/contract'
import { type Asked, ask, refuseLarge } from '#access/approvals/approvals.ts'
import { lockKeyScopes, requireKnownScopes } from '#access/keys/keys.ts'
import { ApiError } from '#operations/errors.ts'
import { deleteAnswersOf } from '#operations/idempotency/idempotency.ts'
import type { Principal } from '#operations/principal.ts'
import type { Tx } from '#platform/database.ts'
import * as store from './store.ts'

export { createGrants } from './grants.ts'
export { grantAtPairing, scopeKinds } from './scope-kinds.ts'
export { deleteLiveGrants as endGrantsOfKeys } from './store.ts'
export type { TouchReaders } from './touched.ts'

const scopesByDefault = ['profile:read', 'agent:list']

export type Answered = { outcome: 'held'; scopes: string[] } | Asked

/** Declares the scopes a key needs. A key with full access is always asked about: this is how it is narrowed. */
export async function connect(
  tx: Tx,
  key: Principal,
  requested: readonly string[] | undefined,
): Promise<Answered> {
  const scopes = [...new Set(requested?.length ? requested : scopesByDefault)].sort()
  requireKnownScopes(scopes)
  const own = await lockKeyScopes(tx, key.credentialId)
  const covered =
    own.activated && !own.scopes.includes(fullAccess) && missingScopes(own.scopes, scopes).length === 0
  if (covered) return { outcome: 'held', scopes: own.scopes }
  return ask(tx, key, { kind: 'consent', scopes, mode: null, reason: null, action: null })
}

export interface PermissionRequest {
  scope: string
  mode: GrantMode
  reason: string
  action: AskedAction | undefined
}

/** Asks for one more scope. A one_time grant that waits to be used does not count as held: it may be meant for else. */
export async function requestPermission(
  tx: Tx,
  key: Principal,
  request: PermissionRequest,
): Promise<Answered> {
  requireKnownScopes([request.scope])
  refuseLarge(request.action?.args, 'action.args')
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
  const { scope, mode, reason } = request
  const action = request.action ? bound(request.action) : null
  return ask(tx, key, { kind: 'permission', scopes: [scope], mode, reason, action })
}

/**
 * Bound to what the person is shown, where the agent says that it is the body and gives no digest of another one. Whether
 * it is, is compared all the same: of a digest alone nobody can tell, and no agent says so of what differs.
 */
function bound({ argsAreBody, ...action }: AskedAction): Action & { argsAreBody?: true } {
  const { args, request } = action
  if (args === undefined || !request) return action
  const shown = createHash('sha256').update(JSON.stringify(args)).digest('hex')
  const bodySha256 = request.bodySha256 ?? (argsAreBody ? shown : undefined)
  if (bodySha256 !== shown) return action
  return { ...action, request: { ...request, bodySha256 }, argsAreBody: true }
}

/**
 * For what ended before anything came of it: whoever repeats the request that made it tries anew, and has for it what was
 * spent on it.
 */
export async function forgetAnswersOf(tx: Tx, resourceIds: readonly string[]): Promise<void> {
  for (const { caller, idempotency_key: key } of await deleteAnswersOf(tx, resourceIds)) {
    const [kind, id] = caller.split(':')
    if (kind === 'key') await store.returnSpent(tx, Number(id), key)
  }
}
