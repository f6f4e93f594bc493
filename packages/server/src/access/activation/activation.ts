import { activationLifetimeSeconds } from '@guildhall/contract'
import { giveSecret, lockPairedKey, requireKnownScopes } from '#access/keys/keys.ts'
import type { Client } from '#operations/bind.ts'
import { tooManyRequests } from '#operations/limits.ts'
import type { Bus } from '#platform/bus.ts'
import { noteChange } from '#platform/changes.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { longPoll } from '#platform/long-poll.ts'
import { networkOf } from '#platform/network.ts'
import { hashSecret, mintSecret } from '#platform/secrets.ts'
import type { Mode } from '#platform/tables.ts'
import { mintUserCode } from '#platform/user-code.ts'
import { clientFacts } from './client-facts.ts'
import { guessCode } from './guess.ts'
import { type ActivationState, pairingChannel } from './lifecycle.ts'
import { drawNumbers } from './number-match.ts'
import * as store from './store.ts'

export type { Pairing } from './decide.ts'
export { type DecidedRow, describeDecider, noteDecider } from './decider.ts'
export { describeScopes } from './describe.ts'
export { guessCode } from './guess.ts'

export async function startActivation(
  deps: Deps,
  client: Client,
  requestedScopes: readonly string[],
  wantsMatch: boolean,
) {
  const scopes = [...new Set(requestedScopes)].sort()
  requireKnownScopes(scopes)
  const facts = clientFacts(client)
  const network = networkOf(client.address)
  const { max, windowSeconds } = deps.config.limits.pendingCodes
  if ((await store.countPending(deps.database.db, network, Math.min(max, 100_000))) >= max) {
    throw tooManyRequests(deps, 'pendingCodes', windowSeconds)
  }
  const deviceCode = mintSecret('device')
  const numbers = wantsMatch ? drawNumbers() : undefined
  for (;;) {
    const userCode = mintUserCode()
    const row = {
      device_code_hash: hashSecret(deviceCode),
      user_code: userCode,
      client_label: facts.label,
      client_ua: facts.userAgent,
      client_ip: facts.address,
      client_network: network,
      requested_scopes: scopes,
      match_number: numbers?.match ?? null,
      match_choices: numbers?.choices ?? null,
    }
    if (await store.insertActivation(deps.database.db, row, activationLifetimeSeconds))
      return { deviceCode, userCode, match: numbers?.match }
  }
}

interface Collected {
  api_key: string
  tier: Mode
  workspace: { id: string; name: string | null }
  activated: boolean
}

type Polled = { status: ActivationState } & Partial<Collected>

/**
 * What a poll answers. `approved` is said only by the poll that wins the claim; one that read "approved" and lost
 * reads again, and then finds what became of it.
 */
export async function pollActivation(
  deps: Deps,
  bus: Bus,
  deviceCode: string,
  waiting: { readonly wait: number | undefined; readonly signal: AbortSignal },
): Promise<Polled> {
  const hash = hashSecret(deviceCode)
  const { database, stopping } = deps
  return longPoll<Polled>({ bus, stopping }, pairingChannel(hash), waiting, async () => {
    for (;;) {
      const [row] = await database.hot<{ state: ActivationState }>(store.findStateStatement, [hash])
      const status = row?.state ?? 'expired'
      if (status !== 'approved') return { found: { status }, isOver: status !== 'pending' }
      // The key is handed over once: never to somebody who has gone while they waited.
      waiting.signal.throwIfAborted()
      const collected = await database.transaction((tx) => collectKey(tx, deps, hash))
      if (collected) return { found: { status, ...collected }, isOver: true }
    }
  })
}

/** The secret is made here, inside the claim, so an unclaimed approval has no secret that could leak. */
async function collectKey(tx: Tx, deps: Deps, deviceCodeHash: Buffer): Promise<Collected | undefined> {
  const claimed = await store.claimConsumption(tx, deviceCodeHash)
  if (!claimed) return undefined
  const key = claimed.key_id === null ? undefined : await lockPairedKey(tx, claimed.key_id)
  // Revoked before it was collected: the code is used up and there is nothing to hand over.
  if (!key) return undefined
  noteChange(tx, { kinds: ['keys'], userId: key.userId })
  return {
    api_key: await giveSecret(tx, deps.config, key.id),
    tier: key.mode,
    workspace: { id: key.workspaceId, name: key.workspaceName },
    activated: key.activated,
  }
}

/** A code that somebody else has decided looks like one that never was. */
export async function lookUpActivation(deps: Deps, userId: string, typedCode: string) {
  return guessCode(deps, userId, typedCode, async (tx, userCode) => {
    const found = await store.findByUserCode(tx, userCode)
    if (!found || (found.decided_by !== null && found.decided_by !== userId)) return undefined
    // From now on it is in this person's inbox.
    const isNew = found.state === 'pending' && found.seen_by !== userId
    if (isNew) await store.updateViewer(tx, found.id, userId)
    return { ...found, isNew }
  })
}
