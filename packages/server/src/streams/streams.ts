import type { EventsAnswer } from '#operations/answer.ts'
import { ApiError } from '#operations/errors.ts'
import { type Bearer, signTicket } from '#operations/signed-url.ts'
import type { Config } from '#platform/config.ts'
import type { Metrics } from '#platform/metrics.ts'
import type { Sockets } from '#transports/sockets/sockets.ts'
import type { Seat } from './hub.ts'
import { type EventStream, EventStreamHolder } from './sse.ts'

export { deltaFrame, type EventRow, isNewsOfEvents } from './frames.ts'
export { Hub, type HubParts, type Seat, type Topic } from './hub.ts'
export { createLog, type Log } from './log.ts'
export { LogHub } from './log-hub.ts'
export type { EventStream } from './sse.ts'
export type { EventRange, RangedEvent, Reach } from './store.ts'
export { LogFault, LogWriter } from './writer.ts'

interface StreamParts {
  readonly metrics: Metrics
  readonly sockets: Sockets
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal
}

interface StreamOptions {
  /** Between heartbeats, where it is not the usual time. */
  readonly beatEveryMs?: number
  /** What a key must have as long as it listens. */
  readonly rights?: Parameters<Sockets['holdStream']>[2] | undefined
  /** A frame for whose credential opens more streams than it may have: the oldest is told and ended. */
  readonly ifTooMany?: string
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
  async open(
    bearer: Bearer,
    findSeat: () => Promise<Seat | undefined>,
    { beatEveryMs, ifTooMany, rights }: StreamOptions = {},
  ): Promise<EventsAnswer> {
    if (this.#holder.closing || this.#stopping.aborted) {
      throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
    }
    await this.#holder.turn()
    const { kind, credentialId, userId, workspaceId } = bearer
    let isOver = false
    let stream: EventStream | undefined
    const end = (because: 'credential_ended' | 'too_many') => {
      isOver = true
      if (because === 'too_many' && ifTooMany !== undefined) stream?.write(ifTooMany)
      stream?.end()
    }
    const held = await this.#sockets.holdStream({ kind, credentialId, userId, workspaceId }, end, rights)
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
        stream = this.#holder.open(connection, leave, beatEveryMs)
        seat.take(stream)
      },
    }
  }
}

/** An address that opens one stream, for a while and as long as the credential is good. */
export function signedStreamUrl(
  { streamUrl, signingKeys }: Pick<Config, 'streamUrl' | 'signingKeys'>,
  bearer: Bearer,
  { path, purpose, lifetimeMs }: { path: string; purpose: string; lifetimeMs: number },
): string {
  const token = signTicket(signingKeys, purpose, bearer, { lifetimeMs, now: Date.now() })
  return `${streamUrl}${path}?token=${token}`
}

function refusal(): ApiError {
  return new ApiError('UNAUTHORIZED', { message: 'The credential behind this stream has ended' })
}
