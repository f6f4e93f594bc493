import { activityRoutes } from '@guildhall/contract'
import { ApiError } from '../http/api-error.ts'
import { bindRoutes } from '../http/bind-routes.ts'
import { decodeCursor, toPage } from '../http/page.ts'
import { isUuid } from '../platform/ids.ts'
import * as store from './store.ts'

const defaultPage = 50
const idPart = /^[1-9]\d{0,15}$/

export function activityHandlers() {
  return bindRoutes(activityRoutes, {
    listActivity: async ({ principal, query, deps }) => {
      const limit = query.limit ?? defaultPage
      if (query.actor !== undefined && !isUuid(query.actor)) return { items: [], nextCursor: null }
      const filter = {
        type: query.type,
        userId: query.actor,
        apiKeyId: query.apiKey,
        since: timeBound('since', query.since),
        until: timeBound('until', query.until),
      }
      const before = query.cursor ? Number(decodeCursor(query.cursor, [idPart])[0]) : undefined
      const page = { limit: limit + 1, before }
      const rows = await store.listActivity(deps.database.db, principal.workspaceId, filter, page)
      return toPage(rows, limit, describeEntry, (row) => [String(row.id)])
    },
  })
}

/** A day, or a moment with its zone. */
const timePattern = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/

function timeBound(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const time = timePattern.test(text) ? new Date(text) : new Date(Number.NaN)
  if (!Number.isNaN(time.getTime())) return time.toISOString()
  throw new ApiError('INVALID_INPUT', { message: `${name}: give a day (YYYY-MM-DD) or an ISO 8601 time` })
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
