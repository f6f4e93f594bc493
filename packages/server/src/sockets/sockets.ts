import { socketUrlLifetimeMs } from '@guildhall/contract'
import type { Bus } from '../bus/bus.ts'
import type { Deps } from '../deps.ts'
import type { Admission, SocketDoor } from '../http/socket.ts'
import { ApiError } from '../operations/errors.ts'
import { type Bearer, signNote, verifyNote } from '../operations/signed-url.ts'
import { ExpiringCache } from '../platform/expiring-cache.ts'
import { Audience, type CredentialChecks, channelsOf } from './audience.ts'
import { Recheck } from './recheck.ts'
import * as store from './store.ts'

export { deleteUsedAddresses } from './store.ts'

type Parts = Pick<Deps, 'config' | 'database' | 'logger' | 'metrics' | 'redis'>

const socketPath = '/api/v1/events/socket'
const audienceName = 'live-socket'
const removals = 'member-removed'
/** In one process. A client that keeps one socket per window stays far below. */
const socketsPerCredential = 20
const streamsPerCredential = 100

/** An address that opens one socket, once, for as long as the credential is good. */
export function socketUrl({ publicUrl, signingKeys }: Deps['config'], bearer: Bearer): string {
  const token = signNote(signingKeys, audienceName, bearer, {
    lifetimeMs: socketUrlLifetimeMs,
    now: Date.now(),
  })
  return `${publicUrl.replace(/^http/, 'ws')}${socketPath}?token=${token}`
}

/** Tells every process that a person left a workspace: what they hold open there ends. */
export function announceRemoval(bus: Bus, workspaceId: string, userId: string): void {
  bus.tell(removals, `${workspaceId} ${userId}`)
}

/**
 * Those who hold a socket or a stream open in this process. Sockets are told the events of the bus, and
 * nothing is kept: who was not there refetches. Sockets and streams alike end with their credential.
 */
export class Sockets {
  readonly #parts: Parts
  readonly #audience: Audience
  readonly #recheck: Recheck
  readonly #streams: Audience
  readonly #streamRecheck: Recheck
  /** Spares the database whoever tries a used address over and over. */
  readonly #spent = new ExpiringCache<true>(10_000)
  readonly door: SocketDoor

  constructor(parts: Parts, bus: Bus, checks: CredentialChecks) {
    const { redis, metrics, logger } = parts
    this.#parts = parts
    const shared = { bus, metrics, checks }
    this.#audience = new Audience({ ...shared, channelsOf, mostPerCredential: socketsPerCredential })
    this.#recheck = new Recheck({ audience: this.#audience, redis, logger })
    this.#streams = new Audience({
      ...shared,
      channelsOf: () => [],
      mostPerCredential: streamsPerCredential,
    })
    this.#streamRecheck = new Recheck({ audience: this.#streams, redis, logger })
    bus.listen(removals, (text) => {
      const [workspaceId, userId] = text.split(' ')
      for (const recheck of [this.#recheck, this.#streamRecheck])
        recheck.ask(({ note }) => note.userId === userId && note.workspaceId === workspaceId)
    })
    this.door = { path: socketPath, admit: (token) => this.#admit(token) }
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
