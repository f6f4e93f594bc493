import { randomUUID } from 'node:crypto'
import type { RedisLink } from '../platform/redis.ts'

/**
 * Word that goes to every process. On Redis a message of the channel `live:<channel>` is the id of the
 * process that sent it, a space, and the text. The sender serves its own listeners at once and passes over
 * its own word when that comes back, so that what happens in a process is heard there also without Redis, and
 * once. Somebody who is no process of ours, like a test, sends `-` as the id.
 */
export class Channels {
  readonly #redis: RedisLink
  readonly #origin = randomUUID()
  readonly #local = new Map<string, Set<(text: string) => void>>()

  constructor(redis: RedisLink) {
    this.#redis = redis
  }

  publish(channel: string, text: string): void {
    void this.#redis.publish(`live:${channel}`, `${this.#origin} ${text}`)
    for (const heard of [...(this.#local.get(channel) ?? [])]) heard(text)
  }

  subscribe(channel: string, heard: (text: string) => void): () => void {
    const local = this.#local.get(channel) ?? new Set()
    this.#local.set(channel, local)
    const own = (text: string) => heard(text)
    local.add(own)
    const leave = this.#redis.subscribe(`live:${channel}`, (message) => {
      const end = message.indexOf(' ')
      if (message.slice(0, end) !== this.#origin) own(message.slice(end + 1))
    })
    return () => {
      leave()
      local.delete(own)
      if (local.size === 0 && this.#local.get(channel) === local) this.#local.delete(channel)
    }
  }
}
