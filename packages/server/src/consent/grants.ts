import { coversScope, scopesThatCover } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import type { Grants, UsedGrant } from '../operations/grants.ts'
import * as store from './store.ts'

/**
 * Permissions that end by themselves, asked at the scope check of every guarded route that the key's own scopes do
 * not cover. They are read from the database each time: what was granted a moment ago works at once, what was taken
 * away or spent is gone at once, on every process.
 */
export function createGrants({ database }: Pick<Deps, 'database'>): Grants {
  return {
    find: async ({ apiKeyId }, scopes, { method, path, repeatKey }) => {
      if (apiKeyId === null) return { uncovered: [...scopes], once: [], lasting: [] }
      const found = await database.hot<UsedGrant>(store.findGrantsStatement, [
        apiKeyId,
        method,
        path,
        repeatKey ?? null,
      ])
      const uncovered: string[] = []
      const once: string[] = []
      const lasting: UsedGrant[] = []
      for (const scope of scopes) {
        const covering = found.filter((grant) => coversScope(grant.scope, scope))
        const lasts = covering.find(({ mode }) => mode === 'session')
        if (lasts) lasting.push({ id: Number(lasts.id), scope: lasts.scope, mode: lasts.mode })
        else (covering.length === 0 ? uncovered : once).push(scope)
      }
      return { uncovered, once, lasting }
    },

    spend: async (tx, { credentialId }, scopes, { method, path, bodySha256, repeatKey }) => {
      const exact = { method, path, bodySha256: bodySha256(), repeatKey: repeatKey ?? null }
      const uncovered: string[] = []
      const spent: UsedGrant[] = []
      for (const scope of scopes) {
        const grant = await store.claimOneTime(tx, credentialId, scopesThatCover(scope), exact)
        if (grant) spent.push({ id: Number(grant.id), scope: grant.scope, mode: 'one_time' })
        else uncovered.push(scope)
      }
      return { uncovered, spent }
    },
  }
}
