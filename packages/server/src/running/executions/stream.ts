import { executionStreamRoutes, streamUrlLifetimeMs } from '@guildhall/contract'
import type { EventsAnswer } from '#operations/answer.ts'
import type { Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Bearer } from '#operations/signed-url.ts'
import type { Deps } from '#platform/deps.ts'
import { ExpiringCache } from '#platform/expiring-cache.ts'
import { gather } from '#platform/gather.ts'
import { LogHub, type Streams, signedStreamUrl } from '#streams/streams.ts'
import { executionLog } from './event-log.ts'
import { listRowIds } from './event-store.ts'

type StreamCall = Pick<Call<typeof streamExecution>, 'params' | 'query' | 'lastEventId'>

type Parts = Pick<Deps, 'database' | 'logger' | 'redis'>

const rememberedMs = 10 * 60_000
const { streamExecution } = executionStreamRoutes

/** An address that opens an execution's stream. */
export function streamUrl(
  config: Parameters<typeof signedStreamUrl>[0],
  bearer: Bearer,
  executionId: string,
): string {
  return signedStreamUrl(config, bearer, {
    path: streamExecution.path.replace(':executionId', encodeURIComponent(executionId)),
    purpose: streamExecution.signedFor.replace('{executionId}', executionId),
    lifetimeMs: streamUrlLifetimeMs,
  })
}

/**
 * The streams of executions. A reader is given the log from where it was, then what is written while it listens, and the
 * end after the last event.
 */
export class ExecutionStreams {
  readonly #streams: Streams
  readonly #hub: LogHub
  readonly #rowIds = new ExpiringCache<number>(20_000)
  readonly #lookUp: (named: { workspaceId: string; executionId: string }) => Promise<number | undefined>

  constructor(parts: Parts, streams: Streams) {
    this.#streams = streams
    this.#hub = new LogHub(parts, executionLog)
    this.#lookUp = gather((named) => listRowIds(parts.database, named))
  }

  async open(bearer: Bearer, call: StreamCall): Promise<EventsAnswer> {
    const from = { after: readPosition(call), deltas: call.query.deltas === '1' }
    const id = await this.#findRowId(bearer.workspaceId, call.params.executionId)
    if (id === undefined) throw new ApiError('NOT_FOUND')
    return this.#streams.open(bearer, () => this.#hub.enter(id, from))
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
