import type { Database } from '../platform/database.ts'
import { gather } from '../platform/gather.ts'
import type { Logger } from '../platform/logger.ts'
import type { RedisLink } from '../platform/redis.ts'
import { type DeltaNews, decodeNews, type EventNews, fitting, framesOf, reachOf } from './event-frames.ts'
import { newsChannel } from './event-log.ts'
import { listEvents, listReach, type Reach } from './event-store.ts'
import { createLanes } from './stream-lanes.ts'
import { type Page, pageLength, type Reader } from './stream-reader.ts'

interface Parts {
  readonly database: Database
  readonly redis: RedisLink
  readonly logger: Logger
}

const tickMs = 250
/** While news may be lost here. */
const unsureEveryMs = 500
/** Otherwise: a worker can lose its way to Redis while this process has not. */
const sureEveryMs = 5000
/** How long after news was lost logs are still looked at often. */
const recentlyMs = 3000
const roomsPerLook = 1000
/** Of the pool's connections, so that many readers coming back at once leave the rest to requests. */
const pagesAtOnce = 4

type Hearing = Pick<Reader, 'hear' | 'hearDeltas' | 'learn' | 'end'>

/** Somebody who is about to read: from when it was taken, no news is missed. */
export interface Seat {
  /** How far the log reaches, asked after news is heard; undefined when it is gone. */
  reach(): Promise<Reach | undefined>
  /** Has the reader read as far as the log reaches, by this and by what was heard meanwhile, and hear what comes. */
  take(reader: Reader, last: number): void
  leave(): void
}

/** The readers of this process by execution; those of one share a subscription. */
export class Rooms {
  readonly #parts: Parts
  readonly #rooms = new Map<number, { readers: Set<Hearing>; leave: () => void }>()
  readonly #inLane = createLanes(pagesAtOnce)
  readonly #reachOf: (executionRowId: number) => Promise<Reach | undefined>
  #timer: NodeJS.Timeout | undefined
  #looking = false
  #unsureAt = Number.NEGATIVE_INFINITY
  #lastLook = performance.now()

  constructor(parts: Parts) {
    this.#parts = parts
    this.#reachOf = gather(async (ids: number[]) => {
      const known = await listReach(parts.database, ids)
      return ids.map((id) => known.get(id))
    })
  }

  /** The next events of the log, as many as were asked for and fit a page. */
  readPage(executionRowId: number, after: number, most: number): Promise<Page | undefined> {
    return this.#inLane(async () => {
      const found = await listEvents(this.#parts.database, executionRowId, after, most)
      if (found.length === 0) return undefined
      const { rows, length } = fitting(found, pageLength)
      // As bytes: text would be held twice for a reader that does not take it.
      return { ...reachOf(rows), length, frames: () => Buffer.from(framesOf(executionRowId, rows)) }
    })
  }

  /** News is heard first and the log looked at then: in this order, or what is written in between would be missed. */
  enter(executionRowId: number): Seat {
    const room = this.#rooms.get(executionRowId) ?? this.#open(executionRowId)
    const noting = new Noting()
    let own: Hearing = noting
    room.readers.add(own)
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref()
    return {
      reach: async () => {
        await this.#parts.redis.subscribed()
        return this.#reachOf(executionRowId)
      },
      take: (reader, last) => {
        room.readers.delete(own)
        own = reader
        room.readers.add(own)
        if (noting.isEnded) reader.end()
        else this.#watch(reader.learn(Math.max(noting.last, last)))
      },
      leave: () => {
        if (!room.readers.delete(own) || room.readers.size > 0) return
        room.leave()
        if (this.#rooms.get(executionRowId) === room) this.#rooms.delete(executionRowId)
      },
    }
  }

  #open(executionRowId: number) {
    const readers = new Set<Hearing>()
    const leave = this.#parts.redis.subscribe(newsChannel(executionRowId), (message) => {
      const news = decodeNews(message)
      const frames = Buffer.from(news.frames)
      for (const reader of readers) {
        this.#watch(news.kind === 'events' ? reader.hear(news, frames) : reader.hearDeltas(news, frames))
      }
    })
    const room = { readers, leave }
    this.#rooms.set(executionRowId, room)
    return room
  }

  /** Who could not catch up is still behind: all are looked after again shortly. */
  #watch(catchingUp: Promise<void> | undefined): void {
    catchingUp?.catch((error) => {
      this.#unsureAt = performance.now()
      this.#parts.logger.warn({ err: error }, 'events not read; readers wait')
    })
  }

  #tick(): void {
    if (this.#rooms.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    const { redis, database, logger } = this.#parts
    const now = performance.now()
    if (!redis.hearing || !database.available) this.#unsureAt = now
    const everyMs = now - this.#unsureAt < recentlyMs ? unsureEveryMs : sureEveryMs
    if (this.#looking || now - this.#lastLook < everyMs || !database.available) return
    this.#lastLook = now
    this.#looking = true
    this.#lookAtAll()
      .catch((error) => logger.warn({ err: error }, 'logs not looked at; they are again shortly'))
      .finally(() => {
        this.#looking = false
      })
  }

  async #lookAtAll(): Promise<void> {
    const ids = [...this.#rooms.keys()]
    for (let from = 0; from < ids.length; from += roomsPerLook) {
      await this.#look(ids.slice(from, from + roomsPerLook))
    }
  }

  async #look(executionRowIds: readonly number[]): Promise<void> {
    const known = await listReach(this.#parts.database, executionRowIds)
    for (const id of executionRowIds) {
      const reach = known.get(id)
      for (const reader of this.#rooms.get(id)?.readers ?? []) {
        if (reach === undefined) reader.end()
        else this.#watch(reader.learn(reach.last))
      }
    }
  }
}

/** Stands in for a reader until it is known from where it reads: what it hears of is found in the log. */
class Noting implements Hearing {
  last = 0
  isEnded = false

  hear({ last }: EventNews): undefined {
    this.learn(last)
  }

  hearDeltas(_news: DeltaNews): undefined {}

  learn(last: number): undefined {
    this.last = Math.max(this.last, last)
  }

  end(): void {
    this.isEnded = true
  }
}
