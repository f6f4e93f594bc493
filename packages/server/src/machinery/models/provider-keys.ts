import type { ModelProvider } from '@guildhall/contract'
import type { Db, Tx } from '#platform/database.ts'
import type { KeyRing } from '#platform/secrets.ts'
import { decrypt, encrypt } from './encryption.ts'
import { ModelError } from './failure.ts'
import * as store from './store.ts'

/** A person's own key, in the clear: for the process that calls the provider, never for a sandbox or a log. */
export interface ProviderKey {
  provider: ModelProvider
  /** The only address it is sent to. */
  baseUrl: string
  apiKey: string
}

const hintLength = 4

export async function saveProviderKey(tx: Tx, ring: KeyRing, userId: string, key: ProviderKey) {
  const { provider, baseUrl, apiKey } = key
  const { version, bytes } = encrypt(ring, apiKey, contextOf(userId, provider, baseUrl))
  return store.insertKey(tx, {
    user_id: userId,
    provider,
    base_url: baseUrl,
    hint: apiKey.slice(-hintLength),
    key_version: version,
    sealed: bytes,
  })
}

/** The key of a person in byokmode, if they stored one for this provider. */
export async function findProviderKey(
  db: Db,
  ring: KeyRing,
  userId: string,
  provider: ModelProvider,
): Promise<ProviderKey | undefined> {
  const row = await store.findUsableKey(db, userId, provider)
  if (!row) return undefined
  const sealed = { version: row.key_version, bytes: row.sealed }
  const apiKey = decrypt(ring, sealed, contextOf(userId, provider, row.base_url))
  // Going on without it would charge the person for what they meant to pay elsewhere.
  if (apiKey === undefined) {
    const message = 'Your stored provider key can no longer be read; store it again'
    throw new ModelError('key_refused', { message })
  }
  return { provider, baseUrl: row.base_url, apiKey }
}

/**
 * What a model is called with that is asked in another one's place; undefined when it may not be. Whoever brings their
 * own keys did not choose to send what they say to a provider that they gave no key for.
 */
export async function findFallbackKey(
  db: Db,
  ring: KeyRing,
  userId: string,
  { provider, baseUrl }: { provider: ModelProvider; baseUrl: string },
): Promise<{ key: ProviderKey | undefined } | undefined> {
  if (!(await store.findBringsKeys(db, userId))) return { key: undefined }
  const key = await findProviderKey(db, ring, userId, provider)
  return key?.baseUrl === baseUrl ? { key } : undefined
}

function contextOf(userId: string, provider: ModelProvider, baseUrl: string): string[] {
  return [userId, provider, baseUrl]
}
