import { type Trace, toDs } from '@guildhall/contract'
import type { TraceRow } from './store.ts'

/** A trace as lists and single reads show it. */
export function describeTrace(row: TraceRow): Trace {
  return {
    id: row.id,
    kind: row.kind,
    title: row.title,
    status: row.status,
    actor: { userId: row.user_id, apiKeyId: row.api_key_id, agentSlug: row.agent_slug },
    target: { kind: row.kind, ...(row.execution_id === null ? {} : { executionId: row.execution_id }) },
    totalCost: toDs(row.lineage_cost_milli_ds),
    ownCost: toDs(row.own_cost_milli_ds),
    startedAt: row.started_at,
    lastActivityAt: row.last_activity_at,
    traceKey: row.trace_key,
    parentTraceId: row.parent_trace_id,
    lastSeq: row.last_seq,
    holder:
      row.held_since === null
        ? null
        : { apiKeyId: row.holder_key_id, agentSlug: row.holder_slug, since: row.held_since },
  }
}

/** Where whoever goes on with a trace goes on. */
export function howToContinue(traceId: string) {
  return {
    continueWith: { method: 'POST' as const, path: '/api/v1/executions', body: { sessionId: traceId } },
    appendEventsTo: `/api/v1/traces/${traceId}/events`,
  }
}
