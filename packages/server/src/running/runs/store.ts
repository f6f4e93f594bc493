import { type Selectable, sql } from 'kysely'
import type { RunError } from '#machinery/graph/graph.ts'
import { thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Tables, WorkflowRunStatus } from '#platform/tables.ts'
import { mayActSql } from './access-store.ts'

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
  authority: string
  conversation_id: string | null
  source: string
  inputs: string
  parent_run_id: string | null
  reuse: string | null
  agent_slug: string | null
}

/**
 * Places are counted in the same statement, for which launches of a workspace wait for each other; who finds none waits
 * and counts as running at once. So are the bytes of all runs there, and none is made where they are too many. Its
 * definition is kept as it was at the launch. Nor is one made when the launcher may not act any more: the request was let
 * in by what was known a moment before. The audit log has it in the same statement.
 */
export async function insertRun(
  db: Db,
  row: NewRun,
  definition: string,
  { places, bytes }: { readonly places: number; readonly bytes: number },
): Promise<RunRow | 'may not act' | 'no room'> {
  const { rows } = await sql<RunRow & { has_room: boolean }>`
    with room as materialized (select run_bytes(${row.workspace_id}) < ${bytes} as has_room),
    pinned as (
      insert into workflow_definitions (checksum, definition) values (${row.definition_checksum}, ${definition})
      on conflict do nothing),
    made as (
    insert into workflow_runs (run_id, workspace_id, workflow_id, workflow_slug, definition_id, definition_checksum,
      user_id, api_key_id, oauth_grant_id, allowed_once, authority, conversation_id, source, inputs, parent_run_id, reuse, advancing,
      status, queued_at, agent_slug)
    select ${row.run_id}, ${row.workspace_id}, ${row.workflow_id}, ${row.workflow_slug}, ${row.definition_id},
      ${row.definition_checksum}, ${row.user_id}, ${row.api_key_id}::bigint, ${row.oauth_grant_id}::bigint, once.allowed,
      ${row.authority}::jsonb, ${row.conversation_id}, ${row.source},
      ${row.inputs}::json, ${row.parent_run_id}, ${row.reuse}::json, place.free,
      'launching', case when place.free then null else guild_moment() end,
      ${row.agent_slug}
    from (select is_allowed_once(${row.api_key_id}::bigint, array['tool:execute']) as allowed) once
      cross join lateral (select may_advance(${row.workspace_id}, ${places}) as free
        where may_act(${row.workspace_id}, ${row.user_id}, ${row.api_key_id}::bigint, ${row.oauth_grant_id}::bigint,
          case when once.allowed then null else array['tool:execute'] end) offset 0) place
    where (select has_room from room)
    returning *),
    told as (
      insert into activity (workspace_id, user_id, api_key_id, actor_kind, type, details)
      select workspace_id, user_id, api_key_id,
        case when api_key_id is not null then 'key' when oauth_grant_id is not null then 'oauth' else 'session' end,
        'workflow.launched', jsonb_strip_nulls(jsonb_build_object('runId', run_id, 'workflowId', workflow_id,
          'parentRunId', parent_run_id))
      from made)
    select has_room, made.* from room left join made on true`.execute(db)
  const [made] = rows
  if (!made?.has_room) return 'no room'
  return made.run_id === null ? 'may not act' : made
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

/** For the engine and the reconcilers, which have the run's id alone, and of whatever state. */
export async function findRunById(db: Db, runId: string) {
  return db.selectFrom('workflow_runs').selectAll().where('run_id', '=', runId).executeTakeFirst()
}

/** Its steps in their order, each record as the text that is stored. */
export async function listStepTexts(db: Db, runId: string) {
  return db
    .selectFrom('workflow_steps')
    .select([
      'step_id',
      sql<string>`record::text`.as('record'),
      sql<string>`record ->> 'status'`.as('status'),
    ])
    .where('run_id', '=', runId)
    .orderBy('position')
    .orderBy(sql`step_id collate "C"`)
    .execute()
}

/** Held as it is while something is started for it. */
export async function lockRun(tx: Tx, runId: string) {
  return tx
    .selectFrom('workflow_runs')
    .select([
      'status',
      'api_key_id',
      'oauth_grant_id',
      'allowed_once',
      'authority',
      'agent_slug',
      sql.raw<boolean>(mayActSql).as('may_act'),
    ])
    .where('run_id', '=', runId)
    .forShare()
    .executeTakeFirst()
}

/**
 * Notes that the inbox fits the run, and holds the run until it does; undefined while it goes on. `had`: something of it
 * may be there already.
 */
export async function claimAsking(tx: Tx, runId: string) {
  const { rows } = await sql<
    Pick<RunRow, 'workspace_id' | 'user_id' | 'api_key_id' | 'workflow_id' | 'status'> & { had: boolean }
  >`
    update workflow_runs r
    set asked = case when r.status = 'suspended' then r.pauses else 0 end, held_back = false
    from (select run_id, asked > 0 as had from workflow_runs where run_id = ${runId} for no key update) before
    where r.run_id = before.run_id and r.status in ('suspended', 'success', 'failed', 'canceled')
    returning r.workspace_id, r.user_id, r.api_key_id, r.workflow_id, r.status, before.had`.execute(tx)
  return rows[0]
}

/** There was no room for all that it asks. */
export async function updateHeldBack(tx: Tx, runId: string): Promise<void> {
  await tx.updateTable('workflow_runs').set({ held_back: true }).where('run_id', '=', runId).execute()
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

/** Who launched it is on record with its failure. */
export const voidedColumns = [
  'run_id',
  'workspace_id',
  'workflow_id',
  'user_id',
  'api_key_id',
  'oauth_grant_id',
] as const
export type VoidedRow = Pick<RunRow, (typeof voidedColumns)[number]>

/** Undefined when somebody took it for launched. */
export async function claimVoid(db: Tx, runId: string) {
  return db
    .updateTable('workflow_runs')
    .set({ status: 'void', advancing: false, queued_at: null })
    .where('run_id', '=', runId)
    .where('status', '=', 'launching')
    .returning(voidedColumns)
    .executeTakeFirst()
}

/** Shows a launch that waits for a place, also when a repeat did before; undefined once it waits no longer. */
export async function claimWaiting(db: Db, runId: string) {
  return db
    .updateTable('workflow_runs')
    .set({ status: 'running' })
    .where('run_id', '=', runId)
    .where('status', 'in', ['launching', 'running'])
    .where('queued_at', 'is not', null)
    .returning(['run_id', 'status'])
    .executeTakeFirst()
}

export type ShownRow = Pick<RunRow, 'run_id' | 'workspace_id' | 'workflow_id' | 'status' | 'conversation_id'>

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
      queued_at = case when place.free then null else guild_moment() end,
      resume_id = ${answer.id}, resume_key = ${answer.key}, resume_data = ${answer.data}::json,
      resumed_at = guild_moment(), resume_taken_at = null, updated_at = guild_moment(), version = version + 1
    from (select may_advance(${workspace_id}, ${places}) as free offset 0) place
    where run_id = ${run_id} and status = 'suspended' and pauses = ${pauses}
    returning workflow_runs.*`.execute(db)
  return rows[0]
}

/** Takes an answer back that could not be handed over; undefined when the engine has it all the same. */
export async function claimResumeBack(tx: Tx, runId: string, resumeId: string) {
  return tx
    .updateTable('workflow_runs')
    .set((e) => ({
      status: 'suspended',
      advancing: false,
      queued_at: null,
      resume_id: null,
      resume_key: null,
      resume_data: null,
      updated_at: thisMoment,
      version: e('version', '+', 1),
    }))
    .where('run_id', '=', runId)
    .where('resume_id', '=', resumeId)
    .where('resume_taken_at', 'is', null)
    .where('status', '=', 'running')
    .returning('run_id')
    .executeTakeFirst()
}

/** Cancels a run that is in one of these states; undefined when it is not. */
/** Ends a run from outside of it, if it has not ended. */
export async function claimEnd(
  tx: Tx,
  runId: string,
  from: readonly WorkflowRunStatus[],
  { status, error }: { status: 'canceled' | 'failed'; error?: RunError },
) {
  return tx
    .updateTable('workflow_runs')
    .set((e) => ({
      status,
      ...(error && { error: JSON.stringify(error) }),
      advancing: false,
      queued_at: null,
      asked: 0,
      ended_at: thisMoment,
      updated_at: thisMoment,
      version: e('version', '+', 1),
    }))
    .where('run_id', '=', runId)
    .where('status', 'in', from)
    .returningAll()
    .executeTakeFirst()
}

export async function listOpenOfKey(db: Db, apiKeyId: number, limit: number): Promise<string[]> {
  const ofKey = (...states: WorkflowRunStatus[]) =>
    db
      .selectFrom('workflow_runs')
      .select('run_id')
      .where('api_key_id', '=', apiKeyId)
      .where('status', 'in', states)
  // Two, because there is an index for each; of launches under way there are never many.
  const rows = await ofKey('running', 'suspended').unionAll(ofKey('launching')).limit(limit).execute()
  return rows.map(({ run_id }) => run_id)
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

/** The run that has waited longest, if there is a place for it. */
export async function claimQueued(db: Db, workspaceId: string, places: number): Promise<string | undefined> {
  const { rows } = await sql<{ run_id: string | null }>`
    select take_queued_run(${workspaceId}, ${places}) as run_id`.execute(db)
  return rows[0]?.run_id ?? undefined
}

export type QueueRow = Awaited<ReturnType<typeof listQueue>>[number]

/** Those that wait or advance, in the order of their launches; by what never changes, so that none is passed over. */
export async function listQueue(db: Db, workspaceId: string, after: number, limit: number) {
  return db
    .selectFrom('workflow_runs')
    .select(['id', 'run_id', 'workflow_slug', 'launched_at', 'queued_at'])
    .where('workspace_id', '=', workspaceId)
    .where('status', '=', 'running')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
}
