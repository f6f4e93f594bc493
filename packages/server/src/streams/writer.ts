import type { Database } from '#platform/database.ts'
import { isPassing } from '#platform/database-errors.ts'
import type { Logger } from '#platform/logger.ts'
import type { RedisLink } from '#platform/redis.ts'
import { retry } from '#platform/retry.ts'
import { type DeltaNews, deltaFrame, type EventNews, type EventRow } from './frames.ts'
import { type AnyEvent, type Log, textOf } from './log.ts'

/** With the time of the write itself it stays under 20 ms. */
const collectMs = 10
/** What may wait while the database is away. Beyond it the attempt is given up. */
const maxWaitingLength = 16 * 1024 * 1024
const retryAfterMs = 250

type Entry = Omit<EventRow, 'sequence'> | { readonly delta: string }

/** Events could not be stored although the attempt may write them: a fault on our side. */
export class LogFault extends Error {
  override name = 'LogFault'
}

interface Parts {
  readonly database: Database
  readonly redis: RedisLink
  readonly logger: Logger
}

/**
 * The pen of one attempt. What comes within a few milliseconds is written together, in order, one batch after
 * the other, and published once it is stored; text deltas are only published, in their place among the events.
 *
 * Each batch has a number that rises, kept in the log's row by the statement that writes the events. So a
 * batch whose answer was lost with the connection is sent again and lands once, however late the first try is
 * carried out. While PostgreSQL is away batches wait. Once another attempt has the log, or it has ended, nothing more is
 * written and `lost` aborts.
 */
export class LogWriter<Event extends AnyEvent> {
  readonly #parts: Parts
  readonly #log: Log<Event>
  readonly #rowId: number
  readonly #attempt: number
  readonly #lost = new AbortController()
  #batch: number
  #lastSequence = Number.POSITIVE_INFINITY
  #waiting: Entry[] = []
  #waitingLength = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined

  /** `lastBatch`: the number after which those of this attempt begin, above all of the attempts before it. */
  constructor(parts: Parts, log: Log<Event>, pen: { rowId: number; attempt: number; lastBatch: number }) {
    this.#parts = parts
    this.#log = log
    this.#rowId = pen.rowId
    this.#attempt = pen.attempt
    this.#batch = pen.lastBatch
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  write({ type, payload }: Event): void {
    const text = textOf(payload)
    this.#put({ type, payload: text }, text.length)
  }

  /** A piece of a message that will come as a whole; only for who reads along. */
  delta(text: string): void {
    this.#put({ delta: text }, text.length)
  }

  /** Resolves when all that was given so far is stored, or when the attempt is lost. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    // What comes while a batch is written makes the next one.
    while (this.#writing || this.#waiting.length > 0) await (this.#writing ?? this.#begin())
  }

  #put(entry: Entry, length: number): void {
    if (this.lost.aborted) return
    this.#waiting.push(entry)
    this.#waitingLength += length
    if (this.#waitingLength > maxWaitingLength)
      this.#giveUp(new LogFault('too many events wait to be stored'))
    else if (!this.#writing) this.#timer ??= setTimeout(() => void this.flush(), collectMs)
  }

  #begin(): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    this.#waitingLength = 0
    this.#writing = this.#write(batch)
      .catch((cause) => this.#giveUp(new LogFault('events could not be stored', { cause })))
      .finally(() => {
        this.#writing = undefined
      })
    return this.#writing
  }

  async #write(batch: readonly Entry[]): Promise<void> {
    const events = batch.filter((entry) => 'type' in entry)
    const base = events.length === 0 ? this.#lastSequence : await this.#store(events)
    if (base !== undefined) this.#publish(batch, base)
  }

  /** The number before the first; undefined when they were stored earlier than now, or never will be. */
  async #store(events: readonly Omit<EventRow, 'sequence'>[]): Promise<number | undefined> {
    const { database } = this.#parts
    const batch = ++this.#batch
    const fence = { rowId: this.#rowId, attempt: this.#attempt, batch }
    const columns = { types: events.map(({ type }) => type), payloads: events.map(({ payload }) => payload) }
    const write = async () => {
      if (this.lost.aborted) return undefined
      const base = await this.#log.insertEventsFenced(database, fence, columns)
      if (base !== undefined) return base
      const last = await this.#log.findBatch(database, this.#rowId, batch)
      if (last === undefined) this.#giveUp(new Error('another attempt has the log, or it has ended'))
      else this.#log.publishNews(this.#parts.redis, this.#rowId, pointer(last))
      return undefined
    }
    return retry(write, (error) => (isPassing(error) ? retryAfterMs : undefined))
  }

  #publish(batch: readonly Entry[], base: number): void {
    const tell = (news: EventNews | DeltaNews) => this.#log.publishNews(this.#parts.redis, this.#rowId, news)
    this.#lastSequence = base
    let rows: EventRow[] = []
    let delta = ''
    const tellAll = () => {
      if (rows.length > 0) tell(this.#log.newsOf(this.#rowId, rows))
      if (delta) tell({ kind: 'deltas', after: this.#lastSequence, frames: deltaFrame(delta) })
      rows = []
      delta = ''
    }
    // A connection keeps the order of its messages, so readers have each delta in its place.
    for (const entry of batch) {
      if ('delta' in entry) {
        delta += entry.delta
      } else {
        if (delta) tellAll()
        rows.push({ ...entry, sequence: ++this.#lastSequence })
      }
    }
    tellAll()
  }

  #giveUp(reason: Error): void {
    this.#waiting = []
    this.#waitingLength = 0
    if (this.lost.aborted) return
    this.#parts.logger.warn(
      { err: reason, log: this.#log.channel(this.#rowId) },
      'events not stored any more',
    )
    this.#lost.abort(reason)
  }
}

/** Only where the log ends now. */
function pointer(last: number) {
  return { kind: 'events', first: last, last, ended: false, frames: '' } as const
}
