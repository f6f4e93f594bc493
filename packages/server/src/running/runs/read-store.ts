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

/** What it holds is text as it is stored, and left out of one that is large; `steps` in their order. */
export type ReadRow = Pick<RunRow, (typeof shownColumns)[number]> & {
  readonly is_large: boolean
  readonly inputs: string
  readonly result: string | null
  readonly error: string | null
  readonly steps: ReadonlyMap<string, string>
}

const shownColumns = [
  'run_id',
  'workspace_id',
  'workflow_id',
  'definition_checksum',
  'status',
  'conversation_id',
  'parent_run_id',
  'launched_at',
  'updated_at',
  'version',
] as const

/**
 * Runs and then, a row each, their steps; in one statement, so that they belong together. The conversation that launched
 * one is told to who sees it: `$3` is whose private ones are seen. A step is a row of its own so that the driver, too,
 * gives the thread back between them.
 */
const readStatement = (name: string, isLarge: string): HotStatement => ({
  name,
  text: `with shown as (
      select ${shownColumns.filter((column) => column !== 'conversation_id')}, case when exists (
          select from threads t where t.workspace_id = r.workspace_id and t.thread_id = r.conversation_id
            and (t.visibility = 'workspace' or t.user_id = $3::uuid)) then conversation_id end as conversation_id,
        inputs, result, error, ${isLarge} as is_large from workflow_runs r
      where run_id = any($1::text[]) and workspace_id = $2 and status not in ('launching', 'void'))
    select ${shownColumns}, is_large, case when not is_large then inputs::text end as inputs,
      case when not is_large then result::text end as result, case when not is_large then error::text end as error,
      null as step_id, null as record, null as position
    from shown
    union all
    select run_id, ${shownColumns.slice(1).map(() => 'null')}, null, null, null, null, step_id, record::text, position
    from workflow_steps join shown using (run_id) where not is_large
    order by position nulls first`,
})

/** Of what one run holds, as it is stored, compressed: nothing has to be unpacked to find out that it is more. */
const smallStored = 4096
/** And unpacked. */
const smallBytes = 32 * 1024
const heldBy = (sizeOf: (column: string) => string) =>
  `(${['inputs', 'result', 'error'].map((column) => `coalesce(${sizeOf(column)}, 0)`).join(' + ')}
    + (select coalesce(sum(${sizeOf('s.record')}), 0) from workflow_steps s where s.run_id = r.run_id))`
const listSmallStatement = readStatement(
  'read-small-runs',
  `case when ${heldBy((column) => `pg_column_size(${column})`)} > ${smallStored} then true
    else ${heldBy((column) => `octet_length(${column}::text)`)} > ${smallBytes} end`,
)
const listStatement = readStatement('read-runs', 'false')

/** For whom it is read. */
export interface Reader {
  readonly workspaceId: string
  /** Whose private conversations are told of: a person's in the app, nobody's by a key or an app, or to many at once. */
  readonly personId: string | null
}

/** Those that are small enough to be held many at a time; of others that they are there. */
export function listSmallRuns(database: Database, reader: Reader, runIds: readonly string[]) {
  return listShown(database, listSmallStatement, reader, runIds)
}

export function listRuns(database: Database, reader: Reader, runIds: readonly string[]) {
  return listShown(database, listStatement, reader, runIds)
}

async function listShown(
  database: Database,
  statement: HotStatement,
  { workspaceId, personId }: Reader,
  runIds: readonly string[],
): Promise<ReadRow[]> {
  type Row =
    | (Omit<ReadRow, 'steps'> & { step_id: null })
    | { run_id: string; step_id: string; record: string }
  const rows = await database.hot<Row>(statement, [runIds, workspaceId, personId])
  const runs = new Map<string, ReadRow & { steps: Map<string, string> }>()
  for (const row of rows) {
    if (row.step_id === null) runs.set(row.run_id, { ...row, steps: new Map() })
    else runs.get(row.run_id)?.steps.set(row.step_id, row.record)
  }
  return [...runs.values()]
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
