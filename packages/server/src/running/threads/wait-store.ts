import { sql } from 'kysely'
import { secondsFromNow, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import { isPending } from '#platform/deadline.ts'
import type { RunRow } from './store.ts'
import { type NewEvent, toRunId } from './thread-log.ts'

/** Why a run must wait, and for what. */
export interface Wait {
  readonly kind: 'approval' | 'execution' | 'run'
  readonly ref: string
  readonly toolUseId: string
  /** Left out, a day: then the tool is told that nothing came. */
  readonly until?: Date | undefined
  /** What the thread is told of it. */
  readonly frame?: Extract<NewEvent, { type: 'approval.required' }> | undefined
}

export const longestWaitSeconds = 24 * 3600

/** The next segment begins when it is woken. */
export async function updateRunWaiting(tx: Tx, run: RunRow, wait: Wait, chargedMilliDs: number) {
  const latest = secondsFromNow(longestWaitSeconds)
  return tx
    .updateTable('thread_runs')
    .set((e) => ({
      status: 'waiting',
      wait_kind: wait.kind,
      wait_ref: wait.ref,
      wait_tool_use: wait.toolUseId,
      over_at: null,
      wait_until:
        wait.until === undefined ? latest : sql<string>`least(${wait.until}::timestamptz, ${latest})`,
      segment: e('segment', '+', 1),
      settled_milli_ds: e('settled_milli_ds', '+', chargedMilliDs),
      sent_at: null,
      worker_id: null,
      offers: 0,
    }))
    .where('id', '=', run.id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** The call that it waited with finds out by itself what came of it: what that was stays in the row. */
export async function updateRunWoken(tx: Tx, id: number): Promise<RunRow> {
  return tx
    .updateTable('thread_runs')
    .set({ status: 'working', over_at: null, ready_at: thisMoment, touched_at: thisMoment })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Its wait is over, and it stands in line for a place. */
export async function updateRunOver(tx: Tx, id: number): Promise<void> {
  await tx
    .updateTable('thread_runs')
    .set({ over_at: thisMoment })
    .where('id', '=', id)
    .where('over_at', 'is', null)
    .execute()
}

/**
 * Runs whose wait is over, and nobody has seen that yet: what they waited for was decided, has ended or is gone, or
 * nothing came in time. Of many that wait only those are read.
 */
export async function listWaitsOver(db: Db, limit: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with waits as not materialized (
      select id, wait_kind, wait_ref, wait_until from thread_runs where status = 'waiting' and over_at is null)
    select id from waits r
    where r.wait_kind = 'approval' and not exists (
      select from approval_requests a where a.id = r.wait_ref and ${isPending('a')})
    union
    select id from waits r
    where r.wait_kind = 'execution' and not exists (
      select from executions e where e.execution_id = r.wait_ref and e.status not in ('completed', 'failed'))
    union
    select id from waits r
    where r.wait_kind = 'run' and not exists (
      select from thread_runs asked where asked.run_id = substr(r.wait_ref, ${toRunId('').length + 1})::uuid
        and asked.status in ('queued', 'working', 'waiting'))
      and not (select is_open from chat_caused(substr(r.wait_ref, ${toRunId('').length + 1})::uuid))
    union
    select id from waits r where r.wait_until <= guild_now()
    order by id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Runs that stand in line after a wait, of workspaces with a place, and of each no more than it has. */
export async function listWithPlace(
  db: Db,
  { places, limit, workspaceId }: { places: number; limit: number; workspaceId?: string },
): Promise<number[]> {
  const own = workspaceId === undefined ? sql`` : sql`and workspace_id = ${workspaceId}`
  const { rows } = await sql<{ id: number }>`
    with ranked as (
      select id, workspace_id, row_number() over (partition by workspace_id order by id) as place
      from thread_runs where status = 'waiting' and over_at is not null ${own})
    select r.id from ranked r
    where r.place <= ${places} - (
      select count(*) from thread_runs w where w.workspace_id = r.workspace_id and w.status = 'working')
    order by r.id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Who waits for this. */
export async function listWaitingFor(db: Db, kind: Wait['kind'], ref: string): Promise<number[]> {
  const rows = await db
    .selectFrom('thread_runs')
    .select('id')
    .where('status', '=', 'waiting')
    .where('wait_kind', '=', kind)
    .where('wait_ref', '=', ref)
    .execute()
  return rows.map(({ id }) => id)
}
