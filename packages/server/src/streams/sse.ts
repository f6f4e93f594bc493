import type { EventConnection } from '#operations/answer.ts'
import type { Metrics } from '#platform/metrics.ts'
import { atOwnPace } from '#platform/own-pace.ts'
import { createTurns } from '#platform/turns.ts'

const slots = 30
/** Those who come at the same moment are spread over so many slots, so that their beats are no burst either. */
const spread = 2
const beatEveryMs = 15_000
const closeWithinMs = 1000
const openedInOneTurn = 5
/**
 * When a reader comes back whose process stopped or is gone. Spread, the wider the more come back with it: whoever they
 * come to has other work as well.
 */
const retryMs = { least: 500, spread: 2000, spreadPerStream: 4, widest: 6000 }
const heartbeat = ': heartbeat\n\n'

// A reader that goes away in the middle of a write is no failure of ours.
const ignore = () => {}

function comeBackLater(together: number): string {
  const { least, spread, spreadPerStream, widest } = retryMs
  const within = Math.min(widest, spread + together * spreadPerStream)
  return `retry: ${least + Math.floor(Math.random() * within)}\n\n`
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

  /** Ends it so that its reader comes back with so many others, to another process if this one stops. */
  restart(together: number): void {
    if (this.write(comeBackLater(together))) this.end()
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

/** Streams with the same time between beats. One timer beats for all of them, a part at a time. */
class Wheel {
  readonly #slots = Array.from({ length: slots }, () => new Set<EventStream>())
  readonly #timer: NodeJS.Timeout
  #added = 0
  #beats = 0

  constructor(everyMs: number) {
    this.#timer = setInterval(() => this.#beat(), everyMs / slots).unref()
  }

  /** Into a slot that was served just now, so that the first beat comes after a whole round. Gives what takes it out. */
  add(stream: EventStream): () => void {
    const served = this.#beats - 1 - (this.#added++ % spread)
    const slot = this.#slots[(served + spread * slots) % slots] ?? new Set()
    slot.add(stream)
    return () => slot.delete(stream)
  }

  *streams(): Iterable<EventStream> {
    for (const slot of this.#slots) yield* slot
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #beat(): void {
    for (const stream of this.#slots[this.#beats++ % slots] ?? []) stream.beat()
  }
}

/** The open streams of this process. */
export class EventStreamHolder {
  readonly #metrics: Metrics
  readonly #beatEveryMs: number
  readonly #wheels = new Map<number, Wheel>()
  #size = 0
  #closing = false
  #allGone: (() => void) | undefined

  constructor(metrics: Metrics, options: { beatEveryMs?: number } = {}) {
    this.#metrics = metrics
    this.#beatEveryMs = options.beatEveryMs ?? beatEveryMs
  }

  /** To be awaited before a stream is opened: requests are not kept waiting by however many come back at once. */
  readonly turn = createTurns(openedInOneTurn)

  get size(): number {
    return this.#size
  }

  get closing(): boolean {
    return this.#closing
  }

  open({ response, headers }: EventConnection, closed: () => void, everyMs = this.#beatEveryMs): EventStream {
    atOwnPace.add(response)
    const stream = new EventStream(response, this.#metrics)
    const wheel = this.#wheels.get(everyMs) ?? new Wheel(everyMs)
    this.#wheels.set(everyMs, wheel)
    const remove = wheel.add(stream)
    this.#size++
    this.#metrics.openStreams.inc()
    response.on('close', () => {
      remove()
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
    stream.write(`: open\n\n${comeBackLater(this.#size)}`)
    return stream
  }

  /** Ends them all in good order, and soon those who do not let themselves be told. */
  async close(): Promise<void> {
    this.#closing = true
    const wheels = [...this.#wheels.values()]
    for (const wheel of wheels) wheel.stop()
    if (this.#size === 0) return
    const gone = new Promise<void>((resolve) => {
      this.#allGone = resolve
    })
    const together = this.#size
    for (const wheel of wheels) for (const stream of wheel.streams()) stream.restart(together)
    const late = setTimeout(() => {
      for (const wheel of wheels) for (const stream of wheel.streams()) stream.drop('restarting')
    }, closeWithinMs)
    await gone
    clearTimeout(late)
  }
}
