import type { Principal } from '#operations/principal.ts'
import type { Seat } from '#streams/streams.ts'
import type { ThreadParts } from './changes.ts'
import { isVisible } from './enter.ts'
import { listPrivate } from './list-store.ts'
import type { ThreadRow } from './store.ts'

const lookEveryMs = 5000
const channel = 'threads-made-private'

/** After a thread was made private. */
export function tellPrivate({ bus }: Pick<ThreadParts, 'bus'>, threadRowId: number): void {
  bus.tell(channel, String(threadRowId))
}

/**
 * Who reads threads in this process that they would not see if these were private: their streams end when a thread becomes
 * so. By word, and by looking at all of them now and then, because words can be lost.
 */
export class Outsiders {
  readonly #parts: ThreadParts
  readonly #reading = new Map<number, Set<() => void>>()
  #timer: NodeJS.Timeout | undefined
  #deafen: (() => void) | undefined

  constructor(parts: ThreadParts) {
    this.#parts = parts
  }

  /** The seat, for as long as its holder may have it. Undefined when that is over already. */
  async admit(
    principal: Pick<Principal, 'kind' | 'userId'>,
    { id, user_id }: Pick<ThreadRow, 'id' | 'user_id'>,
    seat: Seat,
  ): Promise<Seat | undefined> {
    if (isVisible({ visibility: 'private', user_id }, principal)) return seat
    let isOver = false
    let end = () => {
      isOver = true
    }
    const own = () => end()
    this.#enter(id, own)
    const leave = () => {
      this.#leave(id, own)
      seat.leave()
    }
    // Heard from before the look: what becomes private from here on is told.
    const [isPrivate] = await listPrivate(this.#parts.database.db, [id]).catch((error: unknown) => {
      leave()
      throw error
    })
    if (isPrivate !== undefined) {
      leave()
      return undefined
    }
    return {
      leave,
      take: (stream) => {
        if (isOver) return stream.end()
        end = () => stream.end()
        seat.take(stream)
      },
    }
  }

  #enter(threadRowId: number, end: () => void): void {
    const ends = this.#reading.get(threadRowId) ?? new Set()
    this.#reading.set(threadRowId, ends.add(end))
    this.#deafen ??= this.#parts.bus.listen(channel, (text) => this.#end(Number(text)))
    this.#timer ??= setInterval(() => void this.#look(), lookEveryMs).unref()
  }

  #leave(threadRowId: number, end: () => void): void {
    const ends = this.#reading.get(threadRowId)
    ends?.delete(end)
    if (ends?.size === 0) this.#reading.delete(threadRowId)
    if (this.#reading.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#deafen?.()
    this.#deafen = undefined
  }

  #end(threadRowId: number): void {
    for (const end of [...(this.#reading.get(threadRowId) ?? [])]) end()
  }

  async #look(): Promise<void> {
    try {
      const ids = [...this.#reading.keys()]
      for (let from = 0; from < ids.length; from += 1000) {
        const some = ids.slice(from, from + 1000)
        for (const id of await listPrivate(this.#parts.database.db, some)) this.#end(id)
      }
    } catch (error) {
      this.#parts.logger.debug({ err: error }, 'who reads threads was not looked at')
    }
  }
}
