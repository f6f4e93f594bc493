import {
  describeScope,
  fullAccess,
  type GrantMode,
  oneTimeGrantSeconds,
  sessionGrantSeconds,
} from '@guildhall/contract'
import { recordActivity } from '../activity/activity.ts'
import type { AppliedKind, Choice, DecidableRow, Effect } from '../approvals/approvals.ts'
import type { Deps } from '../deps.ts'
import { type KeyCheck, lockKeyScopes, setKeyScopes } from '../keys/keys.ts'
import type { Actor } from '../operations/actor.ts'
import { ApiError } from '../operations/errors.ts'
import { requireAssertion } from '../passkeys/passkeys.ts'
import type { Tx } from '../platform/database.ts'
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
  const chosen = isConsent ? [...new Set(scopes ?? request.scopes)] : request.scopes
  const otherwise = mode ?? (isConsent ? 'persistent' : (request.mode ?? 'session'))
  return Object.fromEntries([...chosen].sort().map((scope) => [scope, modes?.[scope] ?? otherwise]))
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
  const { key_id: keyId } = request
  if (keyId === null) throw new ApiError('NOT_FOUND')
  const modes = chosenModes(request, choice)
  const granted = Object.entries(modes)
  refuseBeyond(request, [...new Set(choice.scopes ?? request.scopes)])
  // First of all locks, the person's: whoever needs both takes them in this order.
  if (granted.some(([scope]) => isSensitive(scope))) {
    await requireAssertion(tx, deps, person.userId, approvalSubject(request, choice), choice.deviceAuth)
  }
  const own = await lockKeyScopes(tx, keyId)
  const until = await writeGrants(tx, keyId, request, granted)
  const lasting = granted.flatMap(([scope, mode]) => (mode === 'persistent' ? [scope] : []))
  // A consent on a key with full access narrows it to exactly what was approved; any other grant adds.
  const kept = request.kind === 'consent' && own.scopes.includes(fullAccess) ? [] : own.scopes
  const scopes = [...new Set([...kept, ...lasting])].sort()
  await setKeyScopes(tx, keyId, scopes, { activate: true })
  const mode = request.kind === 'permission' ? (granted[0]?.[1] ?? null) : null
  return { details: { scopes: request.scopes, modes }, mode, until, scopes }
}

function isSensitive(scope: string): boolean {
  return describeScope(scope)?.sensitive ?? true
}

/** Gives the end of what was granted for a time, if anything was. */
async function writeGrants(
  tx: Tx,
  keyId: number,
  request: DecidableRow,
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
        key_id: keyId,
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
