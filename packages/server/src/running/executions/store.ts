import { type RawBuilder, type Selectable, sql } from 'kysely'
import { now, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { StopReason, Tables } from '#platform/tables.ts'

/** Batches of an attempt are numbered within it, and attempts are numbered too: later ones are always higher. */
export const batchesPerAttempt = 2 ** 32

export type ExecutionRow = Selectable<Tables['executions']>

export interface NewExecution {
  execution_id: string
  workspace_id: string
  user_id: string
  api_key_id: number | null
  oauth_grant_id: number | null
  skill_id: number
  skill_slug: string
  skill_name: string
  skill_version: number
  bundle_checksum: string
  attachments_checksum: string | null
  connector: string | null
  source: string
  interface: string
  input_text: string
  max_cost_milli_ds: number | null
  parent_execution_id: string | null
  trace_id: string
  workflow_run_id: string | null
  awakeable_id: string | null
  step_key: string | null
  chat_run_id: string | null
  agent_slug: string | null
}

export async function insertExecution(tx: Tx, row: NewExecution): Promise<ExecutionRow> {
  return tx
    .insertInto('executions')
    .values({ ...row, status: 'idle' })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findExecution(db: Db, workspaceId: string, executionId: string) {
  return db
    .selectFrom('executions')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('execution_id', '=', executionId)
    .executeTakeFirst()
}

/** Another text whenever something has come of it since: for who waits and need not read it all each time. */
export async function findMark(
  db: Db,
  workspaceId: string,
  executionId: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('executions')
    .select(['status', 'last_sequence'])
    .where('workspace_id', '=', workspaceId)
    .where('execution_id', '=', executionId)
    .executeTakeFirst()
  return row && `${row.status} ${row.last_sequence}`
}

/** Undefined until it has ended. */
export async function findEnded(db: Db, executionId: string) {
  return db
    .selectFrom('executions')
    .selectAll()
    .where('execution_id', '=', executionId)
    .where('status', 'in', ['completed', 'failed'])
    .executeTakeFirst()
}

/** What has run on a trace and ended, in the order in which it was made. */
export async function listRanOn(db: Db, workspaceId: string, traceId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('executions')
    .select('execution_id')
    .where('trace_id', '=', traceId)
    .where('workspace_id', '=', workspaceId)
    .where('started_at', 'is not', null)
    .where('status', 'in', ['completed', 'failed'])
    .orderBy('id')
    .execute()
  return rows.map(({ execution_id }) => execution_id)
}

/** For the worker and the sweeps, which have the row's own number and no workspace. */
export async function findExecutionById(db: Db, id: number) {
  return db.selectFrom('executions').selectAll().where('id', '=', id).executeTakeFirst()
}

/** What an earlier try of the same attempt of a workflow's step began. */
export async function findByStepKey(db: Db, workspaceId: string, step: { runId: string; key: string }) {
  return db
    .selectFrom('executions')
    .selectAll()
    .where('step_key', '=', step.key)
    .where('workflow_run_id', '=', step.runId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

/** Undefined when nobody works on it now. */
export async function findWorking(db: Db, executionId: string) {
  return db
    .selectFrom('executions')
    .select('id')
    .where('execution_id', '=', executionId)
    .where('status', '=', 'working')
    .where('lease_until', '>', now)
    .executeTakeFirst()
}

export async function lockExecution(tx: Tx, id: number) {
  return tx.selectFrom('executions').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

const listColumns = [
  'id',
  'execution_id',
  'skill_slug',
  'skill_name',
  'skill_version',
  'status',
  'stop_reason',
  'error_code',
  'cost_milli_ds',
  'asking_milli_ds',
  'source',
  'interface',
  'input_text',
  'started_at',
  'completed_at',
  'queued_at',
  'trace_id',
  'parent_execution_id',
] as const

export type ExecutionItem = Pick<ExecutionRow, (typeof listColumns)[number]>

interface ExecutionPage {
  readonly limit: number
  readonly offset: number
  /** The row that the page before ended with. */
  readonly before: number | undefined
  readonly status: ExecutionRow['status'] | undefined
  readonly skill: string | undefined
  readonly sources: readonly string[]
  readonly interfaces: readonly string[]
}

export async function listExecutions(
  db: Db,
  workspaceId: string,
  page: ExecutionPage,
): Promise<ExecutionItem[]> {
  let query = db
    .selectFrom('executions')
    .select(listColumns)
    .where('workspace_id', '=', workspaceId)
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
  if (page.before !== undefined) query = query.where('id', '<', page.before)
  if (page.status !== undefined) query = query.where('status', '=', page.status)
  if (page.skill !== undefined) query = query.where('skill_slug', '=', page.skill)
  if (page.sources.length > 0) query = query.where('source', 'in', page.sources)
  if (page.interfaces.length > 0) query = query.where('interface', 'in', page.interfaces)
  return query.execute()
}

/** What a start adds to the record: who pays is known, through what they start it is known now. */
export interface Start {
  api_key_id: number | null
  oauth_grant_id: number | null
  /** Undefined for what a key starts by itself: then its grants tell. */
  allowed_once: boolean | undefined
  authority: ExecutionRow['authority']
  skill_slug: string
  input_text: string
  max_cost_milli_ds: number | null
  agent_slug: string | null
}

/** Any of these is enough to run a skill. */
export const scopesFor = (slug: RawBuilder<string>) =>
  sql<string[]>`array['tool:execute', 'tool:execute:' || ${slug}]`

export const isAllowedOnce = ({ api_key_id: key, skill_slug, allowed_once }: Start) =>
  sql<boolean>`coalesce(${allowed_once ?? null}::boolean, is_allowed_once(${key}::bigint, ${scopesFor(sql`${skill_slug}`)}))`

/** From idle, and from there only, for who may still act. */
export async function claimStart(tx: Tx, id: number, reservedMilliDs: number, start: Start) {
  return tx
    .updateTable('executions')
    .set((e) => ({
      status: 'working',
      reserved_milli_ds: reservedMilliDs,
      api_key_id: start.api_key_id,
      oauth_grant_id: start.oauth_grant_id,
      authority: start.authority && JSON.stringify(start.authority),
      input_text: start.input_text,
      max_cost_milli_ds: start.max_cost_milli_ds,
      agent_slug: start.agent_slug,
      attempt: e('attempt', '+', 1),
      started_at: thisMoment,
      lease_until: pickUpBefore,
      queued_at: null,
    }))
    .where('id', '=', id)
    .where('status', '=', 'idle')
    .where(
      sql<boolean>`may_act(workspace_id, user_id, ${start.api_key_id}::bigint, ${start.oauth_grant_id}::bigint,
        case when ${isAllowedOnce(start)} then null else ${scopesFor(sql.ref('skill_slug'))} end, created_at)`,
    )
    .returningAll()
    .executeTakeFirst()
}

/** How long a started execution may wait for a worker, and how long a silent worker is believed to be alive. */
export const pickUpBefore = sql<string>`guild_now() + interval '60 seconds'`
const leaseEnd = sql<string>`guild_now() + interval '20 seconds'`

/**
 * By the worker that begins the work; undefined when another one has, or it has ended. Its own is given again: the answer
 * to an earlier claim may have been lost with the connection.
 */
export async function claimWork(db: Db, id: number, workerId: string) {
  return db
    .updateTable('executions')
    .set({ worker_id: workerId, lease_until: leaseEnd })
    .where('id', '=', id)
    .where('status', '=', 'working')
    .where((e) => e.or([e('worker_id', 'is', null), e('worker_id', '=', workerId)]))
    .returningAll()
    .executeTakeFirst()
}

/** Undefined when the execution is no longer this attempt's. */
export async function updateLease(db: Db, id: number, attempt: number) {
  return db
    .updateTable('executions')
    .set({ lease_until: leaseEnd })
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('status', '=', 'working')
    .returning('id')
    .executeTakeFirst()
}

/** What was used so far; undefined when the execution is no longer this attempt's. */
export async function updateUsage(
  db: Db,
  id: number,
  attempt: number,
  usage: { costMilliDs: number; inputTokens: number; outputTokens: number },
) {
  return db
    .updateTable('executions')
    .set({
      cost_milli_ds: usage.costMilliDs,
      asking_milli_ds: 0,
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
    })
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('status', '=', 'working')
    .returning('id')
    .executeTakeFirst()
}

/** What the call that is under way costs so far. */
export async function updateAsking(db: Db, id: number, attempt: number, milliDs: number): Promise<void> {
  await db
    .updateTable('executions')
    .set({ asking_milli_ds: milliDs })
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('status', '=', 'working')
    .execute()
}

/** Unless another worker has it by now. */
export async function updateProcessGone(db: Db, id: number, workerId: string): Promise<void> {
  await db
    .updateTable('executions')
    .set({ process_gone_at: thisMoment })
    .where('id', '=', id)
    .where('worker_id', '=', workerId)
    .execute()
}

export interface EndedColumns {
  status: 'completed' | 'failed'
  stop_reason: StopReason
  error_code: string | null
  summary: string | null
  cost_milli_ds: number
}

/** Ends it, whatever state it was in before; the higher attempt keeps a late worker from writing. */
export async function updateEnded(tx: Tx, id: number, columns: EndedColumns): Promise<void> {
  await tx
    .updateTable('executions')
    .set((e) => ({
      ...columns,
      asking_milli_ds: 0,
      attempt: e('attempt', '+', 1),
      completed_at: thisMoment,
      queued_at: null,
      lease_until: null,
    }))
    .where('id', '=', id)
    .execute()
}

export async function updateAwaitedTold(db: Db, id: number): Promise<void> {
  await db.updateTable('executions').set({ awakeable_id: null }).where('id', '=', id).execute()
}
