import { randomUUID } from 'node:crypto'
import type { Notification } from '@guildhall/contract'
import type { Tx } from '#platform/database.ts'
import {
  type Change,
  changeThread,
  isListenedTo,
  say,
  type ThreadParts,
  wakeThread,
} from '#running/threads/threads.ts'
import * as store from './store.ts'

/** Something that happened elsewhere and may concern conversations. */
export interface Notice {
  readonly kind: string
  readonly source: string
  readonly priority: Notification['priority']
  readonly summary: string
  readonly payload: object
  /** The same for the same thing, however often it is told. */
  readonly dedupeKey: string
  /** Higher when the same thing has happened again. */
  readonly revision?: number
  /** Whether an agent that wants to be woken is; it is when left out. */
  readonly wakes?: boolean
}

/**
 * Tells a thread, once: the record and the event that carries it are one transaction under the thread's lock. With
 * `claim` only if that says so in the same transaction. Gives the record when it was told now.
 */
export async function tellThread(
  parts: ThreadParts,
  threadRowId: number,
  notice: Notice,
  claim: (tx: Tx) => Promise<boolean> = async () => true,
): Promise<Notification | undefined> {
  const told = await changeThread(parts, threadRowId, async (tx, change) =>
    (await claim(tx)) ? record(tx, change, notice) : undefined,
  )
  if (!told) return undefined
  const { notification, thread } = told
  const { threadId, id: notificationId, kind } = notification
  if (thread.visibility === 'workspace') {
    const { workspace_id: workspaceId } = thread
    parts.bus.publish({ type: 'notification', workspaceId, notificationId, threadId, kind })
  }
  if (notice.wakes !== false && thread.on_notification === 'wake')
    await wakeThread(parts, threadRowId, wakeText)
  return notification
}

/** What came in is told beside it, marked as what it is: nothing of it is said in the person's name. */
const wakeText =
  'You asked to be woken when something happens that concerns this conversation. It has: see the notification. ' +
  'Do what is left to do about it, or say briefly what it means.'

async function record(tx: Tx, change: Change, notice: Notice) {
  const { thread } = change
  const row = await store.upsertNotification(tx, {
    id: `notice_${randomUUID()}`,
    workspace_id: thread.workspace_id,
    thread_row_id: thread.id,
    agent_slug: thread.agent_slug,
    source: notice.source,
    kind: notice.kind,
    priority: notice.priority,
    status: (await isListenedTo(tx, thread.id)) ? 'delivered' : 'pending',
    summary: notice.summary,
    payload: JSON.stringify(notice.payload),
    dedupe_key: notice.dedupeKey,
    revision: notice.revision ?? 0,
    // Its own event is the next one: the thread is locked.
    sequence: thread.last_sequence + 1,
  })
  if (!row) return undefined
  const notification = describeNotification({ ...row, thread_id: thread.thread_id })
  await say(tx, change, [{ type: 'notification', payload: { ...notification } }])
  return { notification, thread }
}

export function describeNotification(row: store.ListedRow): Notification {
  return {
    id: row.id,
    threadId: row.thread_id,
    resourceId: row.workspace_id,
    agentId: `${row.workspace_id}:${row.agent_slug}`,
    source: row.source,
    kind: row.kind,
    priority: row.priority,
    status: row.status,
    summary: row.summary,
    payload: row.payload as Record<string, unknown>,
    dedupeKey: row.dedupe_key,
    revision: row.revision,
    sequence: row.sequence,
    createdAt: row.created_at,
    ...(row.delivered_at !== null && { deliveredAt: row.delivered_at }),
    ...(row.seen_at !== null && { seenAt: row.seen_at }),
  }
}
