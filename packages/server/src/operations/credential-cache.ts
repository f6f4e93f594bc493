import { ExpiringCache } from '#platform/expiring-cache.ts'
import type { RedisLink } from '#platform/redis.ts'
import { isWellFormedSecret, type SecretKind } from '#platform/secrets.ts'
import { lookedUpForMs } from './believed.ts'
import type { Principal } from './principal.ts'

export interface FoundCredential {
  readonly principal: Principal
  /** What it ends with, as the word over Redis has it: itself, or the app that it was given to. */
  readonly names: readonly string[]
  /** Until it ends by itself; null or left out when that is far. */
  readonly endsInMs?: number | null
}

/** What one kind of credential differs in from the others. */
export interface CredentialSource {
  readonly secret: SecretKind
  /** Where processes tell each other which ones ended or changed. */
  readonly channel: string
  hash(secret: string): Buffer
  /** Asks the database; undefined when it is not good. */
  find(hash: Buffer, secret: string, address: string): Promise<FoundCredential | undefined>
}

const mostKnown = 20_000

/**
 * Checks credentials of one kind. One that was seen a moment ago costs no round trip; how long "a moment" is bounds how
 * long an end can go unnoticed, with Redis or without. The word over Redis only makes it sooner.
 */
export class CredentialCache {
  readonly #redis: RedisLink
  readonly #source: CredentialSource
  readonly #known = new ExpiringCache<FoundCredential>(mostKnown)

  constructor(redis: RedisLink, source: CredentialSource) {
    this.#redis = redis
    this.#source = source
    this.onEnded((name) => this.#forget(name))
  }

  /** `anew`: whatever is believed. */
  async authenticate(secret: string, address = '', anew = false): Promise<Principal | undefined> {
    const source = this.#source
    if (!isWellFormedSecret(source.secret, secret)) return undefined
    const hash = source.hash(secret)
    // Whoever comes from elsewhere is looked up, so that one who uses a stolen secret beside its owner is noticed.
    const cacheKey = hash.toString('latin1') + address
    const known = this.#known.get(cacheKey)
    if (known && !anew) return known.principal
    const started = performance.now()
    const found = await source.find(hash, secret, address)
    if (!found) return undefined
    this.#known.set(cacheKey, found, started, Math.min(lookedUpForMs, found.endsInMs ?? lookedUpForMs))
    return found.principal
  }

  /** What changed or ended is read again by every process, at once where the word gets through. */
  async announceEnd(name: string): Promise<void> {
    this.#forget(name)
    await this.#redis.publish(this.#source.channel, name)
  }

  /** Calls back with the name of whatever changed or ended, in whichever process that was. */
  onEnded(heard: (name: string) => void): () => void {
    return this.#redis.subscribe(this.#source.channel, heard)
  }

  #forget(name: string): void {
    this.#known.deleteWhere(({ names }) => names.includes(name))
  }
}
