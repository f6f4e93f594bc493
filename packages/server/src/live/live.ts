import { randomUUID } from 'node:crypto'
import { type LiveEvent, socketUrlLifetimeMs } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import type { Admission, SocketDoor } from '../http/socket.ts'
import { ApiError } from '../operations/errors.ts'
import { type Bearer, signNote, verifyNote } from '../operations/signed-url.ts'
import { ExpiringCache } from '../platform/expiring-cache.ts'
import { Audience, approvalChannel, channelsOf, type LiveChecks, workspaceChannel } from './audience.ts'
import { Channels } from './channels.ts'
import { Recheck } from './recheck.ts'
import * as store from './store.ts'

export type { LiveChecks } from './audience.ts'
export { deleteUsedAddresses } from './store.ts'

type Parts = Pick<Deps, 'config' | 'database' | 'logger' | 'metrics' | 'redis'>

/** An event before it has its id and its time. */
export interface NewLiveEvent {
  readonly type: LiveEvent['type']
  readonly workspaceId: string
  readonly [field: string]: unknown
}

const socketPath = '/api/v1/events/socket'
const audienceName = 'live-socket'
const removals = 'member-removed'
/** In one process. A client that keeps one socket per window stays far below. */
const socketsPerCredential = 20
const streamsPerCredential = 100

/**
 * Events to the sockets of every process. Nothing is kept: who was not there refetches. How it travels
 * between processes is told in channels.ts; the text on `live:workspace:<id>` and `live:approvals:<user>` is
 * the event.
 */
export class Live {
  readonly #parts: Parts
  readonly #channels: Channels
  readonly #audience: Audience
  readonly #recheck: Recheck
  readonly #streams: Audience
  readonly #streamRecheck: Recheck
  /** Spares the database whoever tries a used address over and over. */
  readonly #spent = new ExpiringCache<true>(10_000)
  readonly socketDoor: SocketDoor

  constructor(parts: Parts, checks: LiveChecks) {
    const { redis, metrics, logger } = parts
    this.#parts = parts
    this.#channels = new Channels(redis)
    const shared = { channels: this.#channels, metrics, checks }
    this.#audience = new Audience({ ...shared, channelsOf, mostPerCredential: socketsPerCredential })
    this.#recheck = new Recheck({ audience: this.#audience, redis, logger })
    this.#streams = new Audience({
      ...shared,
      channelsOf: () => [],
      mostPerCredential: streamsPerCredential,
    })
    this.#streamRecheck = new Recheck({ audience: this.#streams, redis, logger })
    this.#channels.subscribe(removals, (text) => {
      const [workspaceId, userId] = text.split(' ')
      for (const recheck of [this.#recheck, this.#streamRecheck])
        recheck.ask(({ note }) => note.userId === userId && note.workspaceId === workspaceId)
    })
    this.socketDoor = { path: socketPath, admit: (token) => this.#admit(token) }
  }

  /** An address that opens one socket, once, for as long as the credential is good. */
  socketUrl(bearer: Bearer): string {
    const { publicUrl, signingKeys } = this.#parts.config
    const token = signNote(signingKeys, audienceName, bearer, {
      lifetimeMs: socketUrlLifetimeMs,
      now: Date.now(),
    })
    return `${publicUrl.replace(/^http/, 'ws')}${socketPath}?token=${token}`
  }

  /**
   * Tells the sockets of a workspace. With persons, an `approval-*` event also reaches their sessions in other
   * workspaces. Call it after the change is committed: who hears it reads at once. Never throws or
   * waits.
   */
  publish(event: NewLiveEvent, { userId = [] }: { userId?: string | readonly string[] } = {}): void {
    try {
      const { type, workspaceId, ...fields } = event
      const named = { type, id: randomUUID(), workspaceId, at: new Date().toISOString() }
      // Twice: named fields come first for who reads along, and no other field replaces one.
      const text = JSON.stringify({ ...named, ...fields, ...named })
      this.#channels.publish(workspaceChannel(workspaceId), text)
      if (!type.startsWith('approval-')) return
      for (const person of [userId].flat()) this.#channels.publish(approvalChannel(person), text)
    } catch (error) {
      this.#parts.logger.error({ err: error, type: event.type }, 'event not published')
    }
  }

  /** Calls back whenever a channel is woken, in whichever process; gives what ends it. Words can be lost. */
  listen(channel: string, heard: () => void): () => void {
    return this.#channels.subscribe(channel, heard)
  }

  /** Ends the waits on a channel, in every process. */
  wake(channel: string): void {
    this.#channels.publish(channel, '')
  }

  /**
   * Resolves when something is published on the channel, after `ms`, or when the signal aborts. A hint: a
   * wake-up can be lost, so look again in any case. Begin to wait before you look, or one that comes in
   * between is missed.
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
      const leave = this.#channels.subscribe(channel, done)
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
    })
  }

  /**
   * Word that a credential (`key:12`, `session:7`) ended or changed: its sockets and streams stay only if it
   * is still good.
   */
  recheckCredential(credential: string): void {
    for (const recheck of [this.#recheck, this.#streamRecheck])
      recheck.ask((listener) => listener.credential === credential, credential)
  }

  /** Word that some credentials of a kind ended, without their names. */
  recheckKind(kind: Bearer['kind']): void {
    for (const recheck of [this.#recheck, this.#streamRecheck]) recheck.ask(({ note }) => note.kind === kind)
  }

  /**
   * For a stream that may stay open only while its credential is good: `end` is called when that is over.
   * Undefined when it is over already. Call `release` when the stream is gone.
   */
  async holdStream(bearer: Bearer, end: () => void): Promise<{ release(): void } | undefined> {
    const { listener, opened, closed } = this.#streams.expect(bearer)
    this.#streamRecheck.start()
    try {
      if (!(await this.#streams.admit(listener))) {
        closed()
        return undefined
      }
    } catch (error) {
      closed()
      throw error
    }
    opened({ send: () => false, end })
    return { release: closed }
  }

  /** Tells every process that a person left a workspace. */
  announceRemoval(workspaceId: string, userId: string): void {
    this.#channels.publish(removals, `${workspaceId} ${userId}`)
  }

  async #admit(token: string): Promise<Admission> {
    const { config, database, redis } = this.#parts
    const note = verifyNote(config.signingKeys, audienceName, token, Date.now())
    if (!note || this.#spent.get(note.id)) throw refusal()
    const admission = this.#audience.expect(note)
    this.#recheck.start()
    try {
      const [claimed, good] = await Promise.all([
        store.claimAddress(database.db, note.id, new Date(note.expiresAt)),
        this.#audience.admit(admission.listener),
        // So that all that is published after the client's `open` reaches it.
        redis.subscribed(),
      ])
      this.#spent.set(note.id, true, performance.now(), socketUrlLifetimeMs)
      if (!claimed || !good) throw refusal()
      return admission
    } catch (error) {
      admission.closed()
      throw error
    }
  }
}

function refusal(): ApiError {
  return new ApiError('UNAUTHORIZED', { message: 'This address is unknown, used or too old; get a new one' })
}
