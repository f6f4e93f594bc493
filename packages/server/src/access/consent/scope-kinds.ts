import {
  fullAccess,
  type GrantMode,
  isSensitiveScope,
  oneTimeGrantSeconds,
  sessionGrantSeconds,
} from '@guildhall/contract'
import type { Pairing } from '#access/activation/activation.ts'
import type { AppliedKind, Choice, DecidableRow, Effect } from '#access/approvals/approvals.ts'
import { type KeyCheck, lockKeyScopes, setKeyScopes } from '#access/keys/keys.ts'
import { recordActivity } from '#accounts/activity/activity.ts'
import { modesOf, requireAssertion } from '#accounts/passkeys/passkeys.ts'
import type { Actor } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import * as store from './store.ts'

/** The two kinds by which a key gets scopes: a consent over a set, a permission for one. */
export function scopeKinds(deps: Deps, check: KeyCheck): Record<'consent' | 'permission', AppliedKind> {
  const kind = (name: 'consent' | 'permission'): AppliedKind => ({
    decidedBy: 'owner',
    decidedOn: 'own routes',
    lines: { granted: `${name}.granted`, denied: `${name}.denied` },
    subjectOf: approvalSubject,
    apply: async (tx, person, request, decision) => {
      const { scopes } = request
      if (decision.status === 'denied') {
        const { reason } = decision
        return { details: { scopes, ...(reason !== null && { reason }) } }
      }
      return grantScopes(tx, deps, person, request, decision.choice)
    },
    committed: async ({ key_id }) => {
      if (key_id !== null) await check.announceChange(key_id)
    },
  })
  return { consent: kind('consent'), permission: kind('permission') }
}

/** The mode each approved scope is granted in: what the person chose, else what was asked for. */
function chosenModes(request: DecidableRow, { scopes, modes, mode }: Choice): Record<string, GrantMode> {
  const isConsent = request.kind === 'consent'
  const chosen = isConsent ? (scopes ?? request.scopes) : request.scopes
  return modesOf(chosen, modes, mode ?? (isConsent ? 'persistent' : (request.mode ?? 'session')))
}

/** What a passkey signs when it approves: this request, these scopes, in these modes, and nothing else. */
function approvalSubject(request: DecidableRow, choice: Choice) {
  return { purpose: 'approve', requestId: request.id, modes: chosenModes(request, choice) }
}

function refuseBeyond({ scopes }: DecidableRow, chosen: readonly string[]): void {
  const beyond = chosen.filter((scope) => !scopes.includes(scope))
  if (beyond.length > 0) {
    throw new ApiError('INVALID_INPUT', {
      message: `Not asked for: ${beyond.join(', ')}`,
      details: { beyond },
    })
  }
  if (chosen.length === 0) {
    throw new ApiError('INVALID_INPUT', { message: 'scopes: approve at least one, or deny the request' })
  }
}

/** The proof by passkey, then the grants and the key's own scopes. */
async function grantScopes(
  tx: Tx,
  deps: Deps,
  person: Actor,
  request: DecidableRow,
  choice: Choice,
): Promise<Effect> {
  const { key_id: keyId, action } = request
  if (keyId === null) throw new ApiError('NOT_FOUND')
  const modes = chosenModes(request, choice)
  const granted = Object.entries(modes)
  refuseBeyond(request, [...new Set(choice.scopes ?? request.scopes)])
  // First of all locks, the person's: whoever needs both takes them in this order.
  const passkey = granted.some(([scope]) => isSensitiveScope(scope))
    ? await requireAssertion(tx, deps, person.userId, approvalSubject(request, choice), choice.deviceAuth)
    : undefined
  const by = { userId: person.userId, passkey }
  const own = await lockKeyScopes(tx, keyId)
  const exact = (action as { request?: ExactRequest } | null)?.request
  const on = { keyId, workspaceId: request.workspace_id, requestId: request.id, exact }
  const until = await writeGrants(tx, on, granted, by)
  const lasting = granted.flatMap(([scope, mode]) => (mode === 'persistent' ? [scope] : []))
  // A consent on a key with full access narrows it to exactly what was approved; any other grant adds.
  const kept = request.kind === 'consent' && own.scopes.includes(fullAccess) ? [] : own.scopes
  const scopes = [...new Set([...kept, ...lasting])].sort()
  const approved = { scopes: lasting, requestId: request.id, ...by }
  await setKeyScopes(tx, keyId, scopes, { activate: true, approved })
  const mode = request.kind === 'permission' ? (granted[0]?.[1] ?? null) : null
  return { details: { scopes: request.scopes, modes }, mode, until, scopes, passkey }
}

interface ExactRequest {
  readonly method: string
  readonly path: string
  readonly bodySha256?: string
}

interface GrantedOn {
  readonly keyId: number
  readonly workspaceId: string
  /** Null for what no request in the inbox asked for. */
  readonly requestId: string | null
  /** What a grant that is good once is bound to. */
  readonly exact?: ExactRequest | undefined
}

/**
 * What a person grants together with a pairing, to the key that comes of it. That it was asked for, and what needs a
 * passkey, whoever makes the key has seen to.
 */
export async function grantAtPairing(tx: Tx, pairing: Pairing): Promise<void> {
  const { keyId, workspaceId, activationId, modes, userId, passkey } = pairing
  const by = { userId, passkey }
  const granted = Object.entries(modes)
  await writeGrants(tx, { keyId, workspaceId, requestId: null }, granted, by)
  const lasting = granted.flatMap(([scope, mode]) => (mode === 'persistent' ? [scope] : []))
  const approved = { scopes: lasting, requestId: `activation_${activationId}`, ...by }
  await setKeyScopes(tx, keyId, lasting, { activate: true, approved })
}

/** Gives the end of what was granted for a time, if anything was. */
async function writeGrants(
  tx: Tx,
  on: GrantedOn,
  granted: readonly (readonly [string, GrantMode])[],
  by: { userId: string; passkey: string | undefined },
): Promise<string | null> {
  let until: string | null = null
  for (const [scope, mode] of granted) {
    if (mode === 'persistent') continue
    const exact = mode === 'one_time' ? on.exact : undefined
    until = await store.insertGrant(
      tx,
      {
        key_id: on.keyId,
        workspace_id: on.workspaceId,
        scope,
        mode,
        request_id: on.requestId,
        bound_method: exact?.method ?? null,
        bound_path: exact?.path ?? null,
        bound_body_sha256: exact?.bodySha256 ?? null,
        approved_by: by.userId,
        passkey: by.passkey ?? null,
      },
      mode === 'session' ? sessionGrantSeconds : oneTimeGrantSeconds,
    )
  }
  return until
}

/** Takes one scope from a key, with every grant of it. Undefined when the person has no such key. */
export async function removeScope(deps: Deps, person: Actor, keyId: number, scope: string) {
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
