import { chatTimeoutSeconds, type KeyDetail } from '@guildhall/contract'
import { sql } from 'kysely'
import { now, secondsAgo } from '#platform/clock.ts'
import type { Database, Db, HotStatement, Tx } from '#platform/database.ts'
import type { RunRow, ThreadRow } from './store.ts'
import { toRunId } from './thread-log.ts'

/** Where work is found that somebody has to see to, and what is listed. */

const open = ['queued', 'working', 'waiting'] as const
const mostShown = 100

export async function listOpenOfKey(db: Db, keyId: number, limit: number): Promise<RunRow[]> {
  return db
    .selectFrom('thread_runs')
    .selectAll()
    .where('credential_kind', '=', 'key')
    .where('credential_id', '=', keyId)
    .where('status', 'in', open)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

type ChatsOfKey = KeyDetail['chats']

/** A key's runs in these states, the oldest first, as its person is told of them. */
export async function listChatsOfKey(
  db: Db,
  keyId: number,
  states: readonly ChatsOfKey[number]['status'][],
): Promise<ChatsOfKey> {
  const rows = await db
    .selectFrom('thread_runs as r')
    .innerJoin('threads as t', 't.id', 'r.thread_row_id')
    .select(['r.run_id', 't.thread_id', 'r.agent_slug', 'r.status'])
    .where('r.credential_kind', '=', 'key')
    .where('r.credential_id', '=', keyId)
    .where('r.status', 'in', states)
    .orderBy('r.id')
    .limit(mostShown)
    .$narrowType<{ status: ChatsOfKey[number]['status'] }>()
    .execute()
  return rows.map(({ run_id, thread_id: threadId, agent_slug: agentSlug, status }) => ({
    runId: toRunId(run_id),
    threadId,
    agentSlug,
    status,
  }))
}

/** Runs of a workspace that wait for their turn or work, oldest first; of private threads only the person's own. */
export async function listChatJobs(db: Db, workspaceId: string, personId: string | null) {
  return db
    .selectFrom('thread_runs as r')
    .innerJoin('threads as t', 't.id', 'r.thread_row_id')
    .select(['r.run_id', 'r.agent_slug', 'r.created_at', 'r.status'])
    .where('r.workspace_id', '=', workspaceId)
    .where('r.status', 'in', ['queued', 'working'])
    .where('t.kind', '=', 'chat')
    .where((e) =>
      e.or([
        e('t.visibility', '=', 'workspace'),
        ...(personId === null ? [] : [e('t.user_id', '=', personId)]),
      ]),
    )
    .orderBy('r.id')
    .execute()
}

/** Ready for a while, and the engine is not known to have it. */
export async function listUnsent(db: Db, olderThanSeconds: number, limit: number): Promise<RunRow[]> {
  return db
    .selectFrom('thread_runs')
    .selectAll()
    .where('status', '=', 'working')
    .where('sent_at', 'is', null)
    .where('ready_at', '<=', secondsAgo(olderThanSeconds))
    .orderBy('ready_at')
    .limit(limit)
    .execute()
}

/** At work, and nothing was heard of it for long: an engine that lost what it had is told once more, by one process. */
export async function claimSilent(db: Db, silentSeconds: number, limit: number): Promise<RunRow[]> {
  const { rows } = await sql<RunRow>`
    update thread_runs set offers = offers + 1, touched_at = guild_moment() where id in (
      select id from thread_runs
      where status = 'working' and sent_at is not null and touched_at <= ${secondsAgo(silentSeconds)}
      order by touched_at limit ${limit} for update skip locked)
    returning *`.execute(db)
  return rows
}

/** Taken by nobody for too long, or at work for longer than any run may be. */
export async function listOverdue(db: Db, untakenSeconds: number, limit: number): Promise<RunRow[]> {
  return db
    .selectFrom('thread_runs')
    .selectAll()
    .where('status', '=', 'working')
    .where((e) =>
      e.or([
        e('ready_at', '<=', secondsAgo(chatTimeoutSeconds)),
        e.and([e('worker_id', 'is', null), e('ready_at', '<=', secondsAgo(untakenSeconds))]),
      ]),
    )
    .limit(limit)
    .execute()
}

/** Threads in which somebody waits and nobody is active, of workspaces with a place. */
export async function listStuckQueues(db: Db, places: number, limit: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with full_ones as (
      select workspace_id from thread_runs where status = 'working' group by workspace_id having count(*) >= ${places})
    select t.id, min(q.id) as first from thread_runs q join threads t on t.id = q.thread_row_id
    where q.status = 'queued' and t.active_run is null
      and q.workspace_id not in (select workspace_id from full_ones)
    group by t.id order by first limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Ended, and the step of a workflow that waits for it was not told yet. */
export async function listAwaited(db: Db, limit: number) {
  return db
    .selectFrom('thread_runs')
    .select(['id', 'awakeable_id'])
    .where('awakeable_id', 'is not', null)
    .where('status', 'in', ['completed', 'failed'])
    .limit(limit)
    .execute()
}

/** Of this awakeable: a step that was begun anew has another one. */
export async function updateAwaitedTold(db: Db, id: number, awakeableId: string): Promise<void> {
  await db
    .updateTable('thread_runs')
    .set({ awakeable_id: null })
    .where('id', '=', id)
    .where('awakeable_id', '=', awakeableId)
    .execute()
}

const attemptsStatement: HotStatement = {
  name: 'list-attempts-of-threads',
  text: 'select id, active_attempt as attempt from threads where id = any($1::bigint[])',
}

/** Which attempt may write to each of these threads; those that are gone are left out. */
export async function listAttempts(
  database: Database,
  threadRowIds: readonly number[],
): Promise<Map<number, number>> {
  const rows = await database.hot<{ id: number; attempt: number }>(attemptsStatement, [threadRowIds])
  return new Map(rows.map(({ id, attempt }) => [id, attempt]))
}

export interface ThreadItem extends ThreadRow {
  readonly run_id: string | null
  readonly run_status: RunRow['status'] | null
  readonly has_queue: boolean
  readonly unseen: number
}

interface ThreadFilter {
  /** Whose private threads are listed too. */
  readonly personId: string | null
  readonly agentSlug: string | undefined
  readonly threadId?: string | undefined
  readonly after?: { readonly at: string; readonly id: number } | undefined
  readonly limit: number
}

/** The latest active first, each with how it stands. */
export async function listThreads(db: Db, workspaceId: string, filter: ThreadFilter): Promise<ThreadItem[]> {
  let query = db
    .selectFrom('threads as t')
    .leftJoin('thread_runs as r', 'r.id', 't.active_run')
    .selectAll('t')
    .select([
      'r.run_id',
      'r.status as run_status',
      sql<boolean>`exists (select from thread_runs q where q.thread_row_id = t.id and q.status = 'queued')`.as(
        'has_queue',
      ),
      sql<number>`(select count(*) from (
        select from notifications n
        where n.thread_row_id = t.id and n.status in ('pending', 'delivered') limit ${sql.lit(mostShown)}) fresh)`.as(
        'unseen',
      ),
    ])
    .where('t.workspace_id', '=', workspaceId)
    .where((e) =>
      e.or([
        e('t.visibility', '=', 'workspace'),
        ...(filter.personId === null ? [] : [e('t.user_id', '=', filter.personId)]),
      ]),
    )
    .orderBy('t.last_activity_at', 'desc')
    .orderBy('t.id', 'desc')
    .limit(filter.limit)
  if (filter.threadId === undefined) query = query.where('t.kind', '=', 'chat')
  else query = query.where('t.thread_id', '=', filter.threadId)
  if (filter.agentSlug !== undefined) query = query.where('t.agent_slug', '=', filter.agentSlug)
  const { after } = filter
  if (after) {
    query = query.where(
      sql<boolean>`(t.last_activity_at, t.id) < (${after.at}::timestamptz, ${after.id}::bigint)`,
    )
  }
  return query.execute()
}

export async function listRuns(
  db: Db,
  threadRowId: number,
  page: { limit: number; before: number | undefined },
): Promise<RunRow[]> {
  let query = db
    .selectFrom('thread_runs')
    .selectAll()
    .where('thread_row_id', '=', threadRowId)
    .orderBy('id', 'desc')
    .limit(page.limit)
  if (page.before !== undefined) query = query.where('id', '<', page.before)
  return query.execute()
}

const subscribedSeconds = 90

/** That somebody in this process listens to these threads. */
export async function upsertSubscriptions(db: Db, processId: string, ids: readonly number[]): Promise<void> {
  await sql`
    insert into thread_subscriptions (thread_row_id, workspace_id, process_id, until)
    select t.id, t.workspace_id, ${processId}::uuid, guild_now() + make_interval(secs => ${subscribedSeconds})
    from threads t where t.id = any(${ids}::bigint[]) order by t.id
    on conflict (thread_row_id, process_id) do update set until = excluded.until`.execute(db)
}

/** Threads of a workspace that somebody listens to, the latest first. */
export async function listListening(db: Db, workspaceId: string, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('thread_subscriptions')
    .select('thread_row_id')
    .where('workspace_id', '=', workspaceId)
    .where('until', '>', now)
    .groupBy('thread_row_id')
    .orderBy((e) => e.fn.max('until'), 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ thread_row_id }) => thread_row_id)
}

export async function isListenedTo(db: Db, threadRowId: number): Promise<boolean> {
  const row = await db
    .selectFrom('thread_subscriptions')
    .select('thread_row_id')
    .where('thread_row_id', '=', threadRowId)
    .where('until', '>', now)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export async function deleteSubscription(db: Db, processId: string, id: number): Promise<void> {
  await db
    .deleteFrom('thread_subscriptions')
    .where('thread_row_id', '=', id)
    .where('process_id', '=', processId)
    .execute()
}

export async function listPrivate(db: Db, ids: readonly number[]): Promise<number[]> {
  const rows = await db
    .selectFrom('threads')
    .select('id')
    .where('id', '=', sql<number>`any(${ids}::bigint[])`)
    .where('visibility', '=', 'private')
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * The threads in which the agents of one were let ask others, and of those in turn, as far as everybody sees them; held.
 * What is asked while this waits for a thread is found by the next look.
 */
export async function lockAskedInPublic(tx: Tx, id: number): Promise<ThreadRow[]> {
  const { rows } = await sql<{ id: number }>`
    with recursive asked (id) as (
      select ${id}::bigint
      union
      select r.thread_row_id from asked a
        join thread_runs asker on asker.thread_row_id = a.id
        join thread_runs r on r.parent_run = asker.id)
    select id from asked where id <> ${id}`.execute(tx)
  return tx
    .selectFrom('threads')
    .selectAll()
    .where('id', '=', sql<number>`any(${rows.map((row) => row.id)}::bigint[])`)
    .where('visibility', '=', 'workspace')
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
}

/** Of processes that are gone. */
export async function deleteOldSubscriptions(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('thread_subscriptions')
    .where('until', '<=', now)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Asked by an agent whose own run has ended, or is gone with its thread: nobody waits for them any more. */
export async function listOrphaned(db: Db, limit: number): Promise<RunRow[]> {
  return db
    .selectFrom('thread_runs as r')
    .leftJoin('thread_runs as asker', 'asker.id', 'r.parent_run')
    .selectAll('r')
    .where('r.parent_run', 'is not', null)
    .where('r.status', 'in', open)
    .where((e) => e.or([e('asker.id', 'is', null), e('asker.status', 'in', ['completed', 'failed'])]))
    .limit(limit)
    .execute()
}

/** What agents that were asked had started, and end without: whoever asked them waits until all of it is over. */
export async function listLeftExecutions(db: Db, limit: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select e.id from executions e
    join thread_runs r on r.run_id = substr(e.chat_run_id, ${toRunId('').length + 1})::uuid
    where e.chat_run_id is not null and e.status in ('idle', 'working')
      and r.parent_run is not null and r.status in ('completed', 'failed')
    order by e.id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}
