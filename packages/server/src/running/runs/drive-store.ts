import { thisMoment } from '#platform/clock.ts'
import type { Database, Db, HotStatement } from '#platform/database.ts'
import type { RunRow } from './store.ts'

/*
 * What is read and written for the engine. Every opening of a run takes the next number, and a write names the opening
 * it belongs to: a worker that stood still while another one went on with its run finds that it is not the last any
 * more, and changes nothing.
 *
 * Both statements below are for many runs at once. They take the rows that nobody holds and leave the others, so that a
 * run whose row is held keeps none of its companions waiting. That the ids are named twice has PostgreSQL look them up
 * and not read a table that it still takes for small.
 */

/** Numbers an opening and reads what it needs. A launch that was not confirmed yet is by this. */
export const openRunsStatement: HotStatement = {
  name: 'open-runs-2',
  text: `with free as (
      select run_id from workflow_runs where run_id = any($1) for no key update skip locked)
    update workflow_runs r set opened = r.opened + 1, invocation_id = coalesce(r.invocation_id, a.invocation_id),
      status = case when r.status = 'launching' then 'running' else r.status end
    from unnest($1::text[], $2::text[]) a (run_id, invocation_id) join free on free.run_id = a.run_id
    where r.run_id = a.run_id and r.run_id = any($1)
    returning r.run_id, workspace_id, workflow_id, workflow_slug, definition_id, definition_checksum, user_id,
      api_key_id, conversation_id, source, status, inputs, reuse, launched_at, opened`,
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
  | 'opened'
>

/**
 * The run's row comes first, so that whoever cancels at the same moment waits for no step that waits for the run; a run
 * that has ended, was opened again, or has suspended as often before is left alone with its steps. A step's record only
 * goes forward; of two that were written at the same point, before and after a crash, the later one is what the engine
 * knows.
 *
 * Worked example: one statement for four runs, each with one record of its step `ask`.
 *
 *     row before                     write                                   answer                         written
 *     A  running, opened 2           opened 2, advancing, ask at 3           status running                 ask at 3
 *     B  running, opened 3           opened 2, advancing, ask at 9           opened 3, status null          nothing
 *     C  suspended, opened 1,        opened 1, suspended, pause 1,           status null, before suspended  nothing
 *        pauses 1                    ask at 8
 *     D  running, locked by another  opened 1, success, ask at 11            no row                         nothing
 *        transaction
 *     A  once more                   opened 2, advancing, ask at 2           status running                 ask stays at 3
 *
 * B's worker stood still while another one opened the run; `RunWriter` finds 3 where it said 2 and throws OpenedAgain.
 * C is a repeat, after a crash between the commit and the journal: that it changed nothing is right, and not an error. D
 * has no row in the answer, and `RunBatches` sends it again a moment later, alone or with others.
 *
 * - Without `opened = w.opened` B's record is written, over what the run's present worker knows.
 * - Without `pauses < ...` C would suspend again a run that somebody has answered meanwhile (`status = 'running'`, pauses 1).
 * - Without `revision <= excluded.revision` the last line puts the older record of A back.
 * - Without `skip locked` A, B and C wait for D, and so does every run that comes after them.
 * - `join r` in the steps is what leaves the steps of B and C alone; `left join r` at the end is what tells them (row
 *   there, nothing written) from D (no row).
 */
export const writeRunsStatement: HotStatement = {
  name: 'write-runs-4',
  text: `with w as (
      select * from unnest($1::text[], $2::integer[], $3::text[], $4::boolean[], $5::integer[], $6::json[], $7::json[])
        w (run_id, opened, status, advancing, pause, result, error)),
    free as (
      select run_id, status, opened from workflow_runs where run_id = any($1) for no key update skip locked),
    r as (
      update workflow_runs set
        status = coalesce(w.status, workflow_runs.status),
        advancing = w.advancing,
        pauses = coalesce(w.pause, workflow_runs.pauses),
        result = w.result,
        error = w.error,
        ended_at = case when w.status in ('success', 'failed', 'canceled') then guild_moment() end,
        left_at = case when w.status = 'canceled' then guild_moment() end,
        updated_at = guild_moment(),
        version = version + 1
      from w join free on free.run_id = w.run_id
      where workflow_runs.run_id = w.run_id and workflow_runs.run_id = any($1) and workflow_runs.opened = w.opened
        and (workflow_runs.status = 'running' and workflow_runs.pauses < coalesce(w.pause, workflow_runs.pauses + 1)
          or workflow_runs.status = 'suspended' and w.status <> 'suspended')
      returning workflow_runs.run_id, workspace_id, workflow_id, conversation_id, workflow_runs.status,
        workflow_runs.advancing, asked),
    s as (
      insert into workflow_steps (run_id, step_id, position, record, revision)
      select t.run_id, step_id, string_to_array(position, ',')::integer[], record, revision
      from unnest($8::text[], $9::text[], $10::text[], $11::json[], $12::bigint[])
        t (run_id, step_id, position, record, revision) join r on r.run_id = t.run_id
      on conflict (run_id, step_id) do update
        set position = excluded.position, record = excluded.record, revision = excluded.revision
        where workflow_steps.revision <= excluded.revision)
    select free.run_id, free.opened, free.status as status_before, workspace_id, workflow_id, conversation_id, r.status, asked,
      not advancing and exists (
        select from workflow_runs q where q.workspace_id = r.workspace_id and q.queued_at is not null) as frees
    from free left join r on r.run_id = free.run_id`,
}

/** What became of a write: `status` is null when nothing was written. */
export type WriteRow = Pick<RunRow, 'run_id' | 'opened'> & { status_before: RunRow['status'] } & (
    | WrittenRow
    | { status: null }
  )

/** `frees`: a place has become free that somebody waits for. `asked`: people may still see a question of it. */
export type WrittenRow = Pick<
  RunRow,
  'run_id' | 'workspace_id' | 'workflow_id' | 'conversation_id' | 'status' | 'asked'
> & {
  frees: boolean
}

const existingStatement: HotStatement = {
  name: 'existing-runs',
  text: 'select run_id from workflow_runs where run_id = any($1)',
}

export async function listExisting(database: Database, runIds: readonly string[]): Promise<Set<string>> {
  const rows = await database.hot<Pick<RunRow, 'run_id'>>(existingStatement, [runIds])
  return new Set(rows.map(({ run_id }) => run_id))
}

const wakeStatement: HotStatement = {
  name: 'wake-run-2',
  text: `update workflow_runs set advancing = place.free, resume_id = $3, resume_key = $3, resumed_at = guild_moment(),
      queued_at = case when place.free then null else guild_moment() end,
      resume_taken_at = case when place.free then guild_moment() end, updated_at = guild_moment()
    from (select may_advance($2, $5) as free offset 0) place
    where run_id = $1 and opened = $4 and status = 'running' and resume_id is distinct from $3
    returning advancing`,
}

/**
 * A run that slept takes a place again, or waits for one; then `key` is what it is told when it has it. Undefined when
 * this was done before, and when it is not for this opening to do.
 */
export async function claimWake(
  database: Database,
  { run_id, workspace_id, opened }: Pick<RunRow, 'run_id' | 'workspace_id' | 'opened'>,
  key: string,
  places: number,
): Promise<{ advancing: boolean } | undefined> {
  const values = [run_id, workspace_id, key, opened, places]
  const [row] = await database.hot<{ advancing: boolean }>(wakeStatement, values)
  return row
}

/** The same answer may be taken again; undefined when it was taken back. */
export async function claimAnswer(db: Db, runId: string, resumeId: string) {
  return db
    .updateTable('workflow_runs')
    .set((e) => ({ resume_taken_at: e.fn.coalesce('resume_taken_at', thisMoment) }))
    .where('run_id', '=', runId)
    .where('resume_id', '=', resumeId)
    .returning('run_id')
    .executeTakeFirst()
}

export async function updateLeft(db: Db, runId: string, opened: number): Promise<void> {
  await db
    .updateTable('workflow_runs')
    .set({ left_at: thisMoment })
    .where('run_id', '=', runId)
    .where('opened', '=', opened)
    .where('status', '=', 'canceled')
    .execute()
}
