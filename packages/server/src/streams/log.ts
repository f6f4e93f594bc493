import type { Database, Tx } from '#platform/database.ts'
import type { RedisLink } from '#platform/redis.ts'
import { withoutSecrets } from '#platform/secrets.ts'
import { type DeltaNews, type EventNews, type EventRow, encodeNews } from './frames.ts'
import { createLogStore, type EventColumns, type LogStoreKind, type Written } from './store.ts'

/** What tells one kind of log from another. */
export interface LogKind extends LogStoreKind {
  readonly channel: (rowId: number) => string
  readonly eventId: (rowId: number, sequence: number) => string
  /** By the type of an event: whether nothing more comes after it. */
  readonly isLast: (type: string) => boolean
  /** By the type of an event of a run: whether that run says nothing more. */
  readonly isLastOfRun?: (type: string) => boolean
}

export interface AnyEvent {
  readonly type: string
  readonly payload: object
  /** Whose it is, in a log that several runs write to. */
  readonly runId?: string | null
}

type Stored<Event> = Event & { readonly id: string; readonly sequence: number; readonly more?: string }

/** More than this is not sent through Redis: readers are told where the log ends and read it there. */
const maxNewsLength = 64 * 1024

export type Log<Event extends AnyEvent = AnyEvent> = ReturnType<typeof createLog<Event>>

/**
 * A log: numbered from 1 without gaps, append-only, the truth. Persist, then publish: word over Redis only spares
 * readers the wait, and every reader finds out by itself what it was not told.
 */
export function createLog<Event extends AnyEvent>(kind: LogKind) {
  const { channel, eventId, isLast, isLastOfRun = () => false } = kind
  const store = createLogStore(kind)

  const eventFrame = (rowId: number, { sequence, type, payload, more = '' }: EventRow): string => {
    const id = eventId(rowId, sequence)
    return `id: ${sequence}\ndata: {"id":"${id}","type":"${type}","sequence":${sequence},${more}"payload":${payload}}\n\n`
  }

  const framesOf = (rowId: number, rows: readonly EventRow[]): string => {
    let frames = ''
    for (const row of rows) frames += eventFrame(rowId, row)
    return frames
  }

  const reachOf = (rows: readonly EventRow[]): Pick<EventNews, 'first' | 'last' | 'ended'> => {
    const last = rows.at(-1)
    return {
      first: rows[0]?.sequence ?? 0,
      last: last?.sequence ?? 0,
      ended: last !== undefined && isLast(last.type),
    }
  }

  /** What readers are told of consecutive events. */
  const newsOf = (rowId: number, rows: readonly EventRow[]): EventNews => ({
    kind: 'events',
    ...reachOf(rows),
    frames: framesOf(rowId, rows),
  })

  const publishNews = (redis: RedisLink, rowId: number, news: EventNews | DeltaNews): void => {
    const short =
      news.kind === 'events' && news.frames.length > maxNewsLength ? { ...news, frames: '' } : news
    void redis.publish(channel(rowId), encodeNews(short))
  }

  const numbered = (
    rowId: number,
    events: readonly Event[],
    written: (index: number) => Written,
  ): Stored<Event>[] =>
    events.map((event, index) => {
      const { sequence, more } = written(index)
      return { id: eventId(rowId, sequence), ...event, sequence, ...(more !== undefined && { more }) }
    })

  return {
    ...store,
    channel,
    eventId,
    isLastOfRun,
    eventFrame,
    framesOf,
    reachOf,
    newsOf,
    publishNews,

    /**
     * Appends what the given attempt has to say. Undefined when another attempt has taken over or the log has ended;
     * then nothing is written.
     */
    appendEvents: async (
      database: Database,
      rowId: number,
      attempt: number,
      events: readonly Event[],
    ): Promise<Stored<Event>[] | undefined> => {
      if (events.length === 0) return []
      const fence = { rowId, attempt, batch: undefined }
      const base = await store.insertEventsFenced(database, fence, columnsOf(events))
      if (base === undefined) return undefined
      return numbered(rowId, events, (index) => ({ sequence: base + index + 1 }))
    },

    /** The same in a transaction that holds the lock of the counters' row and changes its state with it. */
    appendEventsLocked: async (tx: Tx, rowId: number, events: readonly Event[]): Promise<Stored<Event>[]> => {
      if (events.length === 0) return []
      const written = await store.insertEvents(tx, rowId, columnsOf(events))
      if (!written) throw new Error(`row ${rowId} of ${kind.counters} is gone: lock it before appending`)
      return numbered(rowId, events, (index) => written[index] as Written)
    },

    /** Tells readers of events that are committed. Never throws or waits. */
    publishEvents: (redis: RedisLink, rowId: number, events: readonly Stored<Event>[]): void => {
      if (events.length === 0) return
      const rows = events.map(({ sequence, type, payload, more = '' }) => ({
        sequence,
        type,
        payload: textOf(payload),
        more,
      }))
      publishNews(redis, rowId, newsOf(rowId, rows))
    },
  }
}

/** A payload as it is kept and sent on: whoever reads a log gets no secret of ours by it, whoever put it there. */
export function textOf(payload: object): string {
  return withoutSecrets(JSON.stringify(payload))
}

function columnsOf(events: readonly AnyEvent[]): EventColumns {
  return {
    types: events.map(({ type }) => type),
    payloads: events.map(({ payload }) => textOf(payload)),
    runIds: events.map(({ runId = null }) => runId),
  }
}
