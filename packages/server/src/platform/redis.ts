import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import type { Logger } from './logger.ts'

const stalledMs = 250
const watchEveryMs = 50
/** After a command that failed or came too late, how long to do without Redis before asking again. */
const avoidForMs = 500
const settleMs = 1000
const beatEveryMs = 400
/** Two beats and a little: one that is late does not count as silence. */
const silentMs = 1000
/**
 * A subscriber that hears nothing for so long while commands are answered has lost its connection unnoticed.
 */
const deafMs = 3000
const channelsPerCommand = 1000
const subscribeWaitMs = 250

type Handler = (message: string) => void

/**
 * Redis as something that may be away at any moment: nothing waits for it, nothing is queued for later, and
 * every caller has a way to go on without it. It holds no truth.
 */
export class RedisLink {
  readonly #commands: Redis
  readonly #subscriber: Redis
  readonly #logger: Logger
  readonly #handlers = new Map<string, Set<Handler>>()
  readonly #watch: NodeJS.Timeout
  readonly #beat: NodeJS.Timeout
  readonly #beatChannel = `beat:${randomUUID()}`
  #heardAt = Number.NEGATIVE_INFINITY
  #listensSince = Number.POSITIVE_INFINITY
  #lastSubscribe: Promise<unknown> = Promise.resolve()
  #avoidUntil = 0
  #waiting = 0
  #lastProgress = 0
  #lastWatch = 0
  #wasAway = false

  constructor(options: { url: string; logger: Logger }) {
    this.#logger = options.logger
    const shared = {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      connectTimeout: 1000,
      // How long a cut waits for the other side to agree; one that hangs does not, and callers wait
      // meanwhile.
      disconnectTimeout: 10,
      retryStrategy: (attempt: number) => Math.min(attempt * 50, 500),
    }
    this.#commands = new Redis(options.url, {
      ...shared,
      enableAutoPipelining: true,
    })
    this.#subscriber = new Redis(options.url, { ...shared, enableReadyCheck: false, autoResubscribe: false })
    // Unhandled 'error' events would end the process; the state is told by `available` and by metrics.
    this.#commands.on('error', () => {})
    this.#subscriber.on('error', () => {})
    this.#subscriber.on('ready', () => this.#resubscribe())
    this.#subscriber.on('close', () => this.#forgetBeat())
    this.#commands.on('close', () => this.#forgetBeat())
    this.#watch = setInterval(() => this.#cutIfStalled(), watchEveryMs)
    this.#watch.unref()
    this.#beat = setInterval(() => this.#sendBeat(), beatEveryMs)
    this.#beat.unref()
    this.#subscriber.on('message', (channel: string, message: string) => {
      // A copy: a handler may end its own subscription, or begin another.
      for (const handler of [...(this.#handlers.get(channel) ?? [])]) {
        try {
          handler(message)
        } catch (error) {
          this.#logger.error({ err: error, channel }, 'a message over Redis was not understood')
        }
      }
    })
    this.subscribe(this.#beatChannel, () => {
      this.#heardAt = performance.now()
    })
  }

  /**
   * Whether what is published reaches this process, as far as a moment ago: it publishes to itself all the
   * time. A word that came while this was false is lost.
   */
  get hearing(): boolean {
    return performance.now() - this.#heardAt < silentMs
  }

  get available(): boolean {
    return this.#commands.status === 'ready' && performance.now() >= this.#avoidUntil
  }

  /** Gives the first connection a moment, so that a process does not begin with a limiter of its own. */
  async settle(): Promise<void> {
    const end = performance.now() + settleMs
    while (this.#commands.status !== 'ready' && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  /** Runs a command, or gives undefined at once or after a short wait when Redis is away. */
  async attempt<T>(command: (redis: Redis) => Promise<T>): Promise<T | undefined> {
    if (!this.available) return this.#away(undefined)
    if (this.#waiting++ === 0) this.#lastProgress = performance.now()
    try {
      const result = await command(this.#commands)
      this.#lastProgress = performance.now()
      if (this.#wasAway) this.#logger.info('Redis is back')
      this.#wasAway = false
      return result
    } catch (error) {
      this.#avoidUntil = performance.now() + avoidForMs
      return this.#away(error)
    } finally {
      this.#waiting--
    }
  }

  /**
   * A server that takes commands and answers none is as good as away: cutting the connection fails all that
   * wait. One watch for all of them costs less than a timer for each.
   */
  #cutIfStalled(): void {
    const now = performance.now()
    // When this process itself stood still, answers may be lying here unread: nothing is known about Redis.
    const stoodStill = now - this.#lastWatch > 3 * watchEveryMs
    this.#lastWatch = now
    if (stoodStill) this.#lastProgress = now
    if (this.#waiting > 0 && now - this.#lastProgress > stalledMs) this.#commands.disconnect(true)
  }

  defineScript(name: string, lua: string): (keys: string[], args: (string | number)[]) => Promise<unknown> {
    this.#commands.defineCommand(name, { lua })
    const run = (this.#commands as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[name]
    if (!run) throw new Error(`Script ${name} was not defined`)
    return (keys, args) => run.call(this.#commands, keys.length, ...keys, ...args)
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.attempt((redis) => redis.publish(channel, message))
  }

  /**
   * Messages are hints: whoever listens must also find out by itself what it missed while Redis was away.
   * Gives the function that ends the subscription.
   */
  subscribe(channel: string, handler: Handler): () => void {
    const known = this.#handlers.get(channel)
    const handlers = known ?? new Set()
    // Wrapped: the same function may be given twice and each is ended by itself.
    const own: Handler = (message) => handler(message)
    handlers.add(own)
    if (!known) {
      this.#handlers.set(channel, handlers)
      if (this.#subscriber.status === 'ready') this.#listen([channel])
    }
    return () => {
      if (!handlers.delete(own) || handlers.size > 0) return
      this.#handlers.delete(channel)
      if (this.#subscriber.status === 'ready') this.#subscriber.unsubscribe(channel).catch(() => {})
    }
  }

  /** Resolves when subscriptions made so far are in force, or soon when Redis is away. */
  async subscribed(): Promise<void> {
    const late = new Promise((resolve) => setTimeout(resolve, subscribeWaitMs).unref())
    // Commands of one connection are answered in order: the last answer stands for all before it.
    await Promise.race([this.#lastSubscribe, late])
  }

  /** Asks past the memory of recent failures: the truth of this moment. */
  async ping(): Promise<void> {
    if (this.#commands.status !== 'ready') throw new Error('not connected')
    await this.#commands.ping()
  }

  close(): void {
    clearInterval(this.#watch)
    clearInterval(this.#beat)
    this.#commands.disconnect()
    this.#subscriber.disconnect()
  }

  #resubscribe(): void {
    this.#listensSince = performance.now()
    const channels = [...this.#handlers.keys()]
    for (let from = 0; from < channels.length; from += channelsPerCommand) {
      this.#listen(channels.slice(from, from + channelsPerCommand))
    }
  }

  #listen(channels: string[]): void {
    this.#lastSubscribe = this.#subscriber.subscribe(...channels).catch(() => {})
  }

  #forgetBeat(): void {
    this.#heardAt = Number.NEGATIVE_INFINITY
  }

  #sendBeat(): void {
    void this.attempt((redis) => redis.publish(this.#beatChannel, '')).then((receivers) => {
      const quietSince = Math.max(this.#heardAt, this.#listensSince)
      if (receivers === undefined || performance.now() - quietSince < deafMs) return
      this.#listensSince = Number.POSITIVE_INFINITY
      this.#subscriber.disconnect(true)
    })
  }

  #away(error: unknown): undefined {
    if (!this.#wasAway) this.#logger.warn({ err: error }, 'Redis is away: limits are counted per process')
    this.#wasAway = true
    return undefined
  }
}
