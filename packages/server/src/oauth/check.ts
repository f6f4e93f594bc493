import { fullAccess } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import { CredentialCache } from '../operations/credential-cache.ts'
import type { Principal } from '../operations/principal.ts'
import { hashSecret } from '../platform/secrets.ts'
import * as store from './store.ts'

type Parts = Pick<Deps, 'config' | 'database' | 'redis'>

const accountScopes = ['read', 'write', 'admin']

/** Checks access tokens. They end with their grant (`oauth:12`) or with the app that it was given to. */
export class OAuthCheck extends CredentialCache {
  constructor(parts: Parts) {
    super(parts.redis, {
      secret: 'oauthAccess',
      channel: 'oauth:ended',
      hash: hashSecret,
      find: async (hash) => {
        const [row] = await parts.database.hot<store.AuthenticatedToken>(store.findByTokenStatement, [hash])
        if (!row) return undefined
        const names = [`oauth:${row.grantRow}`, row.clientId]
        return { principal: principalOf(parts, row), names, endsInMs: row.endsInMs }
      },
    })
  }

  /** Calls back with the credential that ended, or with nothing when an app did and all that it was granted with it. */
  onGrantEnded(heard: (credential: string | undefined) => void): () => void {
    return this.onEnded((ended) => heard(ended.startsWith('oauth:') ? ended : undefined))
  }
}

/** Stands in for all a key could hold; what is asked of a token by name it must have been granted. */
function principalOf({ config }: Parts, row: store.AuthenticatedToken): Principal {
  const granted = row.scope.split(' ')
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
