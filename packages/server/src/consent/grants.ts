import { scopesThatCover } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import type { Grants } from '../http/grants.ts'
import type { Principal } from '../http/principal.ts'
import * as store from './store.ts'

/**
 * Permissions that end by themselves, asked at the scope check of every guarded route that the key's own scopes do
 * not cover. They are read from the database each time: what was granted a moment ago works at once, what was taken
 * away or spent is gone at once, on every process.
 */
export function createGrants({ database }: Pick<Deps, 'database'>): Grants {
  const findLive = async (principal: Principal, scopes: readonly string[]) =>
    principal.kind === 'key'
      ? database.hot<{ scope: string; mode: 'session' | 'one_time' }>(store.findGrantsStatement, [
          principal.credentialId,
          scopes.flatMap(scopesThatCover),
        ])
      : []
  return {
    findUncovered: async (principal, scopes) => {
      const live = new Set((await findLive(principal, scopes)).map((grant) => grant.scope))
      return scopes.filter((scope) => !scopesThatCover(scope).some((cover) => live.has(cover)))
    },

    spend: async (principal, scopes, request) => {
      const live = await findLive(principal, scopes)
      const inSession = new Set(live.flatMap(({ scope, mode }) => (mode === 'session' ? [scope] : [])))
      const toSpend = scopes.filter((scope) => !scopesThatCover(scope).some((cover) => inSession.has(cover)))
      if (toSpend.length === 0) return []
      const exact = { method: request.method, path: request.path, bodySha256: request.bodySha256() }
      const missing: string[] = []
      await database
        .transaction(async (tx) => {
          for (const scope of toSpend) {
            const spent = await store.claimOneTime(tx, principal.credentialId, scopesThatCover(scope), exact)
            if (!spent) missing.push(scope)
          }
          // All or nothing: a request that is refused for one scope must not cost the grant of another.
          if (missing.length > 0) throw new NotCovered()
        })
        .catch((error) => {
          if (!(error instanceof NotCovered)) throw error
        })
      return missing
    },
  }
}

class NotCovered extends Error {}
