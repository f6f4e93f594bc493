import { fullAccess } from '@guildhall/contract'
import { CredentialCache } from '#operations/credential-cache.ts'
import type { Principal } from '#operations/principal.ts'
import type { Deps } from '#platform/deps.ts'
import { hashSecret } from '#platform/secrets.ts'
import * as grantStore from './grant-store.ts'
import { audienceAt } from './resources.ts'
import * as store from './store.ts'

type Parts = Pick<Deps, 'config' | 'database' | 'redis' | 'logger'>

const accountScopes = ['read', 'write', 'admin']

/** Checks access tokens. They end with their grant (`oauth:12`) or with the app that it was given to. */
export class OAuthCheck extends CredentialCache {
  readonly #parts: Parts

  constructor(parts: Parts) {
    super(parts.redis, {
      secret: 'oauthAccess',
      channel: 'oauth:ended',
      hash: hashSecret,
      find: async (hash) => {
        const [row] = await parts.database.hot<store.AuthenticatedToken>(store.findByTokenStatement, [hash])
        // A token that names nothing is older than audiences, when all were for the service.
        const audience = row && audienceAt(parts.config.publicUrl, row.audience ?? parts.config.publicUrl)
        if (!audience) return undefined
        if (row.touchDue) noteUse(parts, row.grantRow)
        const names = [`oauth:${row.grantRow}`, row.clientId]
        const principal = { ...principalOf(parts, row, row.scope), audience }
        return { principal, names, endsInMs: row.endsInMs }
      },
    })
    this.#parts = parts
  }

  /**
   * The grant as it is at this moment, for what acts for the app without its token: with no more than every good token of
   * it could do, since one of them asked. Undefined once it has ended or no token is good any more.
   */
  async load(grantRow: number): Promise<Principal | undefined> {
    const [row] = await this.#parts.database.hot<store.LoadedGrant>(store.findByGrantStatement, [grantRow])
    if (!row) return undefined
    const [first = [], ...others] = row.scopes.map((scope) => scope.split(' '))
    const common = first.filter((scope) => others.every((other) => other.includes(scope)))
    return principalOf(this.#parts, row, common.join(' '))
  }

  /** Calls back with the credential that ended, or with nothing when an app did and all that it was granted with it. */
  onGrantEnded(heard: (credential: string | undefined) => void): () => void {
    return this.onEnded((ended) => heard(ended.startsWith('oauth:') ? ended : undefined))
  }
}

/** Nobody waits for it, and nobody is refused for want of it. */
function noteUse({ database, logger }: Parts, grantRow: number): void {
  grantStore
    .touchGrant(database.db, grantRow)
    .catch((error) => logger.warn({ err: error, grantRow }, 'use of a grant not noted'))
}

/** Stands in for all a key could hold; what is asked of a token by name it must have been granted. */
function principalOf({ config }: Parts, row: Omit<store.LoadedGrant, 'scopes'>, scope: string): Principal {
  const granted = scope.split(' ')
  const free = config.oauthStrict ? [] : accountScopes
  return {
    kind: 'oauth',
    credentialId: row.grantRow,
    credential: `oauth:${row.clientId}:${row.userId}`,
    userId: row.userId,
    workspaceId: row.workspaceId,
    apiKeyId: null,
    oauthGrantId: row.grantRow,
    mode: row.mode,
    scopes: [...new Set([fullAccess, ...free, ...granted])],
    activated: true,
  }
}
