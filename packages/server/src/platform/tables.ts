import type { TurnType } from '@guildhall/contract'
import type { ColumnType, Generated } from 'kysely'
import type { AccessTables, OptionalTime, Right, Time } from './access-tables.ts'
import type { OAuthTables } from './oauth-tables.ts'
import type { PushTables } from './push-tables.ts'
import type { ThreadTables } from './thread-tables.ts'

export type { Approval, GrantMode, Mode, Right, Role } from './access-tables.ts'

export type LedgerKind = 'grant' | 'reserve' | 'settle' | 'release' | 'refund' | 'adjust'
export type LedgerPlace = 'issued' | 'available' | 'reserved' | 'spent'

type ExecutionStatus = 'idle' | 'working' | 'completed' | 'failed'
export type StopReason = 'end_turn' | 'interrupt' | 'limit_reached' | 'error'

export type WorkflowRunStatus =
  | 'launching'
  | 'void'
  | 'running'
  | 'suspended'
  | 'success'
  | 'failed'
  | 'canceled'

export type TraceKind = 'execution' | 'chat'
export type TraceStatus = 'idle' | 'running' | 'waiting' | 'completed' | 'failed'
export type ProducerKind = 'execution' | 'thread'

/** What an agent is, apart from whose it is and whether it is primary. */
export interface AgentContent {
  name: string
  description: string
  instructions: string
  model: string | null
  tools: string[]
  skills: string[]
  max_cost_per_run_milli_ds: number | null
  outside: 'ask' | 'never'
}

export interface SkillWarning {
  code: string
  path?: string
  message: string
}

/** The tables as the migrations make them. */
export interface Tables extends AccessTables, OAuthTables, PushTables, ThreadTables {
  blobs: { checksum: string; size_bytes: number; touched_at: Time; generation: number | null }
  blobs_gone: { checksum: string; generation: number | null; gone_at: Time }
  artifact_usage: {
    workspace_id: string
    bytes: number
    files: number
    written_bytes: Generated<number>
    written_files: Generated<number>
    written_hour: Time
  }
  artifacts: {
    id: string
    workspace_id: string
    type: 'skill' | 'workflow' | 'file'
    slug: string
    name: string
    description: string
    files_count: number
    size_bytes: number
    content_checksum: string
    created_by: string
    output_of_key: Generated<number | null>
    api_key_id: Generated<number | null>
    created_at: Time
  }
  bundles: { checksum: string; files_count: number; size_bytes: number; touched_at: Time }
  bundle_files: { bundle_checksum: string; path: string; size_bytes: number; checksum: string }
  executions: {
    id: Generated<number>
    execution_id: string
    workspace_id: string
    user_id: string
    api_key_id: number | null
    oauth_grant_id: number | null
    allowed_once: Generated<boolean>
    authority: ColumnType<readonly Right[] | null, string | null | undefined, string | null>
    status: ExecutionStatus
    stop_reason: StopReason | null
    error_code: string | null
    skill_id: number
    skill_slug: string
    skill_name: string
    skill_version: number
    bundle_checksum: string
    source: string
    interface: string
    input_text: string
    attachments_checksum: string | null
    connector: ColumnType<Readonly<Record<string, unknown>> | null, string | null, never>
    max_cost_milli_ds: number | null
    reserved_milli_ds: Generated<number>
    cost_milli_ds: Generated<number>
    asking_milli_ds: Generated<number>
    input_tokens: Generated<number>
    output_tokens: Generated<number>
    summary: string | null
    parent_execution_id: string | null
    trace_id: string
    workflow_run_id: string | null
    awakeable_id: string | null
    step_key: string | null
    last_sequence: Generated<number>
    last_batch: Generated<number>
    attempt: Generated<number>
    worker_id: string | null
    lease_until: OptionalTime
    process_gone_at: OptionalTime
    queued_at: OptionalTime
    created_at: Time
    started_at: OptionalTime
    completed_at: OptionalTime
    chat_run_id: string | null
    agent_slug: string | null
  }
  execution_events: { execution_id: number; sequence: number; type: string; payload: string; at: Time }
  traces: {
    id: string
    workspace_id: string
    kind: TraceKind
    title: string
    status: TraceStatus
    user_id: string
    api_key_id: number | null
    agent_slug: string | null
    execution_id: string | null
    trace_key: string
    total_cost_milli_ds: Generated<number>
    started_at: Time
    last_activity_at: Time
    row_id: Generated<number>
    parent_trace_id: string | null
    thread_row_id: number | null
    last_seq: Generated<number>
    appended_turns: Generated<number>
    appended_bytes: Generated<number>
    holder_key_id: number | null
    holder_slug: string | null
    held_since: OptionalTime
  }
  lineages: {
    trace_key: string
    workspace_id: string
    settled_milli_ds: Generated<number>
    shown_milli_ds: Generated<number>
  }
  trace_producers: {
    trace_id: string
    id: Generated<number>
    kind: ProducerKind
    producer_row_id: number
    agent_slug: string | null
    indexed_through: Generated<number>
    done: Generated<boolean>
  }
  trace_pieces: {
    trace_id: string
    first_seq: number
    last_seq: number
    producer_id: number
    first_event: number
  }
  trace_turns: {
    trace_id: string
    seq: number
    type: TurnType
    payload: string
    agent_slug: string | null
    user_id: string
    api_key_id: number | null
    at: Time
  }
  trace_usage: { workspace_id: string; bytes: number }
  trace_marks: { trace_id: string; seq: number; marked_by: string; reason: string | null; at: Time }
  handovers: {
    id: string
    trace_id: string
    workspace_id: string
    code_hash: Buffer
    reach: 'workspace' | 'person'
    note: string | null
    to_slug: string | null
    created_by_user: string
    created_by_key: number | null
    created_by_slug: string | null
    status: Generated<'pending' | 'claimed' | 'revoked'>
    claimed_by_user: string | null
    claimed_by_key: number | null
    claimed_by_slug: string | null
    claimed_at: OptionalTime
    copy_trace_id: string | null
    created_at: Time
    expires_at: Time
  }
  provider_keys: {
    user_id: string
    provider: 'anthropic' | 'openai-compatible'
    base_url: string
    hint: string
    key_version: number
    sealed: Buffer
    created_at: Time
  }
  credit_accounts: {
    user_id: string
    available_milli_ds: Generated<number>
    reserved_milli_ds: Generated<number>
    spent_milli_ds: Generated<number>
  }
  ledger: {
    id: Generated<number>
    user_id: string
    kind: LedgerKind
    source: LedgerPlace
    target: LedgerPlace
    amount_milli_ds: number
    workspace_id: string | null
    execution_id: string | null
    key_id: number | null
    note: string | null
    at: Time
  }
  reservations: {
    execution_id: string
    kind: 'execution' | 'step' | 'chat'
    user_id: string
    workspace_id: string
    key_id: number | null
    amount_milli_ds: number
    limited_by: 'max_cost' | 'balance' | 'key_limit'
    charged_milli_ds: number | null
    created_at: Time
    closed_at: OptionalTime
  }
  receipts_due: { subject: string; kind: 'execution' | 'run'; ended_at: Time; taken_until: OptionalTime }
  receipts: {
    number: Generated<number>
    id: string
    workspace_id: string
    trace_id: string | null
    trace_key: string
    subject: string
    body: string
    signature: string
    key_id: string
    at: Time
  }
  workspace_slots: { workspace_id: string; execution_id: number | null }
  skills: {
    id: Generated<number>
    workspace_id: string
    slug: string
    latest_version: number
    uninstalled_at: OptionalTime
  }
  skill_fetches: { id: Generated<number>; workspace_id: string; slug: string; until: Time }
  skill_versions: {
    id: Generated<number>
    workspace_id: string
    skill_id: number
    version_number: number
    bundle_checksum: string
    name: string
    description: string
    category: string
    prompt: string
    allowed_tools: string[]
    scopes: string[]
    repository: string | null
    commit_hash: string | null
    from_git: Generated<boolean>
    warnings: ColumnType<SkillWarning[], string, string>
    note: string | null
    created_by: string
    created_at: Time
  }
  catalog_skills: {
    slug: string
    source: string
    repository: string
    commit_hash: string
    bundle_checksum: string
    name: string
    description: string
    category: string
    prompt: string
    author: string
    version: string
    allowed_tools: string[]
    scopes: string[]
  }
  catalog_categories: { id: string; count: number }
  catalog_state: { one: Generated<boolean>; revision: number }
  agents: {
    workspace_id: string
    slug: string
    name: string
    description: string
    instructions: string
    model: string | null
    is_primary: Generated<boolean>
    tools: Generated<string[]>
    skills: Generated<string[]>
    max_cost_per_run_milli_ds: Generated<number | null>
    outside: Generated<'ask' | 'never'>
    version_number: Generated<number>
    created_at: Time
    updated_at: Time
  }
  agent_versions: {
    workspace_id: string
    slug: string
    version_number: number
    content: ColumnType<AgentContent, string, string>
    created_by: string | null
    note: string | null
    created_at: Time
    ends_at: OptionalTime
  }
  workflows: {
    id: Generated<number>
    workspace_id: string
    slug: string
    definition_id: string
    name: string
    description: string
    category: string
    requires_connector: string | null
    definition: string
    bundle_checksum: string
    installed_by: string
    installed_at: Time
  }
  workflow_definitions: { checksum: string; definition: string }
  workflow_runs: {
    id: Generated<number>
    run_id: string
    workspace_id: string
    workflow_id: string
    workflow_slug: string
    definition_id: string
    definition_checksum: string
    user_id: string
    api_key_id: number | null
    oauth_grant_id: number | null
    allowed_once: Generated<boolean>
    authority: ColumnType<readonly Right[] | null, string | null | undefined, string | null>
    conversation_id: string | null
    source: string
    status: WorkflowRunStatus
    inputs: ColumnType<unknown, string, string>
    result: ColumnType<unknown, string | null | undefined, string | null>
    error: ColumnType<unknown, string | null | undefined, string | null>
    parent_run_id: string | null
    reuse: ColumnType<unknown, string | null, string | null>
    queued_at: OptionalTime
    advancing: Generated<boolean>
    invocation_id: string | null
    opened: Generated<number>
    pauses: Generated<number>
    asked: Generated<number>
    held_back: Generated<boolean>
    resume_id: string | null
    resume_key: string | null
    resume_data: ColumnType<unknown, string | null, string | null>
    resumed_at: OptionalTime
    resume_taken_at: OptionalTime
    left_at: OptionalTime
    launched_at: Time
    updated_at: Time
    ended_at: OptionalTime
    version: Generated<number>
    agent_slug: string | null
    stored_bytes: Generated<number>
  }
  run_usage: { workspace_id: string; bytes: number }
  workflow_steps: {
    run_id: string
    step_id: string
    position: number[]
    record: ColumnType<unknown, string, string>
    revision: number
  }
}
