import type { EventConnection } from '../operations/answer.ts'
import type { Metrics } from '../platform/metrics.ts'
import { createTurns } from '../platform/turns.ts'

const slots = 15
const beatEveryMs = 15_000
const closeWithinMs = 1000
const openedInOneTurn = 10
/** Spread, so that the readers of a process that stops, or is gone, do not all come back at one moment. */
const retryMs = { least: 500, most: 2500 }
const heartbeat = ': heartbeat\n\n'

// A reader that goes away in the middle of a write is no failure of ours.
const ignore = () => {}

function comeBackLater(): string {
  const ms = retryMs.least + Math.floor(Math.random() * (retryMs.most - retryMs.least))
  return `retry: ${ms}\n\n`
}

/** An answer of server-sent events that stays open. */
export class EventStream {
  readonly #response: EventConnection['response']
  readonly #metrics: Metrics
  #draining: PromiseWithResolvers<void> | undefined
  #stalledBeats = 0

  constructor(response: EventConnection['response'], metrics: Metrics) {
    this.#response = response
    this.#metrics = metrics
    const wake = () => this.#wake()
    response.on('drain', wake)
    response.on('close', wake)
    response.on('error', ignore)
  }

  get open(): boolean {
    return !this.#response.writableEnded && !this.#response.destroyed
  }

  /** False when the other side has enough to read: write no more until it has `drained`. */
  write(frames: string | Buffer): boolean {
    return this.open && this.#response.write(frames)
  }

  /** Resolves when there is room again, or when there is nobody to read any more. */
  drained(): Promise<void> {
    if (!this.open || !this.#response.writableNeedDrain) return Promise.resolve()
    this.#draining ??= Promise.withResolvers()
    return this.#draining.promise
  }

  end(): void {
    if (this.open) this.#response.end()
  }

  /** Ends it so that its reader comes back, to another process if this one stops. */
  restart(): void {
    if (this.write(comeBackLater())) this.end()
    else this.drop('restarting')
  }

  drop(because: string): void {
    this.#metrics.droppedStreams.inc({ reason: because })
    this.#response.destroy()
  }

  /** Who has taken nothing since the beat before the last is not there any more. */
  beat(): void {
    if (!this.#response.writableNeedDrain) this.write(heartbeat)
    else if (++this.#stalledBeats === 2) this.drop('stalled')
  }

  #wake(): void {
    this.#stalledBeats = 0
    this.#draining?.resolve()
    this.#draining = undefined
  }
}

/**
 * The open streams of this process. One timer beats for all of them, a fifteenth at a time, so that many are no
 * burst.
 */
export class EventStreamHolder {
  readonly #metrics: Metrics
  readonly #wheel = Array.from({ length: slots }, () => new Set<EventStream>())
  readonly #timer: NodeJS.Timeout
  #opened = 0
  #beats = 0
  #size = 0
  #closing = false
  #allGone: (() => void) | undefined

  constructor(metrics: Metrics, options: { beatEveryMs?: number } = {}) {
    this.#metrics = metrics
    const everyMs = (options.beatEveryMs ?? beatEveryMs) / slots
    this.#timer = setInterval(() => this.#beat(), everyMs)
    this.#timer.unref()
  }

  /** To be awaited before a stream is opened: requests are not kept waiting by however many come back at once. */
  readonly turn = createTurns(openedInOneTurn)

  get size(): number {
    return this.#size
  }

  get closing(): boolean {
    return this.#closing
  }

  open({ response, headers }: EventConnection, closed: () => void): EventStream {
    const slot = this.#wheel[this.#opened++ % slots] ?? new Set()
    const stream = new EventStream(response, this.#metrics)
    slot.add(stream)
    this.#size++
    this.#metrics.openStreams.inc()
    response.on('close', () => {
      slot.delete(stream)
      this.#size--
      this.#metrics.openStreams.dec()
      closed()
      if (this.#size === 0) this.#allGone?.()
    })
    response.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream',
      // Without this a proxy may collect what should arrive at once.
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    })
    // By itself: Node keeps the head as long as the answer, and only what was sent as it is loses its many pieces.
    response.flushHeaders()
    // Also told at once: a process that is killed says nothing any more.
    stream.write(`: open\n\n${comeBackLater()}`)
    return stream
  }

  /** Ends them all in good order, and soon those who do not let themselves be told. */
  async close(): Promise<void> {
    this.#closing = true
    clearInterval(this.#timer)
    if (this.#size === 0) return
    const gone = new Promise<void>((resolve) => {
      this.#allGone = resolve
    })
    for (const slot of this.#wheel) for (const stream of slot) stream.restart()
    const late = setTimeout(() => {
      for (const slot of this.#wheel) for (const stream of slot) stream.drop('restarting')
    }, closeWithinMs)
    await gone
    clearTimeout(late)
  }

  #beat(): void {
    for (const stream of this.#wheel[this.#beats++ % slots] ?? []) stream.beat()
  }
}
