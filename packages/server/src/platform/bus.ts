import { randomUUID } from 'node:crypto'
import { type ChangeKind, changeKinds, type LiveEvent } from '@guildhall/contract'
import type { Changed } from './changes.ts'
import type { Logger } from './logger.ts'
import type { RedisLink } from './redis.ts'

/** An event before it has its id and its time. */
export interface NewLiveEvent {
  readonly type: LiveEvent['type']
  readonly workspaceId: string
  readonly [field: string]: unknown
}

/** The text on it is the event. */
export function workspaceChannel(workspaceId: string): string {
  return `workspace:${workspaceId}`
}

/** Events for a person's own sessions alone, in whichever workspace they are. */
export function personChannel(userId: string): string {
  return `person:${userId}`
}

/** The same events once more, for a person's sessions in other workspaces. */
export function approvalChannel(userId: string): string {
  return `approvals:${userId}`
}

/**
 * Word that goes to every process. On Redis a message of the channel `live:<channel>` is the id of the
 * process that sent it, a space, and the text. The sender serves its own listeners at once and passes over
 * its own word when that comes back, so that what happens in a process is heard there also without Redis, and
 * once. Somebody who is no process of ours, like a test, sends `-` as the id. Nothing is kept, and words can
 * be lost: who was not there looks again.
 */
export class Bus {
  readonly #redis: RedisLink
  readonly #logger: Logger
  readonly #origin = randomUUID()
  readonly #local = new Map<string, Set<(text: string) => void>>()

  constructor({ redis, logger }: { redis: RedisLink; logger: Logger }) {
    this.#redis = redis
    this.#logger = logger
  }

  /**
   * Tells the sockets of a workspace. With persons, an `approval-*` event also reaches their sessions in other
   * workspaces. Call it after the change is committed: who hears it reads at once. Never throws or
   * waits.
   */
  publish(event: NewLiveEvent, { userId = [] }: { userId?: string | readonly string[] } = {}): void {
    try {
      const { type, workspaceId } = event
      const text = textOf(event)
      this.tell(workspaceChannel(workspaceId), text)
      if (!type.startsWith('approval-')) return
      for (const person of [userId].flat()) this.tell(approvalChannel(person), text)
    } catch (error) {
      this.#logger.error({ err: error, type: event.type }, 'event not published')
    }
  }

  /**
   * Tells whom it concerns that these read differently now: who listens in the workspace, or the person's own sessions.
   * Call it after the change is committed.
   */
  changed({ kinds, workspaceId, userId }: Changed, ids: readonly string[] = []): void {
    const isOfPerson = (kind: ChangeKind) => workspaceId === undefined || changeKinds[kind] === 'person'
    const [ofPerson, ofWorkspace] = [kinds.filter(isOfPerson), kinds.filter((kind) => !isOfPerson(kind))]
    const word = { type: 'cache-invalidate', ids } as const
    if (ofWorkspace.length > 0 && workspaceId !== undefined)
      this.publish({ ...word, workspaceId, keys: ofWorkspace })
    if (ofPerson.length > 0 && userId !== undefined) this.publishTo(userId, { ...word, keys: ofPerson })
  }

  /**
   * Tells one person's sessions and nobody else. What is in no workspace each of them hears as of the one that they listen in:
   * of what is done in one nothing is said in another.
   */
  publishTo(userId: string, event: Omit<NewLiveEvent, 'workspaceId'>): void {
    this.tell(personChannel(userId), textOf(event))
  }

  tell(channel: string, text: string): void {
    void this.#redis.publish(`live:${channel}`, `${this.#origin} ${text}`)
    for (const heard of [...(this.#local.get(channel) ?? [])]) heard(text)
  }

  /** Calls back with whatever a channel is told, in whichever process; gives what ends it. */
  listen(channel: string, heard: (text: string) => void): () => void {
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

  /** Ends the waits on a channel, in every process. */
  wake(channel: string): void {
    this.tell(channel, '')
  }

  /**
   * Resolves when the channel is told something, after `ms`, or when the signal aborts. A hint: a wake-up can
   * be lost, so look again in any case. Begin to wait before you look, or one that comes in between is missed.
   */
  wait(channel: string, signal: AbortSignal, ms: number): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        leave()
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const leave = this.listen(channel, done)
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
    })
  }
}

function textOf(event: Omit<NewLiveEvent, 'workspaceId'>): string {
  const { type, workspaceId, ...fields } = event
  const named = { type, id: randomUUID(), workspaceId, at: new Date().toISOString() }
  // Twice: named fields come first for who reads along, and no other field replaces one.
  return JSON.stringify({ ...named, ...fields, ...named })
}
