import type { Logger } from '#platform/logger.ts'
import type { RedisLink } from '#platform/redis.ts'
import type { Listener } from './channel-listeners.ts'
import type { ListenerHub } from './hub.ts'

const tickMs = 250
/** While words may be lost. Together with how soon that is noticed it must stay under two seconds. */
const unsureEveryMs = 750
/** Ends that nobody announces, like a key's own expiry. */
const sureEveryMs = 15_000
/** What was given for a while, which a person counts in minutes. */
const briefEveryMs = 1000
/** How long after words were lost all are still asked often. */
const recentlyMs = 3000

/**
 * Finds out which open sockets have lost their credential: at once for those there is word of, and for all of
 * them from time to time, often while Redis is away, because then no word comes.
 */
export class Recheck {
  readonly #hub: ListenerHub
  readonly #redis: RedisLink
  readonly #logger: Logger
  readonly #due = new Set<Listener>()
  #timer: NodeJS.Timeout | undefined
  #running = false
  #unsureAt = Number.NEGATIVE_INFINITY
  #lastAll = Number.NEGATIVE_INFINITY
  #lastBrief = Number.NEGATIVE_INFINITY

  constructor(parts: { hub: ListenerHub; redis: RedisLink; logger: Logger }) {
    this.#hub = parts.hub
    this.#redis = parts.redis
    this.#logger = parts.logger
  }

  /** Runs while there is anybody to ask for. */
  start(): void {
    if (this.#timer) return
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#timer.unref()
  }

  ask(matches: (listener: Listener) => boolean, credential?: string): void {
    this.#hub.forget()
    for (const listener of this.#hub.of(credential)) {
      if (matches(listener)) this.#due.add(listener)
    }
    void this.#run()
  }

  #tick(): void {
    if (this.#hub.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    const now = performance.now()
    if (!this.#redis.hearing) this.#unsureAt = now
    const everyMs = now - this.#unsureAt < recentlyMs ? unsureEveryMs : sureEveryMs
    if (now - this.#lastAll >= everyMs) {
      this.#lastAll = now
      this.ask(() => true)
    } else if (now - this.#lastBrief >= briefEveryMs) {
      this.#lastBrief = now
      const brief = [...this.#hub.of()].filter(({ rights }) => rights?.isBrief)
      for (const listener of brief) this.#due.add(listener)
      if (brief.length > 0) void this.#run()
    }
  }

  async #run(): Promise<void> {
    if (this.#running) return
    this.#running = true
    try {
      while (this.#due.size > 0) {
        const asked = [...this.#due]
        this.#due.clear()
        await this.#hub.check(asked)
      }
    } catch (error) {
      // Nothing is known about them: they stay open, and all are asked again shortly.
      this.#unsureAt = performance.now()
      this.#logger.warn({ err: error }, 'credentials of open sockets not checked')
    } finally {
      this.#running = false
    }
  }
}
