import type { Database } from '#platform/database.ts'
import type { Logger } from '#platform/logger.ts'
import type { RedisLink } from '#platform/redis.ts'
import type { EventStream } from './sse.ts'

export interface HubParts {
  readonly database: Database
  readonly redis: RedisLink
  readonly logger: Logger
}

/** Somebody who is about to read: from when it was given, no change is missed. */
export interface Seat {
  /** Begins to write what there is and what follows. */
  take(stream: EventStream): void
  /** When the stream is gone, or never came. */
  leave(): void
}

/** One thing that is read here, and its readers. */
export interface Topic<Reader> {
  readonly readers: Set<Reader>
  /** Ends the hearing of its changes. */
  leave(): void
}

/** What is read together, how there is word of its changes, and how they are found without any word. */
export interface HubKind<Id, OwnTopic, Found> {
  /** How often all of them are looked at, and how often while words may be lost. */
  readonly everyMs: { readonly sure: number; readonly unsure: number }
  /** How they stand now; those that are gone are left out. */
  find(ids: readonly Id[]): Promise<ReadonlyMap<Id, Found>>
  /** Undefined for what is gone. What it has yet to do may fail: they are looked at again shortly. */
  learn(topic: OwnTopic, found: Found | undefined, id: Id): Promise<void> | undefined
}

const tickMs = 250
/** How long after words were lost all are still looked at often. */
const recentlyMs = 3000
const topicsPerLook = 1000

/**
 * The readers of this process by what they read; those of one thing share a subscription and what is read for them.
 * Word of a change has it read at once, and all are looked at from time to time, often while words may be lost.
 */
export class Hub<Id, OwnTopic extends Topic<Reader>, Reader, Found> {
  readonly #parts: HubParts
  readonly #kind: HubKind<Id, OwnTopic, Found>
  readonly #topics = new Map<Id, OwnTopic>()
  #timer: NodeJS.Timeout | undefined
  #looking = false
  #unsureAt = Number.NEGATIVE_INFINITY
  #lastLook = performance.now()

  constructor(parts: HubParts, kind: HubKind<Id, OwnTopic, Found>) {
    this.#parts = parts
    this.#kind = kind
  }

  get(id: Id): OwnTopic | undefined {
    return this.#topics.get(id)
  }

  /** `open` makes the topic for its first reader. */
  enter(id: Id, reader: Reader, open: () => OwnTopic): OwnTopic {
    const topic = this.#topics.get(id) ?? open()
    this.#topics.set(id, topic)
    topic.readers.add(reader)
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref()
    return topic
  }

  leave(id: Id, topic: OwnTopic, reader: Reader): void {
    if (!topic.readers.delete(reader) || topic.readers.size > 0) return
    topic.leave()
    if (this.#topics.get(id) === topic) this.#topics.delete(id)
  }

  /** Who could not be served is still behind: all are looked after again shortly. */
  watch(serving: Promise<void> | undefined): void {
    serving?.catch((error) => {
      this.#unsureAt = performance.now()
      this.#parts.logger.warn({ err: error }, 'readers of streams were not served; they wait')
    })
  }

  /** There is word of changes, or may have been. */
  async look(ids: readonly Id[]): Promise<void> {
    const found = await this.#kind.find(ids)
    for (const id of ids) {
      const topic = this.#topics.get(id)
      if (topic) this.watch(this.#kind.learn(topic, found.get(id), id))
    }
  }

  #tick(): void {
    if (this.#topics.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    const { redis, database } = this.#parts
    const { sure, unsure } = this.#kind.everyMs
    const now = performance.now()
    if (!redis.hearing || !database.available) this.#unsureAt = now
    const everyMs = now - this.#unsureAt < recentlyMs ? unsure : sure
    if (this.#looking || now - this.#lastLook < everyMs || !database.available) return
    this.#lastLook = now
    this.#looking = true
    this.watch(
      this.#lookAtAll().finally(() => {
        this.#looking = false
      }),
    )
  }

  async #lookAtAll(): Promise<void> {
    const ids = [...this.#topics.keys()]
    for (let from = 0; from < ids.length; from += topicsPerLook) {
      await this.look(ids.slice(from, from + topicsPerLook))
    }
  }
}
