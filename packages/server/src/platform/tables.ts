import type { ColumnType, Generated } from 'kysely'
import type { AccessTables, OptionalTime, Time } from './access-tables.ts'

export type { GrantMode, Mode, Role } from './access-tables.ts'

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

export interface SkillWarning {
  code: string
  path?: string
  message: string
}

/** The tables as the migrations make them. */
export interface Tables extends AccessTables {
  blobs: { checksum: string; size_bytes: number; touched_at: Time }
  artifact_usage: { workspace_id: string; bytes: number; files: number }
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
  }
  execution_events: { execution_id: number; sequence: number; type: string; payload: string; at: Time }
  traces: {
    id: string
    workspace_id: string
    kind: 'execution' | 'chat'
    title: string
    status: string
    user_id: string
    api_key_id: number | null
    agent_slug: string | null
    execution_id: string | null
    trace_key: string
    total_cost_milli_ds: Generated<number>
    started_at: Time
    last_activity_at: Time
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
    kind: 'execution' | 'step'
    user_id: string
    workspace_id: string
    key_id: number | null
    amount_milli_ds: number
    limited_by: 'max_cost' | 'balance' | 'key_limit'
    charged_milli_ds: number | null
    created_at: Time
    closed_at: OptionalTime
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
    version_number: Generated<number>
    created_at: Time
    updated_at: Time
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
  }
  workflow_steps: {
    run_id: string
    step_id: string
    position: number[]
    record: ColumnType<unknown, string, string>
    revision: number
  }
}
