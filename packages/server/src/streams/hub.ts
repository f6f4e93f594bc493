import type { Database } from '../platform/database.ts'
import type { Logger } from '../platform/logger.ts'
import type { RedisLink } from '../platform/redis.ts'

export interface HubParts {
  readonly database: Database
  readonly redis: RedisLink
  readonly logger: Logger
}

/** Those who read the same thing. */
export interface Room<Reader> {
  readonly readers: Set<Reader>
  /** Ends the hearing of its changes. */
  leave(): void
}

/** What is read together, how there is word of its changes, and how they are found without any word. */
export interface HubKind<Id, OwnRoom, Found> {
  /** How often all of them are looked at, and how often while words may be lost. */
  readonly everyMs: { readonly sure: number; readonly unsure: number }
  /** How they stand now; those that are gone are left out. */
  find(ids: readonly Id[]): Promise<ReadonlyMap<Id, Found>>
  /** Undefined for what is gone. What it has yet to do may fail: they are looked at again shortly. */
  learn(room: OwnRoom, found: Found | undefined, id: Id): Promise<void> | undefined
}

const tickMs = 250
/** How long after words were lost all are still looked at often. */
const recentlyMs = 3000
const roomsPerLook = 1000

/**
 * The readers of this process by what they read; those of one thing share a subscription and what is read for them.
 * Word of a change has it read at once, and all are looked at from time to time, often while words may be lost.
 */
export class Hub<Id, OwnRoom extends Room<Reader>, Reader, Found> {
  readonly #parts: HubParts
  readonly #kind: HubKind<Id, OwnRoom, Found>
  readonly #rooms = new Map<Id, OwnRoom>()
  #timer: NodeJS.Timeout | undefined
  #looking = false
  #unsureAt = Number.NEGATIVE_INFINITY
  #lastLook = performance.now()

  constructor(parts: HubParts, kind: HubKind<Id, OwnRoom, Found>) {
    this.#parts = parts
    this.#kind = kind
  }

  get(id: Id): OwnRoom | undefined {
    return this.#rooms.get(id)
  }

  /** `open` is for who comes first. */
  enter(id: Id, reader: Reader, open: () => OwnRoom): OwnRoom {
    const room = this.#rooms.get(id) ?? open()
    this.#rooms.set(id, room)
    room.readers.add(reader)
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref()
    return room
  }

  leave(id: Id, room: OwnRoom, reader: Reader): void {
    if (!room.readers.delete(reader) || room.readers.size > 0) return
    room.leave()
    if (this.#rooms.get(id) === room) this.#rooms.delete(id)
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
      const room = this.#rooms.get(id)
      if (room) this.watch(this.#kind.learn(room, found.get(id), id))
    }
  }

  #tick(): void {
    if (this.#rooms.size === 0) {
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
    const ids = [...this.#rooms.keys()]
    for (let from = 0; from < ids.length; from += roomsPerLook) {
      await this.look(ids.slice(from, from + roomsPerLook))
    }
  }
}
