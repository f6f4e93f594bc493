import { fullAccess, keysPerUser } from '@guildhall/contract'
import { findUser, lockUser } from '#accounts/users/users.ts'
import { holdMembership } from '#accounts/workspaces/workspaces.ts'
import { CredentialCache } from '#operations/credential-cache.ts'
import { ApiError } from '#operations/errors.ts'
import { Noted } from '#operations/noted.ts'
import type { Principal } from '#operations/principal.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { networkOf } from '#platform/network.ts'
import { hmac, mintSecret, secretPrefixes } from '#platform/secrets.ts'
import type { Mode } from '#platform/tables.ts'
import { noteKeyUse } from './address-store.ts'
import * as secretStore from './secret-store.ts'
import * as store from './store.ts'

export { findTouchable, listAddresses } from './address-store.ts'
export { claimRemoval as endKeysOfMember } from './end-store.ts'
export { requireKnownScopes } from './known-scopes.ts'
export { readKey } from './read.ts'
export { findLiveKeys } from './secret-store.ts'
export {
  lockPairedKey,
  lockSpendLimit,
  updateSpendLimit as raiseSpendLimit,
} from './store.ts'

type Parts = Pick<Deps, 'config' | 'database' | 'redis' | 'logger'>

const hintLength = 6

interface FindingParts extends Parts {
  /** Which keys were seen from where of late, and written down. */
  readonly noted: Noted
}

export class KeyCheck extends CredentialCache {
  readonly #parts: Parts

  constructor(parts: Parts) {
    const ring = parts.config.keyPeppers
    const noted = new Noted()
    super(parts.redis, {
      secret: 'apiKey',
      channel: 'credentials:ended',
      hash: (secret) => hmac(ring, ring.current, secret),
      find: (hash, secret, address) => findPrincipal({ ...parts, noted }, hash, secret, address),
    })
    this.#parts = parts
  }

  /** The key as it is at this moment, for what acts for it without its secret; undefined once it has ended. */
  async load(keyId: number): Promise<Principal | undefined> {
    const [key] = await this.#parts.database.hot<secretStore.LoadedKey>(secretStore.findByIdStatement, [
      keyId,
    ])
    return key && principalOf(key)
  }

  announceChange(keyId: number): Promise<void> {
    return this.announceEnd(nameOf(keyId))
  }
}

function nameOf(keyId: number): string {
  return `key:${keyId}`
}

async function findPrincipal(parts: FindingParts, newest: Buffer, secret: string, address: string) {
  const ring = parts.config.keyPeppers
  const hashes = [...ring.keys.keys()].map((version) =>
    version === ring.current ? newest : hmac(ring, version, secret),
  )
  const [key] = await parts.database.hot<secretStore.AuthenticatedKey>(secretStore.findBySecretStatement, [
    hashes,
  ])
  if (!key) return undefined
  noteUse(parts, key, secret, address)
  return { principal: principalOf(key), names: [nameOf(key.id)], endsInMs: key.endsInMs }
}

function principalOf(key: secretStore.LoadedKey): Principal {
  return {
    kind: 'key',
    credentialId: key.id,
    credential: nameOf(key.id),
    userId: key.userId,
    workspaceId: key.workspaceId,
    apiKeyId: key.id,
    oauthGrantId: null,
    mode: key.mode,
    scopes: key.scopes,
    approvals: key.approvals,
    activated: key.activated,
  }
}

/** Beside the request: when and from where it was used, and the newest pepper for a secret that has an older one. */
function noteUse(
  { config, database, logger, noted }: FindingParts,
  key: secretStore.AuthenticatedKey,
  secret: string,
  address: string,
): void {
  const ring = config.keyPeppers
  const notes: Promise<void>[] = []
  const network = networkOf(address)
  if (noted.isDue(`${key.id} ${network}`, key.touchDue))
    notes.push(noteKeyUse(database.db, key.id, address, network))
  if (key.pepperVersion !== ring.current) {
    const renewed = { secret_hash: hmac(ring, ring.current, secret), pepper_version: ring.current }
    notes.push(secretStore.updateSecretHash(database.db, hmac(ring, key.pepperVersion, secret), renewed))
  }
  for (const note of notes)
    note.catch((error) => logger.warn({ err: error, keyId: key.id }, 'use of a key not noted'))
}

export interface NewKey {
  workspaceId: string
  userId: string
  label: string
  access: 'full' | 'declared'
  createdVia: 'pairing' | 'manual'
  scopes?: readonly string[]
  /** With which its maker confirmed it. */
  passkey?: string | undefined
  client?: { label: string; userAgent: string; address: string }
  expiresAt?: string | null
  spendLimitMilliDs?: number | null
  /** Gone at this moment unless `giveSecret` was called before. */
  claimBefore?: string
}

/**
 * Makes the row of a key, without a secret. Counting and inserting happen under the person's row lock, so that
 * parallel creations cannot pass the limit together.
 */
export async function createKey(tx: Tx, key: NewKey): Promise<number> {
  await lockUser(tx, key.userId)
  await holdMembership(tx, key.workspaceId, key.userId)
  const mode = await modeOf(tx, key.userId)
  const limit = keysPerUser[mode]
  if (limit !== null && (await store.countKeys(tx, key.userId)) >= limit) {
    throw new ApiError('FORBIDDEN', {
      message: `Accounts in ${mode} can hold ${limit} ${limit === 1 ? 'key' : 'keys'}; revoke one first`,
      details: { reason: 'KEY_LIMIT', limit, mode },
    })
  }
  const scopes = key.access === 'full' ? [fullAccess] : [...new Set(key.scopes ?? [])]
  return store.insertKey(tx, {
    workspace_id: key.workspaceId,
    user_id: key.userId,
    label: key.label,
    scopes,
    approved: { scopes, userId: key.userId, passkey: key.passkey },
    activated: scopes.length > 0,
    created_via: key.createdVia,
    client_label: key.client?.label ?? null,
    client_ua: key.client?.userAgent ?? null,
    client_ip: key.client?.address ?? null,
    expires_at: key.expiresAt ?? null,
    spend_limit_milli_ds: key.spendLimitMilliDs ?? null,
    claim_before: key.claimBefore ?? null,
  })
}

async function modeOf(tx: Tx, userId: string): Promise<Mode> {
  const user = await findUser(tx, userId)
  if (!user) throw new ApiError('UNAUTHORIZED', { message: 'Invalid auth token' })
  return user.mode
}

/** The only moment at which a key's secret exists in the clear on our side is between here and the answer. */
export async function giveSecret(tx: Tx, config: Deps['config'], keyId: number): Promise<string> {
  const secret = mintSecret('apiKey')
  const ring = config.keyPeppers
  await secretStore.insertSecret(tx, {
    key_id: keyId,
    secret_hash: hmac(ring, ring.current, secret),
    pepper_version: ring.current,
    hint: secret.slice(secretPrefixes.apiKey.length, secretPrefixes.apiKey.length + hintLength),
  })
  return secret
}

/** The scopes of a key as they are now, held still until the transaction ends. */
export async function lockKeyScopes(tx: Tx, keyId: number, userId?: string) {
  const own = await store.lockScopes(tx, keyId, userId)
  if (!own) throw new ApiError('NOT_FOUND')
  return own
}

/** The first set of scopes that a person approves activates the key. */
export async function setKeyScopes(
  tx: Tx,
  keyId: number,
  scopes: string[],
  options: { activate: boolean; approved?: store.Approved },
): Promise<void> {
  await store.updateScopes(tx, keyId, scopes, options)
}

/** As much of its secret as people are shown, whether or not the key still works. */
export async function findKeyPrefix(db: Db, keyId: number): Promise<string | undefined> {
  const row = await store.findHint(db, keyId)
  return row && secretPrefixes.apiKey + (row.hint ?? '')
}

/** What an agent is told about the key it holds. */
export async function describeOwnKey(db: Db, userId: string, keyId: number) {
  const row = await store.findKey(db, userId, keyId)
  if (!row) throw new ApiError('UNAUTHORIZED', { message: 'Invalid API key' })
  return {
    key: {
      id: row.id,
      label: row.label,
      prefix: secretPrefixes.apiKey + (row.hint ?? ''),
      expiresAt: row.expires_at,
    },
    workspace: { id: row.workspace_id, name: row.workspace_name },
    activated: row.activated_at !== null,
    scopes: row.scopes,
    spendLimitMilliDs: row.spend_limit_milli_ds,
    spentMilliDs: row.spent_milli_ds,
  }
}
