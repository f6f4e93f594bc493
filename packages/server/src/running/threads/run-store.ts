import { type Insertable, type Selectable, sql } from 'kysely'
import { thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'

export type RunRow = Selectable<Tables['thread_runs']>
type NewRun = Insertable<Tables['thread_runs']>

export async function insertRun(tx: Tx, run: NewRun): Promise<RunRow> {
  return tx.insertInto('thread_runs').values(run).returningAll().executeTakeFirstOrThrow()
}

export async function findRunById(db: Db, id: number): Promise<RunRow | undefined> {
  return db.selectFrom('thread_runs').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function findRun(db: Db, threadRowId: number, runId: string): Promise<RunRow | undefined> {
  return db
    .selectFrom('thread_runs')
    .selectAll()
    .where('thread_row_id', '=', threadRowId)
    .where('run_id', '=', runId)
    .executeTakeFirst()
}

export async function findActiveRunId(db: Db, threadRowId: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('threads as t')
    .innerJoin('thread_runs as r', 'r.id', 't.active_run')
    .select('r.run_id')
    .where('t.id', '=', threadRowId)
    .executeTakeFirst()
  return row?.run_id
}

export async function findRunByRunId(db: Db, runId: string): Promise<RunRow | undefined> {
  return db.selectFrom('thread_runs').selectAll().where('run_id', '=', runId).executeTakeFirst()
}

/** Of the workspace, with who sees its thread. */
export async function findRunOfWorkspace(db: Db, workspaceId: string, runId: string) {
  const run = await db
    .selectFrom('thread_runs')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('run_id', '=', runId)
    .executeTakeFirst()
  if (!run) return undefined
  const thread = await db
    .selectFrom('threads')
    .selectAll()
    .where('id', '=', run.thread_row_id)
    .executeTakeFirst()
  return thread && { run, thread }
}

/** Those that wait their turn in a thread, the first in line first. */
export async function listQueued(db: Db, threadRowId: number): Promise<RunRow[]> {
  return db
    .selectFrom('thread_runs')
    .selectAll()
    .where('thread_row_id', '=', threadRowId)
    .where('status', '=', 'queued')
    .orderBy('id')
    .execute()
}

/** As many as wait, at most one more than the limit. */
export async function countQueued(db: Db, workspaceId: string, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from thread_runs where workspace_id = ${workspaceId} and status = 'queued' limit ${limit + 1}) known`.execute(
    db,
  )
  return rows[0]?.count ?? 0
}

/** Threads of a workspace where somebody waits and nobody is active, who waited longest first. */
export async function listIdleWithQueue(db: Db, workspaceId: string, limit: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select t.id, min(q.id) as first from thread_runs q join threads t on t.id = q.thread_row_id
    where q.workspace_id = ${workspaceId} and q.status = 'queued' and t.active_run is null
    group by t.id order by first limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** A message more that is meant for a run. */
export async function updateMessages(tx: Tx, id: number, sequence: number): Promise<void> {
  await tx.updateTable('thread_runs').set({ last_message: sequence }).where('id', '=', id).execute()
}

/** The ids of the messages that are meant for a run, as their events say. */
export async function listMessageIds(tx: Tx, run: RunRow): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select payload::json ->> 'messageId' as id from thread_events
    where thread_row_id = ${run.thread_row_id} and type = 'user.message' and run_id = ${run.run_id}
      and sequence between ${run.message_sequence} and ${run.last_message} order by sequence`.execute(tx)
  return rows.map(({ id }) => id)
}

/** Whether there is a place for a run, which is then held until the transaction ends. */
export async function isPlaceFree(
  tx: Tx,
  run: Pick<RunRow, 'id' | 'workspace_id' | 'thread_row_id'>,
  places: number,
): Promise<boolean> {
  const { rows } = await sql<{ free: boolean }>`
    select may_chat(${run.workspace_id}, ${run.thread_row_id}, ${run.id}, ${places}) as free`.execute(tx)
  return rows[0]?.free ?? false
}

/** Whether who a run acts for may still act, by a key, an app's grant or in person; for a step by what its workflow needs. */
const mayActSql = `may_act(workspace_id, user_id,
  case when credential_kind = 'key' then credential_id end,
  case when credential_kind = 'oauth' then credential_id end,
  case when allowed_once then null when workflow_run_id is null then array['agent:message']
    else array['tool:execute'] end, created_at)`

export async function mayAct(db: Db, runRowId: number): Promise<boolean> {
  const { rows } = await sql<{ may_act: boolean }>`
    select ${sql.raw(mayActSql)} as may_act from thread_runs where id = ${runRowId}`.execute(db)
  return rows[0]?.may_act ?? false
}

/** Whether a grant that is used up has just let this key write. */
export async function isAllowedOnce(tx: Tx, keyId: number): Promise<boolean> {
  const { rows } = await sql<{ once: boolean }>`
    select is_allowed_once(${keyId}, array['agent:message']) as once`.execute(tx)
  return rows[0]?.once ?? false
}

export async function updateRunStarted(tx: Tx, id: number): Promise<RunRow> {
  return tx
    .updateTable('thread_runs')
    .set({ status: 'working', ready_at: thisMoment, touched_at: thisMoment, started_at: thisMoment })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

interface RunEnd {
  readonly status: 'completed' | 'failed'
  readonly stop_reason: NonNullable<RunRow['stop_reason']>
  readonly error_code: string | null
  readonly settled_milli_ds: number
}

export async function updateRunEnded(tx: Tx, id: number, end: RunEnd): Promise<RunRow> {
  return tx
    .updateTable('thread_runs')
    .set({
      status: end.status,
      stop_reason: end.stop_reason,
      error_code: end.error_code,
      settled_milli_ds: end.settled_milli_ds,
      // What is still noted came to nothing, and nobody answers for it any more.
      pending_milli_ds: 0,
      pending_input_tokens: 0,
      pending_output_tokens: 0,
      wait_kind: null,
      wait_ref: null,
      wait_tool_use: null,
      wait_until: null,
      completed_at: thisMoment,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** For whom nobody works at the moment: it is begun by whoever the engine calls next. */
export async function claimBegin(tx: Tx, runRowId: number, attempt: number, workerId: string) {
  return tx
    .updateTable('thread_runs')
    .set({
      attempt,
      // What was lost with a worker is asked for again, and not paid.
      pending_milli_ds: 0,
      pending_input_tokens: 0,
      pending_output_tokens: 0,
      worker_id: workerId,
      touched_at: thisMoment,
      sent_at: sql<string>`coalesce(sent_at, guild_moment())`,
    })
    .where('id', '=', runRowId)
    .where('status', '=', 'working')
    .returningAll()
    .executeTakeFirst()
}

export async function updateSent(db: Db, runRowId: number, segment: number): Promise<void> {
  await db
    .updateTable('thread_runs')
    .set({ sent_at: thisMoment })
    .where('id', '=', runRowId)
    .where('segment', '=', segment)
    .where('sent_at', 'is', null)
    .execute()
}

/** What came of asking an agent: whether anything of it goes on, and what all of it cost so far. */
export async function findCaused(db: Db, runId: string): Promise<{ isOpen: boolean; milliDs: number }> {
  const { rows } = await sql<{ isOpen: boolean; milliDs: number }>`
    select is_open as "isOpen", cost_milli_ds as "milliDs" from chat_caused(${runId}::uuid)`.execute(db)
  return rows[0] ?? { isOpen: false, milliDs: 0 }
}

/** Whether a run that goes on has asked an agent here. */
export async function isAskedIn(tx: Tx, threadRowId: number): Promise<boolean> {
  const row = await tx
    .selectFrom('thread_runs as r')
    .innerJoin('thread_runs as asker', 'asker.id', 'r.parent_run')
    .select('r.id')
    .where('r.thread_row_id', '=', threadRowId)
    .where('asker.status', 'in', ['queued', 'working', 'waiting'])
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
