import type { OpenSocket } from '../http/socket.ts'
import type { Bearer } from '../operations/signed-url.ts'

export interface Listener {
  readonly note: Bearer
  readonly credential: string
  socket: OpenSocket | undefined
  ended: boolean
}

/** Sends between two looks at what else there is to do: a few milliseconds' worth. */
const sliceSize = 100
/** Beyond this, whoever publishes faster than sockets can be told does the telling itself. */
const mostWaiting = 64

/**
 * Those in this process who hear one channel. Telling a thousand sockets takes tens of milliseconds, for
 * which nobody's answer should wait: it is done in slices beside other work, event after event.
 */
export class Hall {
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
      if (value.note.workspaceId !== event.exceptIn && value.socket?.send(event.frame)) told++
    }
    if (told > 0) this.#onDelivered(told)
  }
}
