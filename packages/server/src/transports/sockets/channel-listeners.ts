import type { Bearer } from '#operations/signed-url.ts'
import type { OpenSocket } from '#transports/http/socket.ts'

/** What a key needs beside being good, for as long as it listens. */
export interface Rights {
  /** Refuses when it has them no more. */
  confirm(): Promise<void> | undefined
  /** Given for a while: they end without a word. */
  readonly isBrief: boolean
}

export interface Listener {
  readonly bearer: Bearer
  readonly credential: string
  readonly rights?: Rights | undefined
  socket: OpenSocket | undefined
  ended: boolean
}

/** Sends between two looks at what else there is to do: a few milliseconds' worth. */
const sliceSize = 100
/** Beyond this many events in wait the publisher sends them itself, and thereby publishes no faster. */
const mostWaiting = 64

/**
 * The listeners of this process who hear one channel. Telling a thousand sockets takes tens of milliseconds, for
 * which nobody's answer should wait: it is done in slices beside other work, event after event.
 */
export class ChannelListeners {
  readonly listeners = new Set<Listener>()
  readonly #onDelivered: (count: number) => void
  readonly #waiting: { frame: Buffer; exceptIn: string | undefined }[] = []
  #rest: Iterator<Listener> | undefined
  #scheduled = false

  constructor(onDelivered: (count: number) => void) {
    this.#onDelivered = onDelivered
  }

  /** `exceptIn`: the workspace whose listeners hear this event elsewhere. */
  tell(frame: Buffer, exceptIn: string | undefined): void {
    this.#waiting.push({ frame, exceptIn })
    while (this.#waiting.length > mostWaiting) this.#tellSome()
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#tellSome()
      if (this.#waiting.length > 0) this.#schedule()
    })
  }

  #tellSome(): void {
    const [event] = this.#waiting
    if (!event) return
    this.#rest ??= this.listeners.values()
    let told = 0
    for (let count = 0; count < sliceSize; count++) {
      const { done, value } = this.#rest.next()
      if (done) {
        this.#rest = undefined
        this.#waiting.shift()
        break
      }
      if (value.bearer.workspaceId !== event.exceptIn && value.socket?.send(event.frame)) told++
    }
    if (told > 0) this.#onDelivered(told)
  }
}
