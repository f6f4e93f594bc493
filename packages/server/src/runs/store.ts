import { type Selectable, sql } from 'kysely'
import { now, secondsAgo } from '../platform/clock.ts'
import type { Db, HotStatement, Tx } from '../platform/database.ts'
import type { Tables, WorkflowRunStatus } from '../platform/tables.ts'

export type RunRow = Selectable<Tables['workflow_runs']>
export type StepRow = Selectable<Tables['workflow_steps']>

export interface NewRun {
  run_id: string
  workspace_id: string
  workflow_id: string
  workflow_slug: string
  definition_id: string
  definition_checksum: string
  user_id: string
  api_key_id: number | null
  oauth_grant_id: number | null
  conversation_id: string | null
  source: string
  inputs: string
  parent_run_id: string | null
  reuse: string | null
}

/**
 * Places are counted in the same statement, for which launches of a workspace wait for each other; who finds none waits
 * and counts as running at once. Its definition is kept as it was at the launch.
 */
export async function insertRun(db: Db, row: NewRun, definition: string, places: number): Promise<RunRow> {
  const { rows } = await sql<RunRow>`
    with pinned as (
      insert into workflow_definitions (checksum, definition) values (${row.definition_checksum}, ${definition})
      on conflict do nothing)
    insert into workflow_runs (run_id, workspace_id, workflow_id, workflow_slug, definition_id, definition_checksum,
      user_id, api_key_id, oauth_grant_id, conversation_id, source, inputs, parent_run_id, reuse, advancing, status,
      queued_at)
    select ${row.run_id}, ${row.workspace_id}, ${row.workflow_id}, ${row.workflow_slug}, ${row.definition_id},
      ${row.definition_checksum}, ${row.user_id}, ${row.api_key_id}::bigint, ${row.oauth_grant_id}::bigint,
      ${row.conversation_id}, ${row.source},
      ${row.inputs}::json, ${row.parent_run_id}, ${row.reuse}::json, place.free,
      case when place.free then 'launching' else 'running' end, case when place.free then null else guild_now() end
    from (select may_advance(${row.workspace_id}, ${places}) as free offset 0) place
    returning *`.execute(db)
  const [inserted] = rows
  if (!inserted) throw new Error('an insert without a condition gave no row')
  return inserted
}

const hidden: WorkflowRunStatus[] = ['launching', 'void']

export async function findRun(db: Db, workspaceId: string, runId: string) {
  return db
    .selectFrom('workflow_runs')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('run_id', '=', runId)
    .where('status', 'not in', hidden)
    .executeTakeFirst()
}

/** For the engine and the tending, which have the run's id alone, and of whatever state. */
export async function findRunById(db: Db, runId: string) {
  return db.selectFrom('workflow_runs').selectAll().where('run_id', '=', runId).executeTakeFirst()
}

/** Held as it is while something is started for it. */
export async function lockRun(tx: Tx, runId: string) {
  return tx
    .selectFrom('workflow_runs')
    .select(['status', 'api_key_id', 'oauth_grant_id'])
    .where('run_id', '=', runId)
    .forShare()
    .executeTakeFirst()
}

export async function findDefinition(db: Db, checksum: string): Promise<string | undefined> {
  const query = db.selectFrom('workflow_definitions').select('definition').where('checksum', '=', checksum)
  return (await query.executeTakeFirst())?.definition
}

export async function listSteps(db: Db, runId: string): Promise<StepRow[]> {
  return db.selectFrom('workflow_steps').selectAll().where('run_id', '=', runId).execute()
}

/** The engine has it. Also for a run that the engine began before this was written. */
export async function claimLaunched(db: Db, runId: string, invocationId: string) {
  return db
    .updateTable('workflow_runs')
    .set((e) => ({
      status: e
        .case()
        .when('status', '=', 'launching')
        .then('running' as const)
        .else(e.ref('status'))
        .end(),
      invocation_id: invocationId,
    }))
    .where('run_id', '=', runId)
    .where('status', '!=', 'void')
    .returning(['run_id', 'status'])
    .executeTakeFirst()
}

/** Undefined when somebody took it for launched. */
export async function claimVoid(db: Tx, runId: string) {
  return db
    .updateTable('workflow_runs')
    .set({ status: 'void', advancing: false })
    .where('run_id', '=', runId)
    .where('status', '=', 'launching')
    .returning('workspace_id')
    .executeTakeFirst()
}

export async function claimOldLaunches(db: Tx, olderThanSeconds: number) {
  return db
    .updateTable('workflow_runs')
    .set({ status: 'void', advancing: false })
    .where('status', '=', 'launching')
    .where('launched_at', '<=', secondsAgo(olderThanSeconds))
    .returning(['run_id', 'workspace_id'])
    .execute()
}

/**
 * What the engine reads at the start of every attempt. A launch that was not confirmed yet is by this. That the ids are
 * named twice, here and below, has PostgreSQL look them up and not read a table that it still takes for small.
 */
export const openRunsStatement: HotStatement = {
  name: 'open-runs',
  text: `with claimed as (
      update workflow_runs r set invocation_id = coalesce(r.invocation_id, a.invocation_id),
        status = case when r.status = 'launching' then 'running' else r.status end
      from unnest($1::text[], $2::text[]) a (run_id, invocation_id)
      where r.run_id = a.run_id and r.run_id = any($1) and r.status <> 'void' and (r.status = 'launching' or r.invocation_id is null))
    select run_id, workspace_id, workflow_id, workflow_slug, definition_id, definition_checksum, user_id, api_key_id,
      conversation_id, source, status, inputs, reuse, launched_at
    from workflow_runs where run_id = any($1)`,
}

export type OpenedRow = Pick<
  RunRow,
  | 'run_id'
  | 'workspace_id'
  | 'workflow_id'
  | 'workflow_slug'
  | 'definition_id'
  | 'definition_checksum'
  | 'user_id'
  | 'api_key_id'
  | 'conversation_id'
  | 'source'
  | 'status'
  | 'inputs'
  | 'reuse'
  | 'launched_at'
>

/**
 * What the engine writes, for many runs at once. The run's row comes first, so that whoever cancels at the same moment
 * waits for no step that waits for the run; a run that has ended, or has suspended as often before, is left alone with
 * its steps. A step's record only goes forward.
 */
export const writeRunsStatement: HotStatement = {
  name: 'write-runs',
  text: `with w as (
      select * from unnest($1::text[], $2::text[], $3::boolean[], $4::integer[], $5::json[], $6::json[])
        w (run_id, status, advancing, pause, result, error)),
    r as (
      update workflow_runs set
        status = coalesce(w.status, workflow_runs.status),
        advancing = w.advancing,
        pauses = coalesce(w.pause, workflow_runs.pauses),
        result = w.result,
        error = w.error,
        ended_at = case when w.status in ('success', 'failed', 'canceled') then guild_now() end,
        left_at = case when w.status = 'canceled' then guild_now() end,
        updated_at = guild_now(),
        version = version + 1
      from w
      where workflow_runs.run_id = w.run_id and workflow_runs.run_id = any($1)
        and workflow_runs.status in ('running', 'suspended')
        and (w.pause is null or workflow_runs.status = 'running' and workflow_runs.pauses < w.pause)
      returning workflow_runs.run_id, workspace_id, workflow_id, workflow_runs.status, workflow_runs.advancing),
    s as (
      insert into workflow_steps (run_id, step_id, position, record, revision)
      select t.run_id, step_id, string_to_array(position, ',')::integer[], record, revision
      from unnest($7::text[], $8::text[], $9::text[], $10::json[], $11::bigint[])
        t (run_id, step_id, position, record, revision) join r on r.run_id = t.run_id
      on conflict (run_id, step_id) do update
        set position = excluded.position, record = excluded.record, revision = excluded.revision
        where workflow_steps.revision < excluded.revision)
    select run_id, workspace_id, workflow_id, status, not advancing and exists (
      select from workflow_runs q where q.workspace_id = r.workspace_id and q.queued_at is not null) as frees
    from r`,
}

export type ShownRow = Pick<RunRow, 'run_id' | 'workspace_id' | 'workflow_id' | 'status'>
/** `frees`: a place has become free that somebody waits for. */
export type WrittenRow = ShownRow & { frees: boolean }

/**
 * One of all answers to one pause; undefined for whoever comes second. Without a place the run waits for one, and so does
 * the word to the engine.
 */
export async function claimResume(
  db: Db,
  { run_id, workspace_id, pauses }: Pick<RunRow, 'run_id' | 'workspace_id' | 'pauses'>,
  answer: { id: string; key: string; data: string },
  places: number,
): Promise<RunRow | undefined> {
  const { rows } = await sql<RunRow>`
    update workflow_runs set status = 'running', advancing = place.free,
      queued_at = case when place.free then null else guild_now() end,
      resume_id = ${answer.id}, resume_key = ${answer.key}, resume_data = ${answer.data}::json,
      resumed_at = guild_now(), resume_taken_at = null, updated_at = guild_now(), version = version + 1
    from (select may_advance(${workspace_id}, ${places}) as free offset 0) place
    where run_id = ${run_id} and status = 'suspended' and pauses = ${pauses}
    returning workflow_runs.*`.execute(db)
  return rows[0]
}

/**
 * A run that slept takes a place again, or waits for one; then `key` is what it is told when it has it. Undefined when
 * this was done before.
 */
export async function claimWake(
  db: Db,
  { run_id, workspace_id }: Pick<RunRow, 'run_id' | 'workspace_id'>,
  key: string,
  places: number,
): Promise<{ advancing: boolean } | undefined> {
  const { rows } = await sql<{ advancing: boolean }>`
    update workflow_runs set advancing = place.free, resume_id = ${key}, resume_key = ${key}, resumed_at = guild_now(),
      queued_at = case when place.free then null else guild_now() end,
      resume_taken_at = case when place.free then guild_now() end, updated_at = guild_now()
    from (select may_advance(${workspace_id}, ${places}) as free offset 0) place
    where run_id = ${run_id} and status = 'running' and resume_id is distinct from ${key}
    returning advancing`.execute(db)
  return rows[0]
}

/** Takes an answer back that could not be handed over; undefined when the engine has it all the same. */
export async function claimResumeBack(db: Db, runId: string, resumeId: string) {
  return db
    .updateTable('workflow_runs')
    .set((e) => ({
      status: 'suspended',
      advancing: false,
      queued_at: null,
      resume_id: null,
      resume_key: null,
      resume_data: null,
      updated_at: now,
      version: e('version', '+', 1),
    }))
    .where('run_id', '=', runId)
    .where('resume_id', '=', resumeId)
    .where('resume_taken_at', 'is', null)
    .where('status', '=', 'running')
    .returning('run_id')
    .executeTakeFirst()
}

/** The same answer may be taken again; undefined when it was taken back. */
export async function claimAnswer(db: Db, runId: string, resumeId: string) {
  return db
    .updateTable('workflow_runs')
    .set((e) => ({ resume_taken_at: e.fn.coalesce('resume_taken_at', now) }))
    .where('run_id', '=', runId)
    .where('resume_id', '=', resumeId)
    .returning('run_id')
    .executeTakeFirst()
}

/** Cancels a run that is in one of these states; undefined when it is not. */
export async function claimCancel(tx: Tx, runId: string, from: readonly WorkflowRunStatus[]) {
  return tx
    .updateTable('workflow_runs')
    .set((e) => ({
      status: 'canceled',
      advancing: false,
      queued_at: null,
      ended_at: now,
      updated_at: now,
      version: e('version', '+', 1),
    }))
    .where('run_id', '=', runId)
    .where('status', 'in', from)
    .returningAll()
    .executeTakeFirst()
}

/** For good: nothing that the engine writes late counts higher. */
export async function updateLastRecord(tx: Tx, { run_id, step_id }: StepRow, record: unknown): Promise<void> {
  await tx
    .updateTable('workflow_steps')
    .set({ record: JSON.stringify(record), revision: Number.MAX_SAFE_INTEGER })
    .where('run_id', '=', run_id)
    .where('step_id', '=', step_id)
    .execute()
}

export async function updateLeft(db: Db, runId: string): Promise<void> {
  await db
    .updateTable('workflow_runs')
    .set({ left_at: now })
    .where('run_id', '=', runId)
    .where('status', '=', 'canceled')
    .execute()
}

/** The run that has waited longest, if there is a place for it. */
export async function claimQueued(db: Db, workspaceId: string, places: number): Promise<string | undefined> {
  const { rows } = await sql<{ run_id: string | null }>`
    select take_queued_run(${workspaceId}, ${places}) as run_id`.execute(db)
  return rows[0]?.run_id ?? undefined
}

export async function listQueue(db: Db, workspaceId: string) {
  return db
    .selectFrom('workflow_runs')
    .select(['run_id', 'workflow_slug', 'launched_at', 'queued_at'])
    .where('workspace_id', '=', workspaceId)
    .where('status', '=', 'running')
    .orderBy('id')
    .execute()
}

export async function listWaitingWorkspaces(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('workflow_runs')
    .select('workspace_id')
    .distinct()
    .where('queued_at', 'is not', null)
    .limit(limit)
    .execute()
  return rows.map(({ workspace_id }) => workspace_id)
}

/** Taken off the queue, and not known to have reached the engine. */
export async function listUnsent(db: Db, olderThanSeconds: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('workflow_runs')
    .select('run_id')
    .where('status', '=', 'running')
    .where('queued_at', 'is', null)
    .where('invocation_id', 'is', null)
    .where('updated_at', '<=', secondsAgo(olderThanSeconds))
    .limit(limit)
    .execute()
  return rows.map(({ run_id }) => run_id)
}

export async function listUntaken(db: Db, olderThanSeconds: number, limit: number) {
  return db
    .selectFrom('workflow_runs')
    .select(['run_id', 'resume_id', 'resume_key'])
    .where('resume_id', 'is not', null)
    .where('resume_taken_at', 'is', null)
    .where('status', '=', 'running')
    .where('queued_at', 'is', null)
    .where('resumed_at', '<=', secondsAgo(olderThanSeconds))
    .limit(limit)
    .execute()
}

/** Canceled, and the engine still works on it as far as is known. */
export async function listLeaving(db: Db, within: { fromSeconds: number; toSeconds: number }, limit: number) {
  return db
    .selectFrom('workflow_runs')
    .select(['run_id', 'invocation_id'])
    .where('status', '=', 'canceled')
    .where('left_at', 'is', null)
    .where('invocation_id', 'is not', null)
    .where('ended_at', '<=', secondsAgo(within.fromSeconds))
    .where('ended_at', '>', secondsAgo(within.toSeconds))
    .limit(limit)
    .execute()
}
