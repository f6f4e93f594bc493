import type pg from 'pg'
import type { NotedCall } from '../../support/counting-tools.ts'
import { readMoney } from '../execution-evidence.ts'
import type { Account, Entry, Reading, Reservation } from '../execution-history.ts'

/** What the database says when all is quiet. Times are milliseconds of the clock. */
export interface FinalState {
  readonly executions: readonly ExecutionState[]
  readonly runs: readonly RunState[]
  readonly entries: readonly Entry[]
  readonly accounts: readonly Account[]
  readonly reservations: readonly Reservation[]
  /** Slots that are taken, by the execution that has them. */
  readonly slots: readonly { readonly workspaceId: string; readonly executionId: string | null }[]
  /** Questions of runs that wait for an answer. */
  readonly openQuestions: readonly string[]
  readonly keys: readonly { readonly id: number; readonly label: string; readonly revokedAt: number | null }[]
  readonly artifacts: readonly { readonly id: string; readonly name: string }[]
  readonly skillVersions: readonly { readonly workspaceId: string; readonly artifactId: string }[]
  readonly workflows: readonly { readonly workspaceId: string; readonly slug: string }[]
  readonly requests: readonly {
    readonly id: string
    readonly reason: string | null
    readonly status: string
  }[]
  /** The events of every execution as they are kept. */
  readonly logs: ReadonlyMap<string, readonly { readonly sequence: number; readonly type: string }[]>
}

export interface ExecutionState {
  readonly executionId: string
  readonly workspaceId: string
  readonly keyId: number | null
  readonly status: string
  readonly stopReason: string | null
  readonly errorCode: string | null
  readonly costMilliDs: number
  readonly input: string
  readonly runId: string | null
  readonly queued: boolean
  readonly createdAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly workerPid: number
}

export interface RunState {
  readonly runId: string
  readonly workspaceId: string
  readonly slug: string
  readonly keyId: number | null
  readonly status: string
  readonly inputs: string
  readonly result: unknown
  readonly error: unknown
  readonly advancing: boolean
  readonly queued: boolean
  readonly launchedAt: number
  readonly endedAt: number | null
}

export interface Seen {
  readonly state: FinalState
  readonly calls: readonly NotedCall[]
  /** What each reader got of an execution's log. */
  readonly readings: ReadonlyMap<string, readonly Reading[]>
  /** Acknowledged artifacts whose content was not what was sent, and how. */
  readonly lostContent: readonly string[]
  readonly orphans: readonly string[]
  /** What the engine still drives although all has ended or waits for a person. */
  readonly driven: readonly string[]
}

const millis = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

export async function readState(database: pg.Client): Promise<FinalState> {
  const rows = async <T extends pg.QueryResultRow>(query: string) => (await database.query<T>(query)).rows
  const money = await readMoney(database)
  return {
    ...money,
    executions:
      await rows<ExecutionState>(`select execution_id as "executionId", workspace_id as "workspaceId",
      api_key_id::int as "keyId", status, stop_reason as "stopReason", error_code as "errorCode",
      cost_milli_ds::int as "costMilliDs", left(input_text, 200) as input, workflow_run_id as "runId",
      queued_at is not null as queued, ${millis('created_at')} as "createdAt", ${millis('started_at')} as "startedAt",
      ${millis('completed_at')} as "endedAt",
      coalesce(nullif(split_part(worker_id, '/', 2), ''), '0')::int as "workerPid" from executions order by id`),
    runs: await rows<RunState>(`select run_id as "runId", workspace_id as "workspaceId", workflow_slug as slug,
      api_key_id::int as "keyId", status, left(inputs::text, 300) as inputs, result, error, advancing,
      queued_at is not null as queued, ${millis('launched_at')} as "launchedAt", ${millis('ended_at')} as "endedAt"
      from workflow_runs order by id`),
    slots:
      await rows(`select s.workspace_id as "workspaceId", e.execution_id as "executionId" from workspace_slots s
      left join executions e on e.id = s.execution_id where s.execution_id is not null`),
    openQuestions: (
      await rows<{ subject: string }>(
        `select subject from approval_requests where kind = 'workflow' and status = 'pending'
           and (expires_at is null or expires_at > guild_now())`,
      )
    ).map(({ subject }) => subject),
    keys: await rows(`select id::int as id, label, ${millis('revoked_at')} as "revokedAt" from api_keys`),
    artifacts: await rows(`select id, name from artifacts`),
    skillVersions:
      await rows(`select a.workspace_id as "workspaceId", a.id as "artifactId" from skill_versions v
      join skills s on s.id = v.skill_id
      join artifacts a on a.workspace_id = s.workspace_id and a.content_checksum = v.bundle_checksum`),
    workflows: await rows(`select workspace_id as "workspaceId", slug from workflows`),
    requests: await rows(`select id, reason, status from approval_requests where kind = 'permission'`),
    logs: await readLogs(database),
  }
}

async function readLogs(database: pg.Client): Promise<FinalState['logs']> {
  const { rows } = await database.query<{ executionId: string; sequence: number; type: string }>(
    `select e.execution_id as "executionId", v.sequence, v.type from execution_events v
     join executions e on e.id = v.execution_id order by v.execution_id, v.sequence`,
  )
  const logs = new Map<string, { sequence: number; type: string }[]>()
  for (const { executionId, ...event } of rows) {
    const log = logs.get(executionId) ?? []
    log.push(event)
    logs.set(executionId, log)
  }
  return logs
}

/** Of executions that run or wait for the slot, and runs that neither ended nor wait for a person. */
export async function countMoving(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ moving: number }>(
    `select (select count(*) from executions where status = 'working' or status = 'idle' and queued_at is not null)::int
       + (select count(*) from workflow_runs where status in ('launching', 'running'))::int as moving`,
  )
  return rows[0]?.moving ?? 0
}
