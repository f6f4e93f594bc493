import { executionStreamRoutes, streamUrlLifetimeMs } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import { type EventStream, EventStreamHolder } from '../http/sse.ts'
import type { EventsAnswer } from '../operations/answer.ts'
import type { Call } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import { type Bearer, signNote } from '../operations/signed-url.ts'
import type { Config } from '../platform/config.ts'
import { ExpiringCache } from '../platform/expiring-cache.ts'
import { gather } from '../platform/gather.ts'
import type { Sockets } from '../sockets/sockets.ts'
import { listRowIds } from './event-store.ts'
import { Reader } from './stream-reader.ts'
import { Rooms } from './stream-rooms.ts'

type StreamCall = Pick<Call<typeof streamExecution>, 'params' | 'query' | 'lastEventId'>

type Parts = Pick<Deps, 'config' | 'database' | 'logger' | 'metrics' | 'redis' | 'stopping'>

const rememberedMs = 10 * 60_000
const { streamExecution } = executionStreamRoutes

/** An address that opens an execution's stream, for a minute and as long as the credential is good. */
export function streamUrl(
  config: Pick<Config, 'streamUrl' | 'signingKeys'>,
  bearer: Bearer,
  executionId: string,
): string {
  const audience = streamExecution.signedFor.replace('{executionId}', executionId)
  const token = signNote(config.signingKeys, audience, bearer, {
    lifetimeMs: streamUrlLifetimeMs,
    now: Date.now(),
  })
  const path = streamExecution.path.replace(':executionId', encodeURIComponent(executionId))
  return `${config.streamUrl}${path}?token=${token}`
}

/**
 * The streams of this process. A reader is given the log from where it was, then what is written while it
 * listens, and the end after the last event. It is sent away when its credential ends.
 */
export class EventStreams {
  readonly #parts: Parts
  readonly #sockets: Sockets
  readonly #holder: EventStreamHolder
  readonly #rooms: Rooms
  readonly #rowIds = new ExpiringCache<number>(20_000)
  readonly #lookUp: (named: { workspaceId: string; executionId: string }) => Promise<number | undefined>

  constructor(parts: Parts, sockets: Sockets, options: { beatEveryMs?: number } = {}) {
    this.#parts = parts
    this.#sockets = sockets
    this.#holder = new EventStreamHolder(parts.metrics, options)
    this.#rooms = new Rooms(parts)
    this.#lookUp = gather((named) => listRowIds(parts.database, named))
  }

  /** Ends them all in good order. */
  close(): Promise<void> {
    return this.#holder.close()
  }

  async open(bearer: Bearer, call: StreamCall): Promise<EventsAnswer> {
    const after = readPosition(call)
    if (this.#holder.closing || this.#parts.stopping.aborted) {
      throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
    }
    await this.#holder.turn()
    const { kind, credentialId, userId, workspaceId } = bearer
    const id = await this.#findRowId(workspaceId, call.params.executionId)
    if (id === undefined) throw new ApiError('NOT_FOUND')
    let isOver = false
    let stream: EventStream | undefined
    const held = await this.#sockets.holdStream({ kind, credentialId, userId, workspaceId }, () => {
      isOver = true
      stream?.end()
    })
    if (!held) throw refusal()
    const seat = this.#rooms.enter(id)
    const leave = () => {
      held.release()
      seat.leave()
    }
    const reach = await seat.reach().catch((error: unknown) => {
      leave()
      throw error
    })
    if (!reach) {
      leave()
      throw new ApiError('NOT_FOUND')
    }
    return {
      abandon: leave,
      open: (connection) => {
        if (isOver) {
          leave()
          throw refusal()
        }
        stream = this.#holder.open(connection, leave)
        if (reach.ended && after >= reach.last) return stream.end()
        const reader = new Reader({
          stream,
          readPage: (from, most) => this.#rooms.readPage(id, from, most),
          deltas: call.query.deltas === '1',
          // Who claims to have seen more than there is would otherwise wait for ever.
          after: Math.min(after, reach.last),
        })
        seat.take(reader, reach.last)
      },
    }
  }

  /** Which row an execution has never changes, so who comes back costs no look at it. */
  async #findRowId(workspaceId: string, executionId: string): Promise<number | undefined> {
    const name = `${workspaceId} ${executionId}`
    const known = this.#rowIds.get(name)
    if (known !== undefined) return known
    const started = performance.now()
    const id = await this.#lookUp({ workspaceId, executionId })
    if (id !== undefined) this.#rowIds.set(name, id, started, rememberedMs)
    return id
  }
}

/** A browser that reconnects repeats its address and adds what it saw last, so the later of both counts. */
function readPosition({ query, lastEventId }: StreamCall): number {
  return Math.max(
    ...[query.lastSeq, lastEventId].map((text) => {
      if (text === undefined || text === '') return 0
      if (/^\d{1,9}$/.test(text)) return Number(text)
      throw new ApiError('INVALID_INPUT', {
        message: 'lastSeq and Last-Event-ID must be the sequence of an event, or 0',
      })
    }),
  )
}

function refusal(): ApiError {
  return new ApiError('UNAUTHORIZED', { message: 'The credential behind this stream has ended' })
}
