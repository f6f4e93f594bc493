import type { ColumnType, Generated } from 'kysely'
import type { OptionalTime, Right, Time } from './access-tables.ts'

type ChatRunStatus = 'queued' | 'working' | 'waiting' | 'completed' | 'failed'

/** The tables of conversations with agents. */
export interface ThreadTables {
  threads: {
    id: Generated<number>
    workspace_id: string
    thread_id: string
    agent_slug: string
    title: Generated<string>
    user_id: string
    api_key_id: number | null
    visibility: Generated<'workspace' | 'private'>
    kind: Generated<'chat' | 'step'>
    on_notification: Generated<'record' | 'wake'>
    wakes_since_person: Generated<number>
    trace_id: string
    last_sequence: Generated<number>
    last_batch: Generated<number>
    active_run: number | null
    active_attempt: Generated<number>
    tainted: Generated<boolean>
    summary_sequence: number | null
    cost_milli_ds: Generated<number>
    created_at: Time
    last_activity_at: Time
    last_woken_at: OptionalTime
  }
  thread_events: {
    thread_row_id: number
    sequence: number
    run_id: string | null
    type: string
    payload: string
    at: Time
  }
  thread_outputs: { thread_row_id: number; sequence: number; output: string }
  thread_runs: {
    id: Generated<number>
    run_id: string
    workspace_id: string
    thread_row_id: number
    agent_slug: string
    agent_version: number
    user_id: string
    credential_kind: 'key' | 'session' | 'oauth'
    credential_id: number
    allowed_once: Generated<boolean>
    authority: ColumnType<readonly Right[] | null, string | null | undefined, string | null>
    status: ChatRunStatus
    stop_reason: 'end_turn' | 'interrupt' | 'limit_reached' | 'error' | null
    error_code: string | null
    model: string | null
    message_sequence: number
    last_message: number
    delivered_through: Generated<number>
    steps: Generated<number>
    input_tokens: Generated<number>
    output_tokens: Generated<number>
    max_cost_milli_ds: number | null
    cost_milli_ds: Generated<number>
    settled_milli_ds: Generated<number>
    /** What the reply under way has taken so far. */
    pending_milli_ds: Generated<number>
    pending_input_tokens: Generated<number>
    pending_output_tokens: Generated<number>
    delegated_milli_ds: Generated<number>
    segment: Generated<number>
    tainted: Generated<boolean>
    depth: Generated<number>
    parent_run: number | null
    wait_kind: 'approval' | 'execution' | 'run' | null
    wait_ref: string | null
    wait_tool_use: string | null
    begun_tool_use: string | null
    workflow_runs: Generated<string[]>
    wait_until: OptionalTime
    over_at: OptionalTime
    attempt: Generated<number>
    worker_id: string | null
    ready_at: OptionalTime
    sent_at: OptionalTime
    touched_at: OptionalTime
    offers: Generated<number>
    workflow_run_id: string | null
    awakeable_id: string | null
    step_key: string | null
    output_schema: ColumnType<
      Readonly<Record<string, unknown>> | null,
      string | null | undefined,
      string | null
    >
    created_at: Time
    started_at: OptionalTime
    completed_at: OptionalTime
  }
  thread_subscriptions: { thread_row_id: number; workspace_id: string; process_id: string; until: Time }
  notifications: {
    id: string
    workspace_id: string
    thread_row_id: number
    agent_slug: string
    source: string
    kind: string
    priority: 'low' | 'medium' | 'high' | 'urgent'
    status: 'pending' | 'delivered' | 'seen' | 'dismissed'
    summary: string
    payload: ColumnType<unknown, string, string>
    dedupe_key: string
    revision: Generated<number>
    sequence: number
    created_at: Time
    delivered_at: OptionalTime
    seen_at: OptionalTime
  }
  thread_notices_due: {
    thread_row_id: number
    source: 'approval' | 'execution' | 'handover'
    ref: string
    payload: unknown
    due_at: Time
  }
  notifications_due: { run_id: string; status: string; revision: number; due_at: Time }
}
