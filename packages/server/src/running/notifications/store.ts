import { type Selectable, sql } from 'kysely'
import { now, secondsAgo, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'

export type NotificationRow = Selectable<Tables['notifications']>

export interface NewNotification {
  readonly id: string
  readonly workspace_id: string
  readonly thread_row_id: number
  readonly agent_slug: string
  readonly source: string
  readonly kind: string
  readonly priority: NotificationRow['priority']
  readonly status: 'pending' | 'delivered'
  readonly summary: string
  readonly payload: string
  readonly dedupe_key: string
  readonly revision: number
  readonly sequence: number
}

/** Undefined when it was told already: a row is opened again only by what happened later. */
export async function upsertNotification(tx: Tx, row: NewNotification): Promise<NotificationRow | undefined> {
  const deliveredAt = row.status === 'delivered' ? (now as never) : null
  return tx
    .insertInto('notifications')
    .values({ ...row, delivered_at: deliveredAt })
    .onConflict((conflict) =>
      conflict
        .columns(['thread_row_id', 'dedupe_key'])
        .doUpdateSet((e) => ({
          status: e.ref('excluded.status'),
          summary: e.ref('excluded.summary'),
          payload: e.ref('excluded.payload'),
          revision: e.ref('excluded.revision'),
          sequence: e.ref('excluded.sequence'),
          delivered_at: e.ref('excluded.delivered_at'),
          seen_at: null,
        }))
        .whereRef('notifications.revision', '<', 'excluded.revision'),
    )
    .returningAll()
    .executeTakeFirst()
}

export type ListedRow = NotificationRow & { readonly thread_id: string }

export interface Page {
  /** Whose private threads are seen; null for none. */
  readonly personId: string | null
  readonly threadRowId?: number | undefined
  readonly status: NotificationRow['status'] | undefined
  readonly after: { readonly at: string; readonly id: string } | undefined
  readonly limit: number
}

export async function listNotifications(db: Db, workspaceId: string, page: Page): Promise<ListedRow[]> {
  const { personId, threadRowId, status, after, limit } = page
  return ofVisibleThreads(db, workspaceId, personId)
    .$if(threadRowId !== undefined, (query) => query.where('n.thread_row_id', '=', threadRowId ?? 0))
    .$if(status !== undefined, (query) => query.where('n.status', '=', status ?? 'pending'))
    .$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(n.created_at, n.id) < (${after?.at}::timestamptz, ${after?.id})`),
    )
    .orderBy('n.created_at', 'desc')
    .orderBy('n.id', 'desc')
    .limit(limit)
    .execute()
}

export async function findNotification(db: Db, workspaceId: string, personId: string | null, id: string) {
  return ofVisibleThreads(db, workspaceId, personId).where('n.id', '=', id).executeTakeFirst()
}

function ofVisibleThreads(db: Db, workspaceId: string, personId: string | null) {
  return db
    .selectFrom('notifications as n')
    .innerJoin('threads as t', 't.id', 'n.thread_row_id')
    .selectAll('n')
    .select(['t.thread_id', 't.visibility', 't.user_id', 't.kind as thread_kind'])
    .where('n.workspace_id', '=', workspaceId)
    .where((e) =>
      e.or([
        e('t.visibility', '=', 'workspace'),
        ...(personId === null ? [] : [e('t.user_id', '=', personId)]),
      ]),
    )
}

/** Somebody has read them. */
export async function updateDelivered(db: Db, ids: readonly string[]): Promise<void> {
  await db
    .updateTable('notifications')
    .set({ status: 'delivered', delivered_at: thisMoment })
    .where('id', 'in', ids)
    .where('status', '=', 'pending')
    .execute()
}

export async function updateSeen(tx: Tx, id: string): Promise<void> {
  await tx
    .updateTable('notifications')
    .set({ status: 'seen', seen_at: thisMoment })
    .where('id', '=', id)
    .where('status', 'in', ['pending', 'delivered'])
    .execute()
}

export async function updateSeenThrough(tx: Tx, threadRowId: number, through: number): Promise<void> {
  await tx
    .updateTable('notifications')
    .set({ status: 'seen', seen_at: thisMoment })
    .where('thread_row_id', '=', threadRowId)
    .where('sequence', '<=', through)
    .where('status', 'in', ['pending', 'delivered'])
    .execute()
}

export async function updateDismissed(tx: Tx, id: string): Promise<void> {
  await tx.updateTable('notifications').set({ status: 'dismissed' }).where('id', '=', id).execute()
}

export async function deleteOldNotifications(db: Db, olderThanSeconds: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('notifications')
    .where('created_at', '<=', secondsAgo(olderThanSeconds))
    .executeTakeFirst()
  return Number(numDeletedRows)
}

export type DueRow = Pick<Selectable<Tables['notifications_due']>, 'run_id' | 'status' | 'revision'>

export async function listDueOfRun(db: Db, runId: string): Promise<DueRow[]> {
  return db
    .selectFrom('notifications_due')
    .select(['run_id', 'status', 'revision'])
    .where('run_id', '=', runId)
    .orderBy('due_at')
    .orderBy('revision')
    .execute()
}

/** Runs whose thread should have been told by now, oldest first. */
export async function listDueRuns(db: Db, olderThanSeconds: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('notifications_due')
    .select('run_id')
    .where('due_at', '<=', secondsAgo(olderThanSeconds))
    .orderBy('due_at')
    .limit(limit)
    .execute()
  return [...new Set(rows.map(({ run_id }) => run_id))]
}

/** False when somebody else has told it. */
export async function deleteDue(db: Db, { run_id, status, revision }: DueRow): Promise<boolean> {
  const deleted = await db
    .deleteFrom('notifications_due')
    .where('run_id', '=', run_id)
    .where('status', '=', status)
    .where('revision', '=', revision)
    .returning('run_id')
    .executeTakeFirst()
  return deleted !== undefined
}
