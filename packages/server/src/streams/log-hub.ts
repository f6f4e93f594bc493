import { gather } from '#platform/gather.ts'
import { type DeltaNews, decodeNews, type EventNews, fitting } from './frames.ts'
import { Hub, type HubParts, type Seat, type Topic } from './hub.ts'
import type { Log } from './log.ts'
import { type Page, pageLength, Reader } from './reader.ts'
import { createSemaphore } from './semaphore.ts'
import type { Reach } from './store.ts'

/** Also while news arrives here: a worker can lose its way to Redis while this process has not. */
const everyMs = { sure: 5000, unsure: 500 }
/** Of the pool's connections, so that many readers coming back at once leave the rest to requests. */
const pagesAtOnce = 4

type Hearing = Pick<Reader, 'hear' | 'hearDeltas' | 'learn' | 'end'>

type LogTopic = Topic<Hearing>

type ReadLog = Pick<Log, 'channel' | 'framesOf' | 'isLastOfRun' | 'listEvents' | 'listReach' | 'reachOf'>

interface Reading {
  /** The last event that the reader has; left out, it wants only what comes. */
  readonly after?: number | undefined
  readonly deltas: boolean
  /** Of a log that several runs write to: the one that is read, to its end. */
  readonly only?: string | undefined
  /** What the reader is told first, given the event after which it goes on and how far the log reaches. */
  readonly opening?: (after: number, last: number) => Promise<string>
}

/** The readers in this process of logs of one kind. */
export class LogHub {
  readonly #parts: HubParts
  readonly #log: ReadLog
  readonly #hub: Hub<number, LogTopic, Hearing, Reach>
  readonly #semaphore = createSemaphore(pagesAtOnce)
  readonly #reachOf: (rowId: number) => Promise<Reach | undefined>

  constructor(parts: HubParts, log: ReadLog) {
    this.#parts = parts
    this.#log = log
    this.#hub = new Hub(parts, {
      everyMs,
      find: (ids) => log.listReach(parts.database, ids),
      learn: ({ readers }, reach) => {
        for (const reader of readers) {
          if (reach === undefined) reader.end()
          else this.#hub.watch(reader.learn(reach.last))
        }
        return undefined
      },
    })
    this.#reachOf = gather(async (ids: number[]) => {
      const known = await log.listReach(parts.database, ids)
      return ids.map((id) => known.get(id))
    })
  }

  /**
   * For a reader of what follows a number, undefined when the log is gone. News is heard first and the log looked at
   * then: in this order, or what is written in between would be missed.
   */
  async enter(rowId: number, { after: wanted, deltas, only, opening }: Reading): Promise<Seat | undefined> {
    const noting = new Noting()
    let own: Hearing = noting
    const topic = this.#hub.enter(rowId, own, () => this.#open(rowId))
    const leave = () => this.#hub.leave(rowId, topic, own)
    const look = async () => {
      const reach = await this.#findReach(rowId)
      if (!reach) return undefined
      // Who claims to have seen more than there is would otherwise wait for ever.
      const after = Math.min(wanted ?? reach.last, reach.last)
      return { reach, after, first: await opening?.(after, reach.last) }
    }
    const found = await look().catch((error: unknown) => {
      leave()
      throw error
    })
    if (!found) {
      leave()
      return undefined
    }
    const { reach, after, first } = found
    return {
      leave,
      take: (stream) => {
        if (noting.isEnded || (reach.ended && after >= reach.last)) return stream.end()
        if (first !== undefined) stream.write(first)
        const reader = new Reader({
          stream,
          readPage: (from, most) => this.#readPage(rowId, from, most, only),
          deltas,
          only,
          after,
        })
        topic.readers.delete(own)
        own = reader
        topic.readers.add(own)
        this.#hub.watch(reader.learn(Math.max(noting.last, reach.last)))
      },
    }
  }

  /** How far the log reaches, asked after news is heard. */
  async #findReach(rowId: number): Promise<Reach | undefined> {
    await this.#parts.redis.subscribed()
    return this.#reachOf(rowId)
  }

  /** The next events of the log, as many as were asked for and fit a page. */
  #readPage(rowId: number, after: number, most: number, only: string | undefined): Promise<Page | undefined> {
    return this.#semaphore(async () => {
      const found = await this.#log.listEvents(this.#parts.database, rowId, after, most)
      if (found.length === 0) return undefined
      const { rows, length } = fitting(found, pageLength)
      const { first, last, ended } = this.#log.reachOf(rows)
      const own = only === undefined ? rows : rows.filter(({ of }) => of === only)
      return {
        first,
        last,
        ended: only === undefined ? ended : own.some(({ type }) => this.#log.isLastOfRun(type)),
        length,
        // As bytes: text would be held twice for a reader that does not take it.
        frames: () => Buffer.from(this.#log.framesOf(rowId, own)),
      }
    })
  }

  #open(rowId: number): LogTopic {
    const readers = new Set<Hearing>()
    const leave = this.#parts.redis.subscribe(this.#log.channel(rowId), (message) => {
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
