import { fullAccess, keysPerUser } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import type { Db, Tx } from '../platform/database.ts'
import { ExpiringCache } from '../platform/expiring-cache.ts'
import { hmac, isWellFormedSecret, mintSecret, secretPrefixes } from '../platform/secrets.ts'
import type { Mode } from '../platform/tables.ts'
import { findUser, lockUser } from '../users/users.ts'
import * as store from './store.ts'

export { deleteEndedSecrets, deleteUnclaimedKeys, findLiveKeys } from './store.ts'

type Parts = Pick<Deps, 'config' | 'database' | 'redis' | 'logger'>

const believedForMs = 900
const hintLength = 6
const revokedChannel = 'credentials:ended'

/**
 * Checks keys. A key that was seen a moment ago costs no round trip; how long "a moment" is bounds how long a
 * revocation can go unnoticed, with Redis or without. The word over Redis only makes it sooner.
 */
export class KeyCheck {
  readonly #parts: Parts
  readonly #known = new ExpiringCache<Principal>(20_000)

  constructor(parts: Parts) {
    this.#parts = parts
    parts.redis.subscribe(revokedChannel, (credential) => this.#forget(credential))
  }

  async authenticate(secret: string, address: string): Promise<Principal | undefined> {
    if (!isWellFormedSecret('apiKey', secret)) return undefined
    const ring = this.#parts.config.keyPeppers
    const newest = hmac(ring, ring.current, secret)
    const cacheKey = newest.toString('latin1')
    const known = this.#known.get(cacheKey)
    if (known) return known
    const started = performance.now()
    const hashes = [...ring.keys.keys()].map((version) =>
      version === ring.current ? newest : hmac(ring, version, secret),
    )
    const [key] = await this.#parts.database.hot<store.AuthenticatedKey>(store.findBySecretStatement, [
      hashes,
    ])
    if (!key) return undefined
    this.#noteUse(key, secret, address)
    const principal: Principal = {
      kind: 'key',
      credentialId: key.id,
      credential: `key:${key.id}`,
      userId: key.userId,
      workspaceId: key.workspaceId,
      mode: key.mode,
      scopes: key.scopes,
      activated: key.activated,
    }
    this.#known.set(cacheKey, principal, started, Math.min(believedForMs, key.endsInMs ?? believedForMs))
    return principal
  }

  /** A key that changed or ended is read again by every process, at once where the word gets through. */
  async announceChange(keyId: number): Promise<void> {
    this.#forget(`key:${keyId}`)
    await this.#parts.redis.publish(revokedChannel, `key:${keyId}`)
  }

  #forget(credential: string): void {
    this.#known.deleteWhere((principal) => principal.credential === credential)
  }

  /** Beside the request: when it was used, and the newest pepper for a secret that has an older one. */
  #noteUse(key: store.AuthenticatedKey, secret: string, address: string): void {
    const { config, database, logger } = this.#parts
    const ring = config.keyPeppers
    const notes: Promise<void>[] = []
    if (key.touchDue) notes.push(store.touchKey(database.db, key.id, address))
    if (key.pepperVersion !== ring.current) {
      const renewed = { secret_hash: hmac(ring, ring.current, secret), pepper_version: ring.current }
      notes.push(store.updateSecretHash(database.db, hmac(ring, key.pepperVersion, secret), renewed))
    }
    for (const note of notes)
      note.catch((error) => logger.warn({ err: error, keyId: key.id }, 'use of a key not noted'))
  }
}

export interface NewKey {
  workspaceId: string
  userId: string
  label: string
  access: 'full' | 'declared'
  createdVia: 'pairing' | 'manual'
  scopes?: readonly string[]
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
  await store.insertSecret(tx, {
    key_id: keyId,
    secret_hash: hmac(ring, ring.current, secret),
    pepper_version: ring.current,
    hint: secret.slice(secretPrefixes.apiKey.length, secretPrefixes.apiKey.length + hintLength),
  })
  return secret
}

/** Calls back with the name of each credential that ended or changed, in whichever process that was. */
export function onCredentialEnded(redis: Deps['redis'], heard: (credential: string) => void): () => void {
  return redis.subscribe(revokedChannel, heard)
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
  options: { activate: boolean },
): Promise<void> {
  await store.updateScopes(tx, keyId, scopes, options.activate)
}

/** What an agent is told about the key it holds. */
export async function describeOwnKey(db: Db, userId: string, keyId: number) {
  const row = await store.findKey(db, userId, keyId)
  if (!row) throw new ApiError('UNAUTHORIZED', { message: 'Invalid API key' })
  return {
    key: { id: row.id, label: row.label, prefix: secretPrefixes.apiKey + (row.hint ?? '') },
    workspace: { id: row.workspace_id, name: row.workspace_name },
    activated: row.activated_at !== null,
    scopes: row.scopes,
    spendLimitMilliDs: row.spend_limit_milli_ds,
    spentMilliDs: row.spent_milli_ds,
  }
}
