import { type Selectable, sql } from 'kysely'
import { secondsAgo, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'

export * from './run-store.ts'

export type ThreadRow = Selectable<Tables['threads']>

export interface NewThread {
  readonly workspace_id: string
  readonly thread_id: string
  readonly agent_slug: string
  readonly user_id: string
  readonly api_key_id: number | null
  readonly trace_id: string
  readonly title?: string
  readonly visibility?: 'workspace' | 'private'
  readonly on_notification?: 'record' | 'wake'
  readonly kind?: 'chat' | 'step'
}

/** Undefined when there is one of that id. */
export async function insertThread(tx: Tx, thread: NewThread): Promise<ThreadRow | undefined> {
  return tx
    .insertInto('threads')
    .values(thread)
    .onConflict((conflict) => conflict.columns(['workspace_id', 'thread_id']).doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** As many as people see, at most one more than the limit. */
export async function countThreads(db: Db, workspaceId: string, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count
    from (select from threads where workspace_id = ${workspaceId} and kind = 'chat' limit ${limit + 1}) known`.execute(
    db,
  )
  return rows[0]?.count ?? 0
}

export async function findThread(db: Db, workspaceId: string, threadId: string) {
  return db
    .selectFrom('threads')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('thread_id', '=', threadId)
    .executeTakeFirst()
}

export async function findThreadName(db: Db, id: number): Promise<string | undefined> {
  const row = await db.selectFrom('threads').select('thread_id').where('id', '=', id).executeTakeFirst()
  return row?.thread_id
}

/** Everything that changes a thread, its log or its runs holds this row, and takes it first. */
export async function lockThread(tx: Tx, id: number): Promise<ThreadRow | undefined> {
  return tx.selectFrom('threads').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}

/** For who goes by what a thread is like: until the transaction ends, nobody changes that. */
export async function holdThread(tx: Tx, id: number): Promise<ThreadRow | undefined> {
  return tx.selectFrom('threads').selectAll().where('id', '=', id).forShare().executeTakeFirst()
}

export async function lockThreadNamed(tx: Tx, workspaceId: string, threadId: string) {
  return tx
    .selectFrom('threads')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('thread_id', '=', threadId)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export async function updateThread(
  tx: Tx,
  id: number,
  change: Partial<Pick<ThreadRow, 'title' | 'visibility' | 'on_notification' | 'user_id'>>,
): Promise<ThreadRow> {
  return tx
    .updateTable('threads')
    .set({ ...change, last_activity_at: thisMoment })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Which run is active from now on, and that nobody who wrote as another one writes any more. */
export async function updateActive(tx: Tx, id: number, activeRun: number | null): Promise<void> {
  await tx
    .updateTable('threads')
    .set((e) => ({
      active_run: activeRun,
      active_attempt: e('active_attempt', '+', 1),
      last_activity_at: thisMoment,
    }))
    .where('id', '=', id)
    .execute()
}

/** Somebody wrote; a person, and its agent may be woken anew. */
export async function updateSpoken(
  tx: Tx,
  { id, title }: Pick<ThreadRow, 'id' | 'title'>,
  isPerson: boolean,
): Promise<void> {
  await tx
    .updateTable('threads')
    .set({ title, ...(isPerson && { wakes_since_person: 0 }), last_activity_at: thisMoment })
    .where('id', '=', id)
    .execute()
}

/**
 * The last run by which the owner of a thread spoke in it through what they opened it with: waking gives nobody more than
 * that. Undefined also when its agent was woken lately.
 */
export async function findWaking(tx: Tx, thread: ThreadRow, pauseSeconds: number) {
  return tx
    .selectFrom('thread_runs as r')
    .innerJoin('threads as t', 't.id', 'r.thread_row_id')
    .selectAll('r')
    .where('t.id', '=', thread.id)
    .whereRef('r.user_id', '=', 't.user_id')
    .where('r.credential_kind', '=', thread.api_key_id === null ? 'session' : 'key')
    .$if(thread.api_key_id !== null, (query) => query.whereRef('r.credential_id', '=', 't.api_key_id'))
    .where((e) =>
      e.or([e('t.last_woken_at', 'is', null), e('t.last_woken_at', '<=', secondsAgo(pauseSeconds))]),
    )
    .orderBy('r.id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Its agent goes on once more without a person: also what it is told in a session's name counts as such. */
export async function updateWoken(tx: Tx, thread: ThreadRow): Promise<void> {
  await tx
    .updateTable('threads')
    .set({ wakes_since_person: thread.wakes_since_person + 1, last_woken_at: thisMoment })
    .where('id', '=', thread.id)
    .execute()
}

export async function deleteThread(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('threads').where('id', '=', id).execute()
}

/** Opened and never written to. */
export async function deleteEmptyThreads(db: Db, olderThanSeconds: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from threads where id in (
      select t.id from threads t
      where t.last_sequence = 0 and t.created_at <= ${secondsAgo(olderThanSeconds)}
        and not exists (select from thread_subscriptions s where s.thread_row_id = t.id and s.until > guild_now())
      order by t.created_at limit 500 for update skip locked)`.execute(db)
  return Number(numAffectedRows)
}

export async function insertEventPartitions(db: Db): Promise<number> {
  const made = await sql<{ count: number }>`
    select make_log_partitions('thread_events', 'threads', 50000, 2) as count`.execute(db)
  return made.rows[0]?.count ?? 0
}
