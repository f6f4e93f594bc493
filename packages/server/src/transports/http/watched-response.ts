import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Hold } from '#operations/answer-text.ts'

/** Less than that is not worth the counting. */
export const smallAnswer = 16 * 1024

/**
 * An answer that tells what becomes of it, in whichever way it is written. Of what is given as a text a copy is made that is
 * kept until it is taken; bytes are counted by whoever keeps them, or are there for many.
 */
export class WatchedResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  /** Called when something was written that the connection could not take at once. */
  onWaiting: (() => void) | undefined
  /** Counts what is kept for its reader, and throws when that is too much. */
  onHeld: Hold | undefined
  /** How much of it was counted before it was written. */
  heldBefore = 0

  override write(...given: unknown[]): boolean {
    const length = lengthOf(given[0])
    if (!this.#hold(length)) return false
    const isTaken = super.write(...(given as Parameters<ServerResponse['write']>))
    if (!isTaken) this.onWaiting?.()
    if (length > 0 && isTaken) this.#hold(-length)
    else if (length > 0) this.once('drain', () => this.#hold(-length))
    return isTaken
  }

  override end(...given: unknown[]): this {
    if (!this.#hold(Math.max(0, lengthOf(given[0]) - this.heldBefore))) return this
    super.end(...(given as Parameters<ServerResponse['end']>))
    // One that has no connection yet waits for the answers before it.
    if (!this.socket || progressOf(this.socket).waiting > 0) this.onWaiting?.()
    return this
  }

  /** False when it is too much and only an end can tell so. Before anything was said, the refusal is thrown. */
  #hold(bytes: number): boolean {
    if (bytes === 0) return true
    try {
      this.onHeld?.(bytes)
      return true
    } catch (refusal) {
      if (!this.headersSent) throw refusal
      this.destroy()
      return false
    }
  }
}

function lengthOf(given: unknown): number {
  return typeof given === 'string' && given.length >= smallAnswer ? given.length : 0
}

interface Handle {
  readonly bytesWritten: number
  readonly writeQueueSize: number
}

/**
 * How much of what was written to a connection the system has taken, and how much has yet to be. Of a large piece Node itself
 * tells nothing before all of it is gone; its own timeouts look at the same numbers.
 */
export function progressOf(socket: Socket): { readonly taken: number; readonly waiting: number } {
  const { _handle: handle } = socket as Socket & { readonly _handle?: Handle | null }
  const waiting = handle?.writeQueueSize ?? 0
  return { taken: (handle?.bytesWritten ?? 0) - waiting, waiting }
}
