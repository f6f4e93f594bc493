import { gather } from '../platform/gather.ts'
import { createLanes, Hub, type HubParts, type Room, type Seat } from '../streams/streams.ts'
import { type DeltaNews, decodeNews, type EventNews, fitting, framesOf, reachOf } from './event-frames.ts'
import { newsChannel } from './event-log.ts'
import { listEvents, listReach, type Reach } from './event-store.ts'
import { type Page, pageLength, Reader } from './stream-reader.ts'

/** Also while news arrives here: a worker can lose its way to Redis while this process has not. */
const everyMs = { sure: 5000, unsure: 500 }
/** Of the pool's connections, so that many readers coming back at once leave the rest to requests. */
const pagesAtOnce = 4

type Hearing = Pick<Reader, 'hear' | 'hearDeltas' | 'learn' | 'end'>

type LogRoom = Room<Hearing>

/** The readers of this process by execution. */
export class Rooms {
  readonly #parts: HubParts
  readonly #hub: Hub<number, LogRoom, Hearing, Reach>
  readonly #inLane = createLanes(pagesAtOnce)
  readonly #reachOf: (executionRowId: number) => Promise<Reach | undefined>

  constructor(parts: HubParts) {
    this.#parts = parts
    this.#hub = new Hub(parts, {
      everyMs,
      find: (ids) => listReach(parts.database, ids),
      learn: ({ readers }, reach) => {
        for (const reader of readers) {
          if (reach === undefined) reader.end()
          else this.#hub.watch(reader.learn(reach.last))
        }
        return undefined
      },
    })
    this.#reachOf = gather(async (ids: number[]) => {
      const known = await listReach(parts.database, ids)
      return ids.map((id) => known.get(id))
    })
  }

  /**
   * For a reader of what follows a number, undefined when the log is gone. News is heard first and the log looked at
   * then: in this order, or what is written in between would be missed.
   */
  async enter(
    executionRowId: number,
    { after, deltas }: { after: number; deltas: boolean },
  ): Promise<Seat | undefined> {
    const noting = new Noting()
    let own: Hearing = noting
    const room = this.#hub.enter(executionRowId, own, () => this.#open(executionRowId))
    const leave = () => this.#hub.leave(executionRowId, room, own)
    const reach = await this.#findReach(executionRowId).catch((error: unknown) => {
      leave()
      throw error
    })
    if (!reach) {
      leave()
      return undefined
    }
    return {
      leave,
      take: (stream) => {
        if (noting.isEnded || (reach.ended && after >= reach.last)) return stream.end()
        const reader = new Reader({
          stream,
          readPage: (from, most) => this.#readPage(executionRowId, from, most),
          deltas,
          // Who claims to have seen more than there is would otherwise wait for ever.
          after: Math.min(after, reach.last),
        })
        room.readers.delete(own)
        own = reader
        room.readers.add(own)
        this.#hub.watch(reader.learn(Math.max(noting.last, reach.last)))
      },
    }
  }

  /** How far the log reaches, asked after news is heard. */
  async #findReach(executionRowId: number): Promise<Reach | undefined> {
    await this.#parts.redis.subscribed()
    return this.#reachOf(executionRowId)
  }

  /** The next events of the log, as many as were asked for and fit a page. */
  #readPage(executionRowId: number, after: number, most: number): Promise<Page | undefined> {
    return this.#inLane(async () => {
      const found = await listEvents(this.#parts.database, executionRowId, after, most)
      if (found.length === 0) return undefined
      const { rows, length } = fitting(found, pageLength)
      // As bytes: text would be held twice for a reader that does not take it.
      return { ...reachOf(rows), length, frames: () => Buffer.from(framesOf(executionRowId, rows)) }
    })
  }

  #open(executionRowId: number): LogRoom {
    const readers = new Set<Hearing>()
    const leave = this.#parts.redis.subscribe(newsChannel(executionRowId), (message) => {
      const news = decodeNews(message)
      const frames = Buffer.from(news.frames)
      for (const reader of readers) {
        this.#hub.watch(news.kind === 'events' ? reader.hear(news, frames) : reader.hearDeltas(news, frames))
      }
    })
    return { readers, leave }
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
