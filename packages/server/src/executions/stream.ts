import { executionRoutes, streamUrlLifetimeMs } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import type { RawCall, RawRoute } from '../http/raw-route.ts'
import { type Bearer, signNote, verifyNote } from '../http/signed-url.ts'
import { type EventStream, EventStreamHolder } from '../http/sse.ts'
import type { Live } from '../live/live.ts'
import { ApiError } from '../operations/errors.ts'
import type { Config } from '../platform/config.ts'
import { ExpiringCache } from '../platform/expiring-cache.ts'
import { gather } from '../platform/gather.ts'
import { listRowIds } from './event-store.ts'
import { Reader } from './stream-reader.ts'
import { Rooms } from './stream-rooms.ts'

type Parts = Pick<Deps, 'config' | 'database' | 'logger' | 'metrics' | 'redis' | 'stopping'>

const rememberedMs = 10 * 60_000
const streamPath = '/api/v1/executions/:executionId/stream'

/** A note opens the stream of one execution and no other. */
function audienceOf(executionId: string): string {
  return `execution-stream:${executionId}`
}

/** An address that opens an execution's stream, for a minute and as long as the credential is good. */
export function streamUrl(
  config: Pick<Config, 'streamUrl' | 'signingKeys'>,
  bearer: Bearer,
  executionId: string,
): string {
  const token = signNote(config.signingKeys, audienceOf(executionId), bearer, {
    lifetimeMs: streamUrlLifetimeMs,
    now: Date.now(),
  })
  const path = streamPath.replace(':executionId', encodeURIComponent(executionId))
  return `${config.streamUrl}${path}?token=${token}`
}

/**
 * The streams of this process. A reader is given the log from where it was, then what is written while it
 * listens, and the end after the last event. It is sent away when its credential ends.
 */
export class EventStreams {
  readonly #parts: Parts
  readonly #live: Live
  readonly #holder: EventStreamHolder
  readonly #rooms: Rooms
  readonly #rowIds = new ExpiringCache<number>(20_000)
  readonly #lookUp: (named: { workspaceId: string; executionId: string }) => Promise<number | undefined>
  /** Opened by a signed address. */
  readonly route: RawRoute
  /** The same, for a client that sends its credential and asks the path it was told for events. */
  readonly directRoute: RawRoute

  constructor(parts: Parts, live: Live, options: { beatEveryMs?: number } = {}) {
    this.#parts = parts
    this.#live = live
    this.#holder = new EventStreamHolder(parts.metrics, options)
    this.#rooms = new Rooms(parts)
    this.#lookUp = gather((named) => listRowIds(parts.database, named))
    this.route = {
      name: 'streamExecution',
      method: 'GET',
      path: streamPath,
      limits: ['stream'],
      bearerOf: (call) => this.#bearerOf(call),
      handle: (call) => this.#open(call, call.bearer),
      close: () => this.#holder.close(),
    }
    this.directRoute = {
      name: 'streamExecutionDirectly',
      method: 'GET',
      path: executionRoutes.getStreamToken.path,
      accept: 'text/event-stream',
      contract: executionRoutes.getStreamToken,
      limits: ['stream'],
      handle: (call) => this.#open(call, call.principal),
      close: () => this.#holder.close(),
    }
  }

  #bearerOf({ params, query }: Pick<RawCall, 'params' | 'query'>): Bearer {
    const audience = audienceOf(params['executionId'] ?? '')
    const token = query.get('token') ?? ''
    const note = verifyNote(this.#parts.config.signingKeys, audience, token, Date.now())
    if (!note) throw refusal()
    return note
  }

  async #open(call: RawCall, bearer: Bearer | undefined): Promise<void> {
    const { stopping } = this.#parts
    const executionId = call.params['executionId'] ?? ''
    if (!bearer) throw refusal()
    const after = readPosition(call)
    if (this.#holder.closing || stopping.aborted) {
      throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
    }
    await this.#holder.turn()
    const { kind, credentialId, userId, workspaceId } = bearer
    const id = await this.#findRowId(workspaceId, executionId)
    if (id === undefined) throw new ApiError('NOT_FOUND')
    let isOver = false
    let stream: EventStream | undefined
    const held = await this.#live.holdStream({ kind, credentialId, userId, workspaceId }, () => {
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
    if (!reach || isOver || call.response.destroyed) {
      leave()
      throw reach ? refusal() : new ApiError('NOT_FOUND')
    }
    stream = this.#holder.open(call, leave)
    if (reach.ended && after >= reach.last) return stream.end()
    const reader = new Reader({
      stream,
      readPage: (from, most) => this.#rooms.readPage(id, from, most),
      deltas: call.query.get('deltas') === '1',
      // Who claims to have seen more than there is would otherwise wait for ever.
      after: Math.min(after, reach.last),
    })
    seat.take(reader, reach.last)
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
function readPosition({ query, request }: RawCall): number {
  const given = [query.get('lastSeq'), request.headers['last-event-id']]
  return Math.max(
    ...given.map((text) => {
      if (text === undefined || text === null || text === '') return 0
      if (typeof text === 'string' && /^\d{1,9}$/.test(text)) return Number(text)
      throw new ApiError('INVALID_INPUT', {
        message: 'lastSeq and Last-Event-ID must be the sequence of an event, or 0',
      })
    }),
  )
}

function refusal(): ApiError {
  return new ApiError('UNAUTHORIZED', {
    message: 'This address is unknown or too old; get a new one from stream-token',
  })
}
