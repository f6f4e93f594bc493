import { activityRoutes, activityTypes, fullAccess } from '@guildhall/contract'
import { bindRoutes } from '#operations/bind.ts'
import type { Feature } from '#operations/feature.ts'
import { decodeCursor, rowIdPart, timeBound, toPage } from '#operations/page.ts'
import type { Principal } from '#operations/principal.ts'
import { isUuid } from '#platform/ids.ts'
import * as store from './store.ts'

const defaultPage = 50
const nothing = { items: [], nextCursor: null }

export function activityFeature(): Feature {
  const routes = bindRoutes(activityRoutes, {
    listActivity: async ({ principal, query, deps }) => {
      const limit = query.limit ?? defaultPage
      const only = onlyOf(principal)
      const type = activityTypes.find((known) => known === query.type)
      const isUnknown = query.type !== undefined && type === undefined
      if (isUnknown || (query.actor !== undefined && !isUuid(query.actor))) return nothing
      if (only !== undefined && (query.apiKey ?? only) !== only) return nothing
      const filter = {
        type,
        userId: query.actor,
        apiKeyId: only ?? query.apiKey,
        since: timeBound('since', query.since),
        until: timeBound('until', query.until),
      }
      const before = query.cursor ? Number(decodeCursor(query.cursor, [rowIdPart])[0]) : undefined
      const page = { limit: limit + 1, before }
      const rows = await store.listActivity(deps.database.db, principal.workspaceId, filter, page)
      return toPage(rows, limit, describeEntry, (row) => [String(row.id)])
    },
  })
  return { routes }
}

/**
 * The log tells of money, members, artifacts and other keys, each of which has a scope of its own or none that a key can
 * have. So a key that may not do everything sees what it did itself.
 */
function onlyOf({ kind, scopes, credentialId }: Principal): number | undefined {
  return kind === 'key' && !scopes.includes(fullAccess) ? credentialId : undefined
}

function describeEntry(row: Awaited<ReturnType<typeof store.listActivity>>[number]) {
  return {
    id: String(row.id),
    type: row.type,
    at: row.at,
    actor: { kind: row.actor_kind, userId: row.user_id, apiKeyId: row.api_key_id },
    workspace: row.workspace_id === null ? null : { id: row.workspace_id, name: row.workspace_name },
    details: row.details,
  }
}
