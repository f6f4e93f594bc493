import type { NewExecutionEvent } from '@guildhall/contract'
import type { Database, Tx } from '../platform/database.ts'
import type { RedisLink } from '../platform/redis.ts'
import { type DeltaNews, type EventNews, encodeNews, eventId, newsOf } from './event-frames.ts'
import { type EventColumns, insertEvents, insertEventsFenced } from './event-store.ts'

/**
 * The log of an execution: numbered from 1 without gaps, append-only, the truth. Persist, then publish: word
 * over Redis only spares readers the wait, and every reader finds out by itself what it was not told.
 */
export type NewEvent = NewExecutionEvent

export type StoredEvent = NewEvent & { readonly id: string; readonly sequence: number }

/**
 * Appends what the given attempt of a working execution has to say. Undefined when another attempt has taken
 * over or the execution has ended; then nothing is written.
 */
export async function appendEvents(
  database: Database,
  executionRowId: number,
  attempt: number,
  events: readonly NewEvent[],
): Promise<StoredEvent[] | undefined> {
  if (events.length === 0) return []
  const fence = { executionRowId, attempt, batch: undefined }
  const base = await insertEventsFenced(database, fence, columnsOf(events))
  return base === undefined ? undefined : numbered(executionRowId, base, events)
}

/** The same in a transaction that holds the execution's row lock and changes its state with it. */
export async function appendEventsLocked(
  tx: Tx,
  executionRowId: number,
  events: readonly NewEvent[],
): Promise<StoredEvent[]> {
  if (events.length === 0) return []
  const base = await insertEvents(tx, executionRowId, columnsOf(events))
  if (base === undefined)
    throw new Error(`execution ${executionRowId} is gone: lock its row before appending`)
  return numbered(executionRowId, base, events)
}

/** Tells readers of events that are committed. Never throws or waits. */
export function publishEvents(
  redis: RedisLink,
  executionRowId: number,
  events: readonly StoredEvent[],
): void {
  if (events.length === 0) return
  const rows = events.map(({ sequence, type, payload }) => ({
    sequence,
    type,
    payload: JSON.stringify(payload),
  }))
  publishNews(redis, executionRowId, newsOf(executionRowId, rows))
}

/** More than this is not sent through Redis: readers are told where the log ends and read it there. */
const maxNewsLength = 64 * 1024

export function publishNews(redis: RedisLink, executionRowId: number, news: EventNews | DeltaNews): void {
  const short = news.kind === 'events' && news.frames.length > maxNewsLength ? { ...news, frames: '' } : news
  void redis.publish(newsChannel(executionRowId), encodeNews(short))
}

export function newsChannel(executionRowId: number): string {
  return `execution:${executionRowId}`
}

function columnsOf(events: readonly NewEvent[]): EventColumns {
  return {
    types: events.map(({ type }) => type),
    payloads: events.map(({ payload }) => JSON.stringify(payload)),
  }
}

function numbered(executionRowId: number, base: number, events: readonly NewEvent[]): StoredEvent[] {
  return events.map((event, index) => {
    const sequence = base + index + 1
    return { id: eventId(executionRowId, sequence), ...event, sequence }
  })
}
