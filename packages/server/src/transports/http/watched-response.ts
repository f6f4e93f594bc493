import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** An answer that tells what becomes of it, in whichever way it is written. */
export class WatchedResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  /** Called when something was written that the connection could not take at once. */
  onWaiting: (() => void) | undefined

  override write(...given: unknown[]): boolean {
    const isTaken = super.write(...(given as Parameters<ServerResponse['write']>))
    if (!isTaken) this.onWaiting?.()
    return isTaken
  }

  override end(...given: unknown[]): this {
    super.end(...(given as Parameters<ServerResponse['end']>))
    // One that has no connection yet waits for the answers before it.
    if (!this.socket || progressOf(this.socket).waiting > 0) this.onWaiting?.()
    return this
  }
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
