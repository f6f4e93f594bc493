import { type GrantMode, isSensitiveScope } from '@guildhall/contract'
import { createKey } from '#access/keys/keys.ts'
import { recordActivity } from '#accounts/activity/activity.ts'
import {
  confirmSubject,
  modesOf,
  requireAssertion,
  requireAssertionIfRegistered,
} from '#accounts/passkeys/passkeys.ts'
import type { Actor } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import type { Bus } from '#platform/bus.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { announcePairing } from './announce.ts'
import { noteDecider, whoDecided } from './decider.ts'
import { guessCode } from './guess.ts'
import { pairingChannel, refuseDecision } from './lifecycle.ts'
import * as store from './store.ts'

/** Notes in the transaction of a decision that it was taken. */
export type KeepDecision = (tx: Tx, activationId: number) => Promise<void>

/** What a person grants together with the pairing: each scope in its mode. */
export interface Pairing {
  readonly keyId: number
  readonly workspaceId: string
  readonly userId: string
  readonly activationId: number
  readonly modes: Readonly<Record<string, GrantMode>>
  /** With which the person confirmed it. */
  readonly passkey: string | undefined
}

export type GrantAtPairing = (tx: Tx, pairing: Pairing) => Promise<void>

interface Chosen {
  readonly access: 'full' | 'declared' | undefined
  readonly scopes: readonly string[] | undefined
  readonly modes: Readonly<Record<string, GrantMode>> | undefined
  /** The number that the person says the agent shows. */
  readonly match: string | undefined
  readonly deviceAuth: unknown
}

export interface Confirmation extends Chosen {
  readonly keep: KeepDecision
  readonly grant: GrantAtPairing
}

/** Who has named scopes is given those and no more; full access is then a choice that somebody makes in so many words. */
async function accessOf(tx: Tx, userCode: string, { access, scopes }: Chosen): Promise<'full' | 'declared'> {
  if (access !== undefined) return access
  if (scopes !== undefined) return 'declared'
  const asked = await store.findByUserCode(tx, userCode)
  return asked !== undefined && asked.requested_scopes.length > 0 ? 'declared' : 'full'
}

/** As everywhere: full access by who has a passkey, and what is sensitive by nobody without one. */
async function requireProof(
  tx: Tx,
  deps: Deps,
  { userId }: Actor,
  { userCode, access, modes }: { userCode: string; access: 'full' | 'declared'; modes: Pairing['modes'] },
  deviceAuth: unknown,
): Promise<string | undefined> {
  const subject = confirmSubject(userCode, access, modes)
  if (access === 'full') return requireAssertionIfRegistered(tx, deps, userId, subject, deviceAuth)
  if (!Object.keys(modes).some(isSensitiveScope)) return undefined
  return requireAssertion(tx, deps, userId, subject, deviceAuth)
}

function refuseUnasked(requested: readonly string[], chosen: readonly string[]): void {
  const beyond = chosen.filter((scope) => !requested.includes(scope))
  if (beyond.length === 0) return
  throw new ApiError('INVALID_INPUT', {
    message: `Not asked for: ${beyond.join(', ')}`,
    details: { beyond },
  })
}

/** Approval makes the key's row: it counts, has its name and workspace, and no secret yet. */
export async function approveActivation(
  deps: Deps,
  bus: Bus,
  decider: Actor,
  typedCode: string,
  { keep, grant, ...chosen }: Confirmation,
): Promise<void> {
  let isOtherNumber = false
  await withinMissBudget(deps, bus, decider, typedCode, async (tx, userCode) => {
    const modes = modesOf(chosen.scopes ?? [], chosen.modes)
    const scopes = Object.keys(modes)
    if (chosen.access === 'full' && scopes.length > 0) {
      throw new ApiError('INVALID_INPUT', {
        message: 'scopes: a key with full access has them all; leave scopes out, or access',
      })
    }
    // Before the code is looked at, and by what was sent alone, so that the refusal does not tell whether it exists.
    const proven = chosen.access ?? (chosen.scopes === undefined ? 'full' : 'declared')
    const passkey = await requireProof(
      tx,
      deps,
      decider,
      { userCode, access: proven, modes },
      chosen.deviceAuth,
    )
    const access = await accessOf(tx, userCode, chosen)
    const by = { ...(await noteDecider(tx, decider)), decided_passkey: passkey ?? null }
    const activation = await store.claimDecision(tx, userCode, { status: 'approved', ...by })
    if (!activation) return undefined
    isOtherNumber = !isNumberShown(activation.match_number, chosen.match)
    if (isOtherNumber) {
      // Kept although it is refused: three guesses would find any number of three.
      await store.updateToDenied(tx, activation.id)
      await record(tx, decider, 'activation.denied', activation, { reason: 'MATCH' })
      return { ...activation, status: 'denied' }
    }
    refuseUnasked(activation.requested_scopes, scopes)
    const keyId = await createKey(tx, {
      workspaceId: decider.workspaceId,
      userId: decider.userId,
      label: `${activation.client_label} (${activation.user_code})`,
      access,
      createdVia: 'pairing',
      passkey,
      client: {
        label: activation.client_label,
        userAgent: activation.client_ua,
        address: activation.client_ip,
      },
      claimBefore: activation.expires_at,
    })
    await store.updateKey(tx, activation.id, keyId)
    const { workspaceId, userId } = decider
    const pairing = { keyId, workspaceId, userId, activationId: activation.id, modes, passkey }
    if (scopes.length > 0) await grant(tx, pairing)
    const granted = scopes.length > 0 ? { modes } : {}
    await record(tx, decider, 'activation.approved', activation, { keyId, access, ...granted })
    await keep(tx, activation.id)
    return { ...activation, status: 'granted' }
  })
  if (!isOtherNumber) return
  throw new ApiError('FORBIDDEN', {
    message: 'The agent shows another number: somebody else may have begun this. The pairing is refused.',
    details: { reason: 'MATCH' },
  })
}

/** Whether the person sees what the agent shows; not asked of an agent that shows nothing. */
function isNumberShown(shown: string | null, picked: string | undefined): boolean {
  if (shown !== null && picked === undefined) {
    throw new ApiError('INVALID_INPUT', { message: 'match: say which of match_choices the agent shows' })
  }
  return shown === null || shown === picked
}

export async function denyActivation(
  deps: Deps,
  bus: Bus,
  decider: Actor,
  typedCode: string,
  keep: KeepDecision,
): Promise<void> {
  await withinMissBudget(deps, bus, decider, typedCode, async (tx, userCode) => {
    const by = { ...(await noteDecider(tx, decider)), decided_passkey: null }
    const activation = await store.claimDecision(tx, userCode, { status: 'denied', ...by })
    if (!activation) return undefined
    await record(tx, decider, 'activation.denied', activation, {})
    await keep(tx, activation.id)
    return { ...activation, status: 'denied' }
  })
}

async function record(
  tx: Tx,
  decider: Actor,
  type: 'activation.approved' | 'activation.denied',
  activation: { client_label: string; client_ip: string },
  details: Record<string, unknown>,
): Promise<void> {
  const client = { label: activation.client_label, address: activation.client_ip }
  await recordActivity(tx, decider, {
    type,
    workspaceId: decider.workspaceId,
    details: { client, ...details },
  })
}

interface Decided {
  readonly id: number
  readonly device_code_hash: Buffer
  readonly status: 'granted' | 'denied'
}

/** Runs a decision, which gives what it was taken about; when it finds that not pending, tells why. */
async function withinMissBudget(
  deps: Deps,
  bus: Bus,
  decider: Actor,
  typedCode: string,
  decide: (tx: Tx, userCode: string) => Promise<Decided | undefined>,
): Promise<void> {
  const outcome = await guessCode(deps, decider.userId, typedCode, async (tx, userCode) => {
    const decided = await decide(tx, userCode)
    if (decided) return decided
    const late = await store.findByUserCode(tx, userCode)
    if (late === undefined) return undefined
    // Pending by the transaction's time, and its deadline passed while it waited.
    const state = late.state === 'pending' ? 'expired' : late.state
    return refuseDecision(state, await whoDecided(tx, decider, late))
  })
  if (outcome instanceof ApiError) throw outcome
  bus.wake(pairingChannel(outcome.device_code_hash))
  announcePairing(bus, decider, outcome.id, outcome.status)
}
