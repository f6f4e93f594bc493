import type { EventsAnswer } from '../operations/answer.ts'
import { ApiError } from '../operations/errors.ts'
import { type Bearer, signNote } from '../operations/signed-url.ts'
import type { Config } from '../platform/config.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Sockets } from '../sockets/sockets.ts'
import { type EventStream, EventStreamHolder } from './sse.ts'

export { Hub, type HubParts, type Room } from './hub.ts'
export { createLanes } from './lanes.ts'
export type { EventStream } from './sse.ts'

/** Somebody who is about to read: from when it was given, no change is missed. */
export interface Seat {
  /** Begins to write what there is and what follows. */
  take(stream: EventStream): void
  /** When the stream is gone, or never came. */
  leave(): void
}

interface StreamParts {
  readonly metrics: Metrics
  readonly sockets: Sockets
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal
}

/** The open streams of this process, whatever they tell of. Each ends with its credential, and when the process stops. */
export class Streams {
  readonly #sockets: Sockets
  readonly #stopping: AbortSignal
  readonly #holder: EventStreamHolder

  constructor({ metrics, sockets, stopping }: StreamParts, options: { beatEveryMs?: number } = {}) {
    this.#sockets = sockets
    this.#stopping = stopping
    this.#holder = new EventStreamHolder(metrics, options)
  }

  /** Ends them all in good order. */
  close(): Promise<void> {
    return this.#holder.close()
  }

  /**
   * The credential is asked for first and what is read looked at last, so that it is as it stands when the stream
   * begins. `findSeat` gives undefined for what there is not.
   */
  async open(bearer: Bearer, findSeat: () => Promise<Seat | undefined>): Promise<EventsAnswer> {
    if (this.#holder.closing || this.#stopping.aborted) {
      throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
    }
    await this.#holder.turn()
    const { kind, credentialId, userId, workspaceId } = bearer
    let isOver = false
    let stream: EventStream | undefined
    const held = await this.#sockets.holdStream({ kind, credentialId, userId, workspaceId }, () => {
      isOver = true
      stream?.end()
    })
    if (!held) throw refusal()
    const seat = await findSeat().catch((error: unknown) => {
      held.release()
      throw error
    })
    if (!seat) {
      held.release()
      throw new ApiError('NOT_FOUND')
    }
    const leave = () => {
      held.release()
      seat.leave()
    }
    return {
      abandon: leave,
      open: (connection) => {
        if (isOver) {
          leave()
          throw refusal()
        }
        stream = this.#holder.open(connection, leave)
        seat.take(stream)
      },
    }
  }
}

/** An address that opens one stream, for a while and as long as the credential is good. */
export function signedStreamUrl(
  { streamUrl, signingKeys }: Pick<Config, 'streamUrl' | 'signingKeys'>,
  bearer: Bearer,
  { path, audience, lifetimeMs }: { path: string; audience: string; lifetimeMs: number },
): string {
  const token = signNote(signingKeys, audience, bearer, { lifetimeMs, now: Date.now() })
  return `${streamUrl}${path}?token=${token}`
}

function refusal(): ApiError {
  return new ApiError('UNAUTHORIZED', { message: 'The credential behind this stream has ended' })
}
