import type { KeyDetail } from '@guildhall/contract'
import { sql } from 'kysely'
import type { Database, Db, HotStatement, Tx } from '#platform/database.ts'
import type { WorkflowRunStatus } from '#platform/tables.ts'
import { readTouched, type Touched, type Touching } from '#platform/touched.ts'
import type { RunRow } from './store.ts'

const hidden: WorkflowRunStatus[] = ['launching', 'void']

export interface RunFilter {
  readonly status: WorkflowRunStatus | undefined
  readonly workflowId: string | undefined
  /** The row id that the page before ended with. */
  readonly before: string | undefined
  readonly limit: number
}

/** Newest first. */
export async function listRunIds(db: Db, workspaceId: string, filter: RunFilter) {
  const { status, workflowId, before } = filter
  let query = db.selectFrom('workflow_runs').select(['id', 'run_id']).where('workspace_id', '=', workspaceId)
  query = status ? query.where('status', '=', status) : query.where('status', 'not in', hidden)
  if (workflowId !== undefined) query = query.where('workflow_id', '=', workflowId)
  if (before !== undefined) query = query.where('id', '<', Number(before))
  return query.orderBy('id', 'desc').limit(filter.limit).execute()
}

/** What is told of a run beside what it does. */
export async function findShownRun(db: Db, workspaceId: string, runId: string) {
  return db
    .selectFrom('workflow_runs')
    .select(['workflow_slug', 'definition_checksum'])
    .where('workspace_id', '=', workspaceId)
    .where('run_id', '=', runId)
    .where('status', 'not in', hidden)
    .executeTakeFirst()
}

export type ReadRow = Pick<
  RunRow,
  | 'run_id'
  | 'workspace_id'
  | 'workflow_id'
  | 'definition_checksum'
  | 'status'
  | 'inputs'
  | 'result'
  | 'error'
  | 'conversation_id'
  | 'parent_run_id'
  | 'launched_at'
  | 'updated_at'
  | 'version'
> & { steps: [stepId: string, record: unknown][] }

/**
 * Runs with their steps in one statement, so that they belong together. The steps are put together as texts: PostgreSQL
 * would look into them only to refuse a NUL.
 */
const readStatement = (name: string, which: string): HotStatement => ({
  name,
  text: `select run_id, workspace_id, workflow_id, definition_checksum, status, inputs, result, error, conversation_id,
      parent_run_id, launched_at, updated_at, version,
      (select coalesce(json_agg(json_build_array(s.step_id, s.record) order by s.position), '[]')
       from workflow_steps s where s.run_id = r.run_id) as steps
    from workflow_runs r
    where workspace_id = $2 and status not in ('launching', 'void') and ${which}`,
})
const readRunStatement = readStatement('read-run', 'run_id = $1')
/** As they are stored, compressed, so that nothing is unpacked to find out. */
const smallBytes = 4096
const readSmallRunsStatement = readStatement(
  'read-small-runs',
  `run_id = any($1::text[]) and ${smallBytes} >= pg_column_size(inputs) + coalesce(pg_column_size(result), 0)
      + coalesce(pg_column_size(error), 0)
      + (select coalesce(sum(pg_column_size(s.record)), 0) from workflow_steps s where s.run_id = r.run_id)`,
)

export async function findReadRun(
  database: Database,
  workspaceId: string,
  runId: string,
): Promise<ReadRow | undefined> {
  const [row] = await database.hot<ReadRow>(readRunStatement, [runId, workspaceId])
  return row
}

/** Those that are small enough to be held many at a time. */
export async function listSmallRuns(
  database: Database,
  workspaceId: string,
  runIds: readonly string[],
): Promise<Map<string, ReadRow>> {
  const rows = await database.hot<ReadRow>(readSmallRunsStatement, [runIds, workspaceId])
  return new Map(rows.map((row) => [row.run_id, row]))
}

const versionStatement = (name: string, which: string): HotStatement => ({
  name,
  text: `select run_id, case when status <> 'launching' then version end as version
    from workflow_runs where status <> 'void' and ${which}`,
})
const listVersionsStatement = versionStatement('list-run-versions', 'run_id = any($1::text[])')
const findVersionStatement = versionStatement('find-run-version', 'run_id = $1 and workspace_id = $2')

/** Null in it for a run that is not shown yet. */
interface VersionRow {
  readonly run_id: string
  readonly version: number | null
}

/** Of those runs that there are. */
export async function listVersions(database: Database, runIds: readonly string[]) {
  const rows = await database.hot<VersionRow>(listVersionsStatement, [runIds])
  return new Map(rows.map(({ run_id, version }) => [run_id, version]))
}

export async function findVersion(database: Database, workspaceId: string, runId: string) {
  const [row] = await database.hot<VersionRow>(findVersionStatement, [runId, workspaceId])
  return row
}

/** Steps that ask, and maybe others that speak of it: what a record holds is told by its text, as above. */
export async function listAskingSteps(tx: Tx, runId: string) {
  return tx
    .selectFrom('workflow_steps')
    .select(['step_id', 'record'])
    .where('run_id', '=', runId)
    .where((e) => e(e.cast<string>('record', 'text'), 'like', '%"waiting":[%'))
    .orderBy('position')
    .execute()
}

const mostShown = 100

type RunsOfKey = KeyDetail['runs']

/** A key's runs in these states, the oldest first, as its person is told of them. */
export async function listRunsOfKey(
  db: Db,
  apiKeyId: number,
  states: readonly RunsOfKey[number]['status'][],
): Promise<RunsOfKey> {
  const rows = await db
    .selectFrom('workflow_runs')
    .select(['run_id', 'workflow_slug', 'status'])
    .where('api_key_id', '=', apiKeyId)
    .where('status', 'in', states)
    .orderBy('id')
    .limit(mostShown)
    .$narrowType<{ status: RunsOfKey[number]['status'] }>()
    .execute()
  return rows.map(({ run_id: runId, workflow_slug: name, status }) => ({ runId, name, status }))
}

export function listTouchedRuns(db: Db, { keyId, since }: Touching): Promise<Touched> {
  return readTouched(
    db,
    sql`select run_id as id, workflow_slug as title, launched_at as at,
      case when status in ('running', 'suspended') then 'cancel' end as undo
    from workflow_runs
    where api_key_id = ${keyId} and launched_at >= ${since} and status not in ('launching', 'void')`,
  )
}
