import { type ChatRun, type Thread, toDs } from '@guildhall/contract'
import type { ThreadItem } from './list-store.ts'
import type { RunRow, ThreadRow } from './store.ts'
import { toRunId } from './thread-log.ts'

/** A thread in which nothing runs. */
export function describeThread(row: ThreadRow): Thread {
  return describeThreadItem({ ...row, run_id: null, run_status: null, has_queue: false, unseen: 0 })
}

export function describeThreadItem(row: ThreadItem): Thread {
  // The first start opens the trace, and a run begins with a message.
  const hasTrace = row.visibility === 'workspace' && row.last_sequence > 0
  return {
    id: row.thread_id,
    agentId: `${row.workspace_id}:${row.agent_slug}`,
    title: row.title,
    visibility: row.visibility,
    onNotification: row.on_notification,
    status: statusOf(row),
    activeRunId: row.run_id === null ? null : toRunId(row.run_id),
    lastSequence: row.last_sequence,
    unseen: row.unseen,
    traceId: hasTrace ? row.trace_id : null,
    cost: toDs(row.cost_milli_ds),
    createdAt: row.created_at,
    lastActivityAt: row.last_activity_at,
  }
}

function statusOf({ run_status, has_queue }: ThreadItem): Thread['status'] {
  if (run_status === 'working' || run_status === 'waiting') return run_status
  return has_queue ? 'queued' : 'idle'
}

export function describeRun({ thread_id }: Pick<ThreadRow, 'thread_id'>, row: RunRow): ChatRun {
  return {
    runId: toRunId(row.run_id),
    threadId: thread_id,
    agentId: `${row.workspace_id}:${row.agent_slug}`,
    agentVersion: row.agent_version,
    status: row.status,
    stopReason: row.stop_reason,
    errorCode: row.error_code,
    model: row.model,
    usage: { inputTokens: row.input_tokens, outputTokens: row.output_tokens },
    cost: toDs(row.cost_milli_ds),
    delegated: toDs(row.delegated_milli_ds),
    waitsFor:
      row.status !== 'waiting' || row.wait_kind === null
        ? null
        : { kind: row.wait_kind, id: row.wait_ref ?? '', until: row.wait_until },
    createdAt: row.created_at,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    tainted: row.tainted,
  }
}
