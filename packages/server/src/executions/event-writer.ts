import { type Database, isPassing } from '../platform/database.ts'
import type { Logger } from '../platform/logger.ts'
import type { RedisLink } from '../platform/redis.ts'
import { retry } from '../platform/retry.ts'
import { type DeltaNews, deltaFrame, type EventNews, type EventRow, newsOf } from './event-frames.ts'
import { type NewEvent, publishNews } from './event-log.ts'
import { findBatch, insertEventsFenced } from './event-store.ts'
import { batchesPerAttempt } from './store.ts'

/** With the time of the write itself it stays under 20 ms. */
const collectMs = 10
/** What may wait while the database is away. Beyond it the attempt is given up. */
const maxWaitingLength = 16 * 1024 * 1024
const retryAfterMs = 250

type Entry = Omit<EventRow, 'sequence'> | { readonly delta: string }

/** Events could not be stored although the attempt has the execution: a fault on our side. */
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
 * Each batch has a number that rises, kept in the execution's row by the statement that writes the events. So a
 * batch whose answer was lost with the connection is sent again and lands once, however late the first try is
 * carried out. While PostgreSQL is away batches wait. Once another attempt has the execution, or it has ended,
 * nothing more is written and `lost` aborts.
 */
export class EventWriter {
  readonly #parts: Parts
  readonly #executionRowId: number
  readonly #attempt: number
  readonly #lost = new AbortController()
  #batch = 0
  #lastSequence = Number.POSITIVE_INFINITY
  #waiting: Entry[] = []
  #waitingLength = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined

  constructor(parts: Parts, execution: { id: number; attempt: number }) {
    this.#parts = parts
    this.#executionRowId = execution.id
    this.#attempt = execution.attempt
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  write({ type, payload }: NewEvent): void {
    const text = JSON.stringify(payload)
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
    const batch = this.#attempt * batchesPerAttempt + ++this.#batch
    const fence = { executionRowId: this.#executionRowId, attempt: this.#attempt, batch }
    const columns = { types: events.map(({ type }) => type), payloads: events.map(({ payload }) => payload) }
    const write = async () => {
      if (this.lost.aborted) return undefined
      const base = await insertEventsFenced(database, fence, columns)
      if (base !== undefined) return base
      const last = await findBatch(database, this.#executionRowId, batch)
      if (last === undefined) this.#giveUp(new Error('another attempt has the execution, or it has ended'))
      else publishNews(this.#parts.redis, this.#executionRowId, pointer(last))
      return undefined
    }
    return retry(write, (error) => (isPassing(error) ? retryAfterMs : undefined))
  }

  #publish(batch: readonly Entry[], base: number): void {
    const tell = (news: EventNews | DeltaNews) => publishNews(this.#parts.redis, this.#executionRowId, news)
    this.#lastSequence = base
    let rows: EventRow[] = []
    let delta = ''
    const tellAll = () => {
      if (rows.length > 0) tell(newsOf(this.#executionRowId, rows))
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
    this.#parts.logger.warn({ err: reason, execution: this.#executionRowId }, 'events not stored any more')
    this.#lost.abort(reason)
  }
}

/** Only where the log ends now. */
function pointer(last: number) {
  return { kind: 'events', first: last, last, ended: false, frames: '' } as const
}
