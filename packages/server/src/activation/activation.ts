import { activationLifetimeSeconds } from '@guildhall/contract'
import { recordActivity } from '../activity/activity.ts'
import type { Deps } from '../deps.ts'
import { createKey, giveSecret, lockPairedKey } from '../keys/keys.ts'
import type { Actor } from '../operations/actor.ts'
import type { Client } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import { tooManyRequests } from '../operations/limits.ts'
import { confirmSubject, requireAssertionIfRegistered } from '../passkeys/passkeys.ts'
import type { Tx } from '../platform/database.ts'
import { networkOf } from '../platform/network.ts'
import { hashSecret, mintSecret } from '../platform/secrets.ts'
import type { Mode } from '../platform/tables.ts'
import { mintUserCode, normalizeUserCode } from '../platform/user-code.ts'
import { lockUser } from '../users/users.ts'
import { clientFacts } from './client-facts.ts'
import { type ActivationState, refuseDecision } from './lifecycle.ts'
import * as store from './store.ts'

export { deleteOldActivations } from './store.ts'

export async function startActivation(deps: Deps, client: Client) {
  const facts = clientFacts(client)
  const network = networkOf(client.address)
  const { max, windowSeconds } = deps.config.limits.pendingCodes
  if ((await store.countPending(deps.database.db, network, Math.min(max, 100_000))) >= max) {
    throw tooManyRequests(deps, 'pendingCodes', windowSeconds)
  }
  const deviceCode = mintSecret('device')
  for (;;) {
    const userCode = mintUserCode()
    const row = {
      device_code_hash: hashSecret(deviceCode),
      user_code: userCode,
      client_label: facts.label,
      client_ua: facts.userAgent,
      client_ip: facts.address,
      client_network: network,
    }
    if (await store.insertActivation(deps.database.db, row, activationLifetimeSeconds))
      return { deviceCode, userCode }
  }
}

type Collected = { api_key: string; tier: Mode; workspace: { id: string; name: string | null } }

/**
 * What a poll answers. `approved` is said only by the poll that wins the claim; one that read "approved" and lost
 * reads again, and then finds what became of it.
 */
export async function pollActivation(
  deps: Deps,
  deviceCode: string,
): Promise<{ status: ActivationState } & Partial<Collected>> {
  const hash = hashSecret(deviceCode)
  for (;;) {
    const [row] = await deps.database.hot<{ state: ActivationState }>(store.findStateStatement, [hash])
    const status = row?.state ?? 'expired'
    if (status !== 'approved') return { status }
    const collected = await deps.database.transaction((tx) => collectKey(tx, deps, hash))
    if (collected) return { status, ...collected }
  }
}

/** The secret is made here, inside the claim, so an unclaimed approval has no secret that could leak. */
async function collectKey(tx: Tx, deps: Deps, deviceCodeHash: Buffer): Promise<Collected | undefined> {
  const claimed = await store.claimConsumption(tx, deviceCodeHash)
  if (!claimed) return undefined
  const key = claimed.key_id === null ? undefined : await lockPairedKey(tx, claimed.key_id)
  // Revoked before it was collected: the code is used up and there is nothing to hand over.
  if (!key) return undefined
  return {
    api_key: await giveSecret(tx, deps.config, key.id),
    tier: key.mode,
    workspace: { id: key.workspaceId, name: key.workspaceName },
  }
}

/** Approval makes the key's row: it counts, has its name and workspace, and no secret yet. */
export async function approveActivation(
  deps: Deps,
  decider: Actor,
  typedCode: string,
  access: 'full' | 'declared',
  deviceAuth: unknown,
): Promise<void> {
  await withinMissBudget(deps, decider.userId, typedCode, async (tx, userCode) => {
    // Before the code is looked at, so that the refusal does not tell whether it exists.
    if (access === 'full')
      await requireAssertionIfRegistered(
        tx,
        deps,
        decider.userId,
        confirmSubject(userCode, access),
        deviceAuth,
      )
    const decision = { status: 'approved', decidedBy: decider.userId } as const
    const activation = await store.claimDecision(tx, userCode, decision)
    if (!activation) return false
    const keyId = await createKey(tx, {
      workspaceId: decider.workspaceId,
      userId: decider.userId,
      label: `${activation.client_label} (${activation.user_code})`,
      access,
      createdVia: 'pairing',
      client: {
        label: activation.client_label,
        userAgent: activation.client_ua,
        address: activation.client_ip,
      },
      claimBefore: activation.expires_at,
    })
    await store.updateKey(tx, activation.id, keyId)
    await record(tx, decider, 'activation.approved', activation, { keyId, access })
    return true
  })
}

export async function denyActivation(deps: Deps, decider: Actor, typedCode: string): Promise<void> {
  await withinMissBudget(deps, decider.userId, typedCode, async (tx, userCode) => {
    const decision = { status: 'denied', decidedBy: decider.userId } as const
    const activation = await store.claimDecision(tx, userCode, decision)
    if (activation) await record(tx, decider, 'activation.denied', activation, {})
    return activation !== undefined
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

/** A code that somebody else has decided looks like one that never was. */
export async function lookUpActivation(deps: Deps, userId: string, typedCode: string) {
  return guessCode(deps, userId, typedCode, async (tx, userCode) => {
    const found = await store.findByUserCode(tx, userCode)
    if (!found || (found.decided_by !== null && found.decided_by !== userId)) return undefined
    // From now on it is in this person's inbox.
    if (found.state === 'pending') await store.updateViewer(tx, found.id, userId)
    return found
  })
}

/** Runs a decision; when it finds the code not pending, tells why. */
async function withinMissBudget(
  deps: Deps,
  userId: string,
  typedCode: string,
  decide: (tx: Tx, userCode: string) => Promise<boolean>,
): Promise<void> {
  const state = await guessCode(deps, userId, typedCode, async (tx, userCode) => {
    if (await decide(tx, userCode)) return 'decided' as const
    return (await store.findByUserCode(tx, userCode))?.state
  })
  if (state !== 'decided') throw refuseDecision(state)
}

/**
 * One guess at a code. A person's guesses run one after the other under the person's row lock, so that the budget
 * of misses holds under any concurrency; the miss is committed although the request is refused.
 */
export async function guessCode<T>(
  deps: Deps,
  userId: string,
  typedCode: string,
  find: (tx: Tx, userCode: string) => Promise<T | undefined>,
): Promise<T> {
  const { max, windowSeconds } = deps.config.limits.codeMisses
  const found = await deps.database.transaction(async (tx) => {
    await lockUser(tx, userId)
    const { misses, freeInSeconds } = await store.countMisses(tx, userId, windowSeconds)
    if (misses >= max) throw tooManyRequests(deps, 'codeMisses', Math.max(1, Math.ceil(freeInSeconds)))
    const result = await find(tx, normalizeUserCode(typedCode))
    if (result === undefined) await store.insertMiss(tx, userId)
    return result
  })
  if (found === undefined) {
    deps.metrics.codeMisses.inc()
    throw new ApiError('NOT_FOUND', { message: 'No such code; check it and try again' })
  }
  return found
}
