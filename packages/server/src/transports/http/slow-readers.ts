import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ClientSettings } from '#platform/client-settings.ts'
import { atOwnPace } from '#platform/own-pace.ts'
import { progressOf } from './watched-response.ts'
import { whenOver } from './when-over.ts'

/** A while in which there was always something to be taken. */
interface While {
  looks: number
  takenBefore: number
}

/**
 * Ends answers that are taken more slowly than a least speed, or not at all: what is kept for a reader is kept from others.
 * Counted in looks and not by the clock, because a process that stands still sends nothing to anybody.
 */
export class SlowReaders {
  readonly #waiting = new Map<ServerResponse, While>()
  readonly #looks: number
  readonly #leastBytes: number

  constructor(
    { unreadMs }: Pick<ClientSettings, 'unreadMs'>,
    { lookEveryMs, bytesPerSecond }: { readonly lookEveryMs: number; readonly bytesPerSecond: number },
  ) {
    this.#looks = Math.ceil(unreadMs / lookEveryMs)
    this.#leastBytes = (unreadMs / 1000) * bytesPerSecond
  }

  watch(response: ServerResponse): void {
    if (this.#waiting.has(response) || atOwnPace.has(response)) return
    this.#waiting.set(response, { looks: 0, takenBefore: 0 })
    whenOver(response, () => this.#waiting.delete(response))
  }

  /** To be called every `lookEveryMs`. */
  look(): void {
    // One that has no connection yet waits for the answers before it.
    for (const [{ socket }, since] of this.#waiting) if (socket) this.#judge(socket, since)
  }

  #judge(socket: Socket, since: While): void {
    const { taken, waiting } = progressOf(socket)
    if (waiting === 0) since.looks = 0
    else if (since.looks === 0) Object.assign(since, { looks: 1, takenBefore: taken })
    else if (since.looks++ === this.#looks) {
      if (taken - since.takenBefore < this.#leastBytes) socket.destroy()
      Object.assign(since, { looks: 1, takenBefore: taken })
    }
  }
}
