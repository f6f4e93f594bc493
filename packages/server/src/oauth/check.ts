import { fullAccess } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import type { Principal } from '../operations/principal.ts'
import { ExpiringCache } from '../platform/expiring-cache.ts'
import { hashSecret, isWellFormedSecret } from '../platform/secrets.ts'
import * as store from './store.ts'

type Parts = Pick<Deps, 'config' | 'database' | 'redis'>

interface Known {
  readonly principal: Principal
  readonly clientId: string
}

const believedForMs = 900
const endedChannel = 'oauth:ended'
const accountScopes = ['read', 'write', 'admin']

/** Checks access tokens, with the same short memory as keys and for the same reason. */
export class OAuthCheck {
  readonly #parts: Parts
  readonly #known = new ExpiringCache<Known>(20_000)

  constructor(parts: Parts) {
    this.#parts = parts
    parts.redis.subscribe(endedChannel, (ended) => this.#forget(ended))
  }

  async authenticate(token: string): Promise<Principal | undefined> {
    if (!isWellFormedSecret('oauthAccess', token)) return undefined
    const hash = hashSecret(token)
    const cacheKey = hash.toString('latin1')
    const known = this.#known.get(cacheKey)
    if (known) return known.principal
    const started = performance.now()
    const { database } = this.#parts
    const [row] = await database.hot<store.AuthenticatedToken>(store.findByTokenStatement, [hash])
    if (!row) return undefined
    const principal = this.#principalOf(row)
    const found = { principal, clientId: row.clientId }
    this.#known.set(cacheKey, found, started, Math.min(believedForMs, row.endsInMs))
    return principal
  }

  /** A grant (`oauth:12`) or a client that ended is believed by no process any longer. */
  async announceEnd(ended: string): Promise<void> {
    this.#forget(ended)
    await this.#parts.redis.publish(endedChannel, ended)
  }

  #forget(ended: string): void {
    this.#known.deleteWhere(
      ({ principal, clientId }) => ended === `oauth:${principal.credentialId}` || ended === clientId,
    )
  }

  /** Stands in for all a key could hold; what is asked of a token by name it must have been granted. */
  #principalOf(row: store.AuthenticatedToken): Principal {
    const granted = row.scope.split(' ')
    const free = this.#parts.config.oauthStrict ? [] : accountScopes
    return {
      kind: 'oauth',
      credentialId: row.grantRow,
      credential: `oauth:${row.clientId}:${row.userId}`,
      userId: row.userId,
      workspaceId: row.workspaceId,
      mode: row.mode,
      scopes: [...new Set([fullAccess, ...free, ...granted])],
      activated: true,
    }
  }
}

/** Calls back with the credential that ended, or with nothing when an app did and all that it was granted with it. */
export function onGrantEnded(
  redis: Deps['redis'],
  heard: (credential: string | undefined) => void,
): () => void {
  return redis.subscribe(endedChannel, (ended) => heard(ended.startsWith('oauth:') ? ended : undefined))
}
