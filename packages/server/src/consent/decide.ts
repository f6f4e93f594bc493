import { fullAccess, type GrantMode, oneTimeGrantSeconds, sessionGrantSeconds } from '@guildhall/contract'
import { recordActivity } from '../activity/activity.ts'
import type { Deps } from '../deps.ts'
import { lockKeyScopes, setKeyScopes } from '../keys/keys.ts'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import { requireAssertion } from '../passkeys/passkeys.ts'
import type { Tx } from '../platform/database.ts'
import { approvalSubject, isSensitive, modesOf } from './describe.ts'
import { refuseDecision } from './lifecycle.ts'
import * as store from './store.ts'

export interface Decided {
  request: store.RequestRow
  /** The key's own scopes after the decision. */
  scopes: string[]
  /** When the granted permission ends; null for one that does not. */
  until: string | null
}

interface Approval {
  kind: 'consent' | 'permission'
  id: string
  /** For a consent: all or some of what was asked for. */
  scopes?: readonly string[]
  modes?: Readonly<Record<string, GrantMode>>
  /** For a permission: instead of the mode that was asked for. */
  mode?: GrantMode
  deviceAuth: unknown
}

/** Approves, in one transaction: the decision, the proof by passkey, the scopes or grants, the line in the log. */
export async function approve(deps: Deps, person: Principal, approval: Approval): Promise<Decided> {
  return deps.database.transaction(async (tx) => {
    const request = await findOwn(tx, person, approval.kind, approval.id)
    if (request.state !== 'pending') throw refuseDecision(request.state)
    const modes = chosenModes(request, approval)
    const granted = Object.entries(modes)
    const onlyMode = request.kind === 'permission' ? (granted[0]?.[1] ?? null) : null
    // First of all locks, the person's: whoever needs both takes them in this order.
    if (granted.some(([scope]) => isSensitive(scope))) {
      await requireAssertion(tx, deps, person.userId, approvalSubject(request.id, modes), approval.deviceAuth)
    }
    const own = await lockKeyScopes(tx, request.key_id)
    const until = await writeGrants(tx, request, granted)
    const claimed = await store.claimDecision(tx, person.userId, request.id, {
      status: 'granted',
      granted_mode: onlyMode,
      granted_until: until,
    })
    if (!claimed) throw await lateDecision(tx, person, request)
    const lasting = granted.flatMap(([scope, mode]) => (mode === 'persistent' ? [scope] : []))
    // A consent on a key with full access narrows it to exactly what was approved; any other grant adds.
    const kept = request.kind === 'consent' && own.scopes.includes(fullAccess) ? [] : own.scopes
    const scopes = [...new Set([...kept, ...lasting])].sort()
    await setKeyScopes(tx, request.key_id, scopes, { activate: true })
    await record(tx, person, request, 'granted', { modes })
    return { request, scopes, until }
  })
}

export async function deny(
  deps: Deps,
  person: Principal,
  kind: 'consent' | 'permission',
  id: string,
  reason: string | undefined,
): Promise<store.RequestRow> {
  return deps.database.transaction(async (tx) => {
    const request = await findOwn(tx, person, kind, id)
    const denyReason = reason?.trim() || null
    const decision = { status: 'denied', deny_reason: denyReason } as const
    if (!(await store.claimDecision(tx, person.userId, request.id, decision))) {
      throw await lateDecision(tx, person, request)
    }
    await record(tx, person, request, 'denied', denyReason ? { reason: denyReason } : {})
    return request
  })
}

async function findOwn(tx: Tx, person: Principal, kind: 'consent' | 'permission', id: string) {
  const request = await store.findRequest(tx, person.userId, id, kind)
  if (!request) throw new ApiError('NOT_FOUND')
  return request
}

/** Read after the lost claim: a request never leaves its end state, so this is what won. */
async function lateDecision(tx: Tx, person: Principal, request: store.RequestRow): Promise<ApiError> {
  const now = await store.findRequest(tx, person.userId, request.id)
  return now ? refuseDecision(now.state) : new ApiError('NOT_FOUND')
}

function chosenModes(request: store.RequestRow, approval: Approval): Record<string, GrantMode> {
  if (request.kind === 'permission')
    return modesOf(request.scopes, undefined, approval.mode ?? request.mode ?? 'session')
  const scopes = [...new Set(approval.scopes)]
  const beyond = scopes.filter((scope) => !request.scopes.includes(scope))
  if (beyond.length > 0) {
    throw new ApiError('INVALID_INPUT', {
      message: `Not asked for: ${beyond.join(', ')}`,
      details: { beyond },
    })
  }
  if (scopes.length === 0) {
    throw new ApiError('INVALID_INPUT', { message: 'scopes: approve at least one, or deny the request' })
  }
  return modesOf(scopes, approval.modes, 'persistent')
}

/** Gives the end of what was granted for a time, if anything was. */
async function writeGrants(
  tx: Tx,
  request: store.RequestRow,
  granted: readonly (readonly [string, GrantMode])[],
): Promise<string | null> {
  const bound = (request.action as { request?: { method: string; path: string; bodySha256?: string } } | null)
    ?.request
  let until: string | null = null
  for (const [scope, mode] of granted) {
    if (mode === 'persistent') continue
    const exact = mode === 'one_time' ? bound : undefined
    until = await store.insertGrant(
      tx,
      {
        key_id: request.key_id,
        workspace_id: request.workspace_id,
        scope,
        mode,
        request_id: request.id,
        bound_method: exact?.method ?? null,
        bound_path: exact?.path ?? null,
        bound_body_sha256: exact?.bodySha256 ?? null,
      },
      mode === 'session' ? sessionGrantSeconds : oneTimeGrantSeconds,
    )
  }
  return until
}

/** Takes one scope from a key, with every grant of it. Undefined when the person has no such key. */
export async function removeScope(deps: Deps, person: Principal, keyId: number, scope: string) {
  return deps.database.transaction(async (tx) => {
    const own = await lockKeyScopes(tx, keyId, person.userId)
    const scopes = own.scopes.filter((held) => held !== scope)
    await setKeyScopes(tx, keyId, scopes, { activate: false })
    const voided = await store.deleteGrants(tx, keyId, scope)
    await recordActivity(tx, person, {
      type: 'scope.removed',
      workspaceId: own.workspaceId,
      details: { keyId, scope, grantsVoided: voided },
    })
    return scopes
  })
}

async function record(
  tx: Tx,
  person: Principal,
  request: store.RequestRow,
  outcome: 'granted' | 'denied',
  details: Record<string, unknown>,
): Promise<void> {
  await recordActivity(tx, person, {
    type: `${request.kind}.${outcome}`,
    workspaceId: request.workspace_id,
    details: { requestId: request.id, keyId: request.key_id, scopes: request.scopes, ...details },
  })
}
