import type { RedisLink } from '#platform/redis.ts'
import type { Taken } from './step-store.ts'
import { publishDelta } from './thread-log.ts'

/** The first words come as soon as may be; what follows is collected for longer, since each time is a write. */
const firstMs = 15
const collectMs = 50

/**
 * Publishes the words of a reply as they come, some milliseconds' worth at a time, and none before what they took is
 * noted: whoever ends a run in the middle of a reply pays for what was heard of it.
 */
export class DeltaWriter {
  readonly #redis: RedisLink
  readonly #of: Parameters<typeof publishDelta>[1]
  readonly #note: (taken: Taken) => Promise<boolean>
  #text = ''
  #taken: Taken | undefined
  #timer: NodeJS.Timeout | undefined
  #pauseMs = firstMs
  #sent: Promise<void> = Promise.resolve()

  /** `note` gives whether the run may still be heard. */
  constructor(
    redis: RedisLink,
    of: Parameters<typeof publishDelta>[1],
    note: (taken: Taken) => Promise<boolean>,
  ) {
    this.#redis = redis
    this.#of = of
    this.#note = note
  }

  /** What the reply has taken in all. What it takes before its first word is noted when this is over. */
  async took(taken: Taken): Promise<void> {
    this.#taken = taken
    if (taken.outputTokens === 0) await this.#flush()
    else this.#soon()
  }

  write(delta: string): void {
    this.#text += delta
    this.#soon()
  }

  /** Before the whole reply is kept: a connection keeps the order of its messages. */
  async finish(): Promise<void> {
    await this.#flush()
    this.#pauseMs = firstMs
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#sent = this.#sent.then(() => this.#send())
    return this.#sent
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => void this.#flush(), this.#pauseMs)
  }

  async #send(): Promise<void> {
    const [text, taken] = [this.#text, this.#taken]
    if (!taken) return
    this.#text = ''
    this.#pauseMs = collectMs
    try {
      if ((await this.#note(taken)) && text !== '') publishDelta(this.#redis, this.#of, text)
    } catch {
      // Without the database nothing is heard; once it is back this comes with what follows.
      this.#text = text + this.#text
    }
  }
}
