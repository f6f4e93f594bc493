import { coversScope, scopesThatCover } from '@guildhall/contract'
import { approvalUrl, findAskedFor } from '#access/approvals/approvals.ts'
import type { Grants, UsedGrant } from '#operations/grants.ts'
import type { Deps } from '#platform/deps.ts'
import * as store from './store.ts'

/**
 * Permissions that end by themselves, asked at the scope check of every guarded route that the key's own scopes do
 * not cover. They are read from the database each time: what was granted a moment ago works at once, what was taken
 * away or spent is gone at once, on every process.
 */
export function createGrants({ config, database }: Pick<Deps, 'config' | 'database'>): Grants {
  return {
    find: async ({ apiKeyId }, scopes, { method, path }) => {
      if (apiKeyId === null) return { uncovered: [...scopes], once: [], lasting: [] }
      const found = await database.hot<store.FoundGrant>(store.findGrantsStatement, [apiKeyId, method, path])
      const uncovered: string[] = []
      const once: string[] = []
      const lasting: UsedGrant[] = []
      for (const scope of scopes) {
        const covering = found.filter((grant) => coversScope(grant.scope, scope))
        const lasts = covering.find(({ mode }) => mode === 'session')
        if (lasts) lasting.push(describeUsed(lasts))
        else (covering.length === 0 ? uncovered : once).push(scope)
      }
      return { uncovered, once, lasting }
    },

    findAsked: async ({ apiKeyId }, scopes, tx = database.db) => {
      const asked = apiKeyId === null ? undefined : await findAskedFor(tx, apiKeyId, scopes)
      return asked && approvalUrl(config, asked.id)
    },

    spend: async (tx, { credentialId }, scopes, { method, path, bodySha256, repeatKey }) => {
      const exact = { method, path, bodySha256: bodySha256() ?? null, repeatKey: repeatKey ?? null }
      const uncovered: string[] = []
      const spent: UsedGrant[] = []
      for (const scope of scopes) {
        const grant = await store.claimOneTime(tx, credentialId, scopesThatCover(scope), exact)
        if (grant) spent.push(describeUsed(grant))
        else uncovered.push(scope)
      }
      return { uncovered, spent }
    },

    wasSpentFor: async ({ apiKeyId }, repeatKey) =>
      apiKeyId !== null && store.isSpentFor(database.db, apiKeyId, repeatKey),
  }
}

function describeUsed(row: store.FoundGrant): UsedGrant {
  const { id, scope, mode, request_id, approved_by, created_at, passkey } = row
  const approval = {
    ...(request_id !== null && { requestId: request_id }),
    ...(approved_by !== null && { approvedBy: approved_by }),
    approvedAt: created_at,
    ...(passkey !== null && { passkey }),
  }
  return { id: Number(id), scope, mode, approval }
}
