import { createHash, randomUUID } from 'node:crypto'
import {
  actionArgsLimits,
  approvalLifetimeSeconds,
  describeScope,
  fullAccess,
  type GrantMode,
  missingScopes,
  pendingPerKey,
} from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import { isNestedWithin, jsonBytes } from '../graph/graph.ts'
import { lockKeyScopes } from '../keys/keys.ts'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import type { Tx } from '../platform/database.ts'
import { mintUserCode } from '../platform/user-code.ts'
import * as store from './store.ts'

export { approvalSubject, describeScopes, modesOf } from './describe.ts'
export { createGrants } from './grants.ts'
export { refuseDecision } from './lifecycle.ts'
export { deleteOldRequests, findRequest } from './store.ts'

const scopesByDefault = ['profile:read', 'agent:list']

export type Asked =
  | { outcome: 'held'; scopes: string[] }
  | { outcome: 'pending'; id: string; linkCode: string | null; isNew: boolean }

/** Declares the scopes a key needs. A key with full access is always asked about: this is how it is narrowed. */
export async function connect(
  deps: Deps,
  key: Principal,
  requested: readonly string[] | undefined,
): Promise<Asked> {
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
): Promise<Asked> {
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

interface Question {
  kind: 'consent' | 'permission'
  scopes: string[]
  mode: GrantMode | null
  reason: string | null
  action: unknown
}

/** Under the key's row lock: equal questions share one answer, and a key cannot flood its person's inbox. */
async function ask(tx: Tx, key: Principal, question: Question): Promise<Asked> {
  const sameAs = createHash('sha256').update(JSON.stringify(question)).digest()
  const pending = await store.listPending(tx, key.credentialId)
  const twin = pending.find((request) => request.same_as.equals(sameAs))
  if (twin) return { outcome: 'pending', id: twin.id, linkCode: twin.link_code, isNew: false }
  if (pending.length >= pendingPerKey) {
    throw new ApiError('RATE_LIMITED', {
      message: `This key has ${pendingPerKey} requests that wait for a decision; wait for one`,
      retryAfterSeconds: 2,
    })
  }
  const id = `${question.kind}_${randomUUID()}`
  for (;;) {
    const linkCode = question.kind === 'consent' ? mintUserCode() : null
    const row = {
      id,
      ...question,
      action: question.action === null ? null : JSON.stringify(question.action),
      key_id: key.credentialId,
      user_id: key.userId,
      workspace_id: key.workspaceId,
      link_code: linkCode,
      same_as: sameAs,
    }
    if (await store.insertRequest(tx, row, approvalLifetimeSeconds)) {
      return { outcome: 'pending', id, linkCode, isNew: true }
    }
  }
}

function requireKnown(scopes: readonly string[]): void {
  const unknown = scopes.filter((scope) => !describeScope(scope))
  if (unknown.length === 0) return
  throw new ApiError('INVALID_INPUT', {
    message: `Unknown scope: ${unknown.join(', ')}`,
    details: { unknown },
  })
}
