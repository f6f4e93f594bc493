import { billingRoutes, toDs } from '@guildhall/contract'
import { bindRoutes } from '#operations/bind.ts'
import type { Feature } from '#operations/feature.ts'
import { decodeCursor, rowIdPart, toPage } from '#operations/page.ts'
import type { Principal } from '#operations/principal.ts'
import { describeAccount, emptyAccount } from './billing.ts'
import * as store from './store.ts'

const defaultPage = 50

export function billingFeature(): Feature {
  const routes = bindRoutes(billingRoutes, {
    getBilling: async ({ principal, deps }) => {
      const { db } = deps.database
      const account = (await store.findAccount(db, principal.userId)) ?? emptyAccount
      const key = principal.apiKeyId === null ? undefined : await store.findKeyBudget(db, principal.apiKeyId)
      return {
        mode: principal.mode,
        unit: 'Ds' as const,
        ...describeAccount(account),
        reserved: toDs(account.reservedMilliDs),
        spend: {
          total: toDs(account.spentMilliDs),
          key: key
            ? {
                total: toDs(key.spentMilliDs),
                reserved: toDs(key.reservedMilliDs),
                limit: toDs(key.limitMilliDs),
              }
            : null,
        },
        limits: { maxCost: toDs(deps.config.defaultMaxCostMilliDs) },
      }
    },

    listLedger: async ({ principal, query, deps }) => {
      const limit = query.limit ?? defaultPage
      const before = query.cursor ? Number(decodeCursor(query.cursor, [rowIdPart])[0]) : undefined
      const page = { limit: limit + 1, before }
      const rows = await store.listEntries(deps.database.db, principal.userId, page)
      return toPage(
        rows,
        limit,
        (row) => describeEntry(row, principal),
        (row) => [String(row.id)],
      )
    },
  })
  return { routes }
}

/**
 * The account is the person's, over all workspaces. A key or an app is at home in one of them, and is not told what
 * ran in the others.
 */
function describeEntry(row: Awaited<ReturnType<typeof store.listEntries>>[number], principal: Principal) {
  const isTold = principal.kind === 'session' || row.workspace_id === principal.workspaceId
  return {
    id: String(row.id),
    kind: row.kind,
    from: row.source,
    to: row.target,
    amount: toDs(row.amount_milli_ds),
    at: row.at,
    workspaceId: isTold ? row.workspace_id : null,
    executionId: isTold ? row.execution_id : null,
    apiKeyId: isTold ? row.key_id : null,
    note: row.note,
  }
}
