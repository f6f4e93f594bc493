import { succeeded, traceRoutes } from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { agentSlugOf, bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import { decodeCursor, rowIdPart, timeBound, timePart, toPage } from '#operations/page.ts'
import { appendTurns, requireRoom } from './append.ts'
import { describeTrace, howToContinue } from './describe.ts'
import { eraseTurn } from './erase.ts'
import { exportHandlers } from './export-routes.ts'
import { handoverHandlers } from './handover-routes.ts'
import { deleteEndedHandovers } from './handover-store.ts'
import { requireKind, requireTrace, seesConversations } from './rights.ts'
import * as store from './store.ts'
import { tailTurns, traceChannel } from './tail.ts'
import type { TraceParts } from './traces.ts'

const defaultPage = 50
const defaultTurns = 100

export function traceFeature(parts: TraceParts): Feature {
  const { db } = parts.database
  const routes = bindRoutes(traceRoutes, {
    listTraces: async (call) => {
      const { principal, query } = call
      const limit = query.limit ?? defaultPage
      const { status, agent, apiKey: apiKeyId } = query
      const since = timeBound('since', query.since)
      const until = timeBound('until', query.until)
      const after = query.cursor === undefined ? undefined : placeOf(query.cursor)
      const asOf = await store.findSettledMoment(db)
      const isAll = await seesConversations(call)
      if (!isAll && query.kind === 'chat') return { items: [], nextCursor: null, asOf }
      const kind = isAll ? query.kind : 'execution'
      const filter = { kind, status, agent, apiKeyId, since, until }
      const rows = await store.listTraces(db, principal.workspaceId, filter, { limit: limit + 1, after })
      const page = toPage(rows, limit, describeTrace, (row) => [row.last_activity_at, String(row.row_id)])
      return { ...page, asOf }
    },

    getTrace: async (call) => {
      const row = await store.findTraceWithCosts(db, call.principal.workspaceId, call.params.id)
      if (!row) throw new ApiError('NOT_FOUND')
      await requireKind(call, row.kind)
      return describeTrace(row)
    },

    getTraceEvents: async (call) => {
      const { principal, params, query } = call
      const { afterSeq = 0, limit = defaultTurns, wait = 0 } = query
      const trace = { workspaceId: principal.workspaceId, id: params.id }
      await requireTrace(call, params.id)
      const page = await tailTurns(parts, trace, { afterSeq, limit, waitMs: wait * 1000 }, call)
      if (!page) throw new ApiError('NOT_FOUND')
      const { items, lastSeq, expiredThroughSeq } = page
      const turns = items.map((turn) => turn.describe())
      return { items: turns, lastSeq, ...(expiredThroughSeq === undefined ? {} : { expiredThroughSeq }) }
    },

    appendTraceEvents: async (call) => {
      const { principal, params, body } = call
      const { workspaceId, userId, apiKeyId } = principal
      const author = { workspaceId, userId, apiKeyId, agentSlug: agentSlugOf(call) }
      await requireTrace(call, params.id)
      return parts.numbering.alone({ workspaceId, id: params.id }, () =>
        createOnce(
          call,
          async (tx) => {
            const answer = await appendTurns(tx, parts.sources, author, params.id, body.events)
            await requireRoom(tx, parts.config, workspaceId)
            return { resourceId: params.id, answer }
          },
          async () => parts.bus.wake(traceChannel(params.id)),
        ),
      )
    },

    markTraceTurns: async ({ principal, params, body, access }) => {
      await parts.database.transaction(async (tx) => {
        const trace = await store.findTrace(tx, principal.workspaceId, params.id)
        if (!trace) throw new ApiError('NOT_FOUND')
        const { last_seq: lastSeq } = trace
        if (body.seqs.some((seq) => seq > lastSeq)) {
          const message = `seqs: the last number given is ${lastSeq}; read the turn before you mark it`
          throw new ApiError('INVALID_INPUT', { message, details: { lastSeq } })
        }
        await access.spend(tx)
        await store.insertMarks(tx, trace.id, body.seqs, {
          by: principal.userId,
          reason: body.reason ?? null,
        })
      })
      return succeeded
    },

    unmarkTraceTurns: async ({ principal, params, body, access }) => {
      await parts.database.transaction(async (tx) => {
        const trace = await store.findTrace(tx, principal.workspaceId, params.id)
        if (!trace) throw new ApiError('NOT_FOUND')
        await access.spend(tx)
        await store.deleteMarks(tx, trace.id, body.seqs)
      })
      return succeeded
    },

    eraseTraceTurn: async ({ principal, params, access }) => {
      const trace = { workspaceId: principal.workspaceId, id: params.id }
      await parts.database.transaction(async (tx) => {
        await eraseTurn(tx, parts.sources, trace, params.seq)
        await access.spend(tx)
        const details = { traceId: params.id, seq: Number(params.seq) }
        await recordActivity(tx, principal, {
          type: 'trace.turn_erased',
          workspaceId: trace.workspaceId,
          details,
        })
      })
      return succeeded
    },

    continueTrace: async (call) => {
      const row = await requireTrace(call, call.params.id)
      if (call.access.mustSpend) await parts.database.transaction((tx) => call.access.spend(tx))
      return {
        status: 'continuation_required' as const,
        traceId: row.id,
        kind: row.kind,
        traceKey: row.trace_key,
        ...howToContinue(row.id),
      }
    },
  })
  return {
    routes: [...routes, ...exportHandlers(parts), ...handoverHandlers(parts)],
    sweeps: [{ table: 'handovers', run: () => deleteEndedHandovers(db) }],
  }
}

function placeOf(cursor: string) {
  const [lastActivityAt = '', rowId] = decodeCursor(cursor, [timePart, rowIdPart])
  return { lastActivityAt, rowId: Number(rowId) }
}
