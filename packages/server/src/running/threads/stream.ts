import { randomUUID } from 'node:crypto'
import { chatHeartbeatMs, threadReadyType } from '@guildhall/contract'
import type { Access } from '#operations/access.ts'
import type { EventsAnswer } from '#operations/answer.ts'
import type { Call } from '#operations/bind.ts'
import type { Principal } from '#operations/principal.ts'
import { LogHub, type Streams } from '#streams/streams.ts'
import type { ThreadParts } from './changes.ts'
import { deleteSubscription, upsertSubscriptions } from './list-store.ts'
import { Outsiders } from './outsiders.ts'
import * as store from './store.ts'
import { threadLog, toRunId } from './thread-log.ts'

const renewEveryMs = 30_000

const tooMany = `data: ${JSON.stringify({
  type: 'error',
  payload: { code: 'TOO_MANY_STREAMS', message: 'This credential opened more streams than it may have here' },
})}\n\n`

interface Asking extends Pick<Call, 'confirm'> {
  readonly principal: Principal
  readonly access: Access
}

interface Subscription {
  readonly lastSeq: number | undefined
  readonly deltas: boolean
  /** Whether events from elsewhere look for this thread while somebody listens. */
  readonly background: boolean
}

/** The streams of threads: all of one, or what one run says. Each begins in the log, and nothing but its reader ends one. */
export class ThreadStreams {
  readonly #parts: ThreadParts
  readonly #streams: Streams
  readonly #hub: LogHub
  readonly #listening: Listening
  readonly #outsiders: Outsiders

  constructor(parts: ThreadParts, streams: Streams) {
    this.#parts = parts
    this.#streams = streams
    this.#hub = new LogHub(parts, threadLog)
    this.#listening = new Listening(parts)
    this.#outsiders = new Outsiders(parts)
  }

  subscribe(call: Asking, thread: store.ThreadRow, asked: Subscription): Promise<EventsAnswer> {
    const { principal } = call
    const opening = (after: number, last: number) => this.#ready(thread, after, last)
    return this.#open(call, async () => {
      const found = await this.#hub.enter(thread.id, { after: asked.lastSeq, deltas: asked.deltas, opening })
      const seat = found && (await this.#outsiders.admit(principal, thread, found))
      if (!seat || !asked.background) return seat
      const leave = await this.#listening.enter(thread.id)
      return {
        take: seat.take,
        leave: () => {
          seat.leave()
          leave()
        },
      }
    })
  }

  /** What belongs to one run, from its message to its end. */
  followRun(
    call: Asking,
    { run, thread }: { run: store.RunRow; thread: store.ThreadRow },
    deltas: boolean,
  ): Promise<EventsAnswer> {
    const after = run.message_sequence - 1
    return this.#open(call, async () => {
      const seat = await this.#hub.enter(thread.id, { after, deltas, only: run.run_id })
      return seat && this.#outsiders.admit(call.principal, thread, seat)
    })
  }

  /** A person has no scopes that could end, and what was spent on the stream is spent. */
  #open(
    { principal, access, confirm }: Asking,
    findSeat: Parameters<Streams['open']>[1],
  ): Promise<EventsAnswer> {
    const isBound = principal.kind === 'key' && !access.mustSpend
    const rights = isBound ? { confirm: () => confirm(0), isBrief: access.isBrief } : undefined
    const options = { beatEveryMs: chatHeartbeatMs, ifTooMany: tooMany, rights }
    return this.#streams.open(principal, findSeat, options)
  }

  async #ready({ id, thread_id: threadId }: store.ThreadRow, after: number, last: number): Promise<string> {
    const runId = await store.findActiveRunId(this.#parts.database.db, id)
    const payload = { lastSequence: last, activeRunId: runId === undefined ? null : toRunId(runId) }
    const at = new Date().toISOString()
    const frame = {
      id: `ready_${id}_${after}`,
      type: threadReadyType,
      sequence: after,
      threadId,
      payload,
      at,
    }
    return `id: ${after}\ndata: ${JSON.stringify(frame)}\n\n`
  }
}

/** Which threads are listened to in this process, told in the database for as long as they are. */
class Listening {
  readonly #parts: ThreadParts
  readonly #processId = randomUUID()
  readonly #counts = new Map<number, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(parts: ThreadParts) {
    this.#parts = parts
  }

  /** Gives what ends it. */
  async enter(threadRowId: number): Promise<() => void> {
    const count = this.#counts.get(threadRowId) ?? 0
    this.#counts.set(threadRowId, count + 1)
    this.#timer ??= setInterval(() => void this.#renew(), renewEveryMs).unref()
    if (count === 0) await this.#tell([threadRowId])
    return () => this.#leave(threadRowId)
  }

  #leave(threadRowId: number): void {
    const count = (this.#counts.get(threadRowId) ?? 1) - 1
    if (count > 0) return void this.#counts.set(threadRowId, count)
    this.#counts.delete(threadRowId)
    void deleteSubscription(this.#parts.database.db, this.#processId, threadRowId).catch(() => {})
    if (this.#counts.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #renew(): Promise<void> {
    const ids = [...this.#counts.keys()]
    for (let from = 0; from < ids.length; from += 1000) await this.#tell(ids.slice(from, from + 1000))
  }

  /** What cannot be told now is told with the next renewal; until then events from elsewhere may pass this thread by. */
  async #tell(ids: readonly number[]): Promise<void> {
    try {
      await upsertSubscriptions(this.#parts.database.db, this.#processId, ids)
    } catch (error) {
      this.#parts.logger.debug({ err: error }, 'who listens was not told')
    }
  }
}
