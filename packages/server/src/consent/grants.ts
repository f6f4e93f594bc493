import { coversScope, scopesThatCover } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import type { Grants } from '../operations/grants.ts'
import * as store from './store.ts'

/**
 * Permissions that end by themselves, asked at the scope check of every guarded route that the key's own scopes do
 * not cover. They are read from the database each time: what was granted a moment ago works at once, what was taken
 * away or spent is gone at once, on every process.
 */
export function createGrants({ database }: Pick<Deps, 'database'>): Grants {
  return {
    find: async ({ apiKeyId }, scopes, { method, path, repeatKey }) => {
      if (apiKeyId === null) return { uncovered: [...scopes], once: [] }
      const found = await database.hot<{ scope: string; mode: 'session' | 'one_time' }>(
        store.findGrantsStatement,
        [apiKeyId, method, path, repeatKey ?? null],
      )
      const covering = (scope: string) => found.filter((grant) => coversScope(grant.scope, scope))
      return {
        uncovered: scopes.filter((scope) => covering(scope).length === 0),
        once: scopes.filter((scope) => covering(scope).every(({ mode }) => mode === 'one_time')),
      }
    },

    spend: async (tx, { credentialId }, scopes, { method, path, bodySha256, repeatKey }) => {
      const exact = { method, path, bodySha256: bodySha256(), repeatKey: repeatKey ?? null }
      const uncovered: string[] = []
      for (const scope of scopes) {
        const spent = await store.claimOneTime(tx, credentialId, scopesThatCover(scope), exact)
        if (!spent) uncovered.push(scope)
      }
      return uncovered
    },
  }
}
