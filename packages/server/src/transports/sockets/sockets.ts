import { socketUrlLifetimeMs } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import { type Bearer, signTicket, verifyTicket } from '#operations/signed-url.ts'
import type { Bus } from '#platform/bus.ts'
import type { Deps } from '#platform/deps.ts'
import { ExpiringCache } from '#platform/expiring-cache.ts'
import type { Admission, SocketDoor } from '#transports/http/socket.ts'
import type { Rights } from './channel-listeners.ts'
import { type CredentialChecks, channelsOf, ListenerHub } from './hub.ts'
import { Recheck } from './recheck.ts'
import * as store from './store.ts'

type Parts = Pick<Deps, 'config' | 'database' | 'logger' | 'metrics' | 'redis'>

const socketPath = '/api/v1/events/socket'
const ticketPurpose = 'live-socket'
const removals = 'member-removed'
/** In one process. A client that keeps one socket per window stays far below. */
const socketsPerCredential = 20

/** An address that opens one socket, once, for as long as the credential is good. */
export function socketUrl({ publicUrl, signingKeys }: Deps['config'], bearer: Bearer): string {
  const token = signTicket(signingKeys, ticketPurpose, bearer, {
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
 * The sockets and streams that are open in this process. Sockets get the events of the bus, and nothing is
 * kept: a client that was not there refetches. Sockets and streams alike end with their credential.
 */
export class Sockets {
  readonly #parts: Parts
  readonly #hub: ListenerHub
  readonly #recheck: Recheck
  readonly #streams: ListenerHub
  readonly #streamRecheck: Recheck
  /** Spares the database whoever tries a used address over and over. */
  readonly #spent = new ExpiringCache<true>(10_000)
  readonly door: SocketDoor

  constructor(parts: Parts, bus: Bus, checks: CredentialChecks) {
    const { config, redis, metrics, logger } = parts
    this.#parts = parts
    const shared = { bus, metrics, checks }
    this.#hub = new ListenerHub({ ...shared, channelsOf, mostPerCredential: socketsPerCredential })
    this.#recheck = new Recheck({ hub: this.#hub, redis, logger })
    this.#streams = new ListenerHub({
      ...shared,
      channelsOf: () => [],
      mostPerCredential: config.streamsPerCredential,
    })
    this.#streamRecheck = new Recheck({ hub: this.#streams, redis, logger })
    bus.listen(removals, (text) => {
      const [workspaceId, userId] = text.split(' ')
      for (const recheck of [this.#recheck, this.#streamRecheck])
        recheck.ask(({ bearer }) => bearer.userId === userId && bearer.workspaceId === workspaceId)
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
    for (const recheck of [this.#recheck, this.#streamRecheck])
      recheck.ask(({ bearer }) => bearer.kind === kind)
  }

  /**
   * For a stream that may stay open only while its credential is good: `end` is called when that is over.
   * Undefined when it is over already. Call `release` when the stream is gone.
   */
  async holdStream(
    bearer: Bearer,
    end: (because: 'credential_ended' | 'too_many') => void,
    rights?: Rights,
  ): Promise<{ release(): void } | undefined> {
    const { listener, opened, closed } = this.#streams.expect(bearer, rights)
    this.#streamRecheck.start()
    try {
      if (!(await this.#streams.admit(listener))) {
        closed()
        return undefined
      }
      // They were asked for before anybody would have heard that they end.
      await rights?.confirm()
    } catch (error) {
      closed()
      throw error
    }
    opened({ send: () => false, end })
    return { release: closed }
  }

  async #admit(token: string): Promise<Admission> {
    const { config, database, redis } = this.#parts
    const ticket = verifyTicket(config.signingKeys, ticketPurpose, token, Date.now())
    if (!ticket || this.#spent.get(ticket.id)) throw refusal()
    const admission = this.#hub.expect(ticket)
    this.#recheck.start()
    try {
      const [claimed, good] = await Promise.all([
        store.claimAddress(database.db, ticket.id, new Date(ticket.expiresAt)),
        this.#hub.admit(admission.listener),
        // So that all that is published after the client's `open` reaches it.
        redis.subscribed(),
      ])
      this.#spent.set(ticket.id, true, performance.now(), socketUrlLifetimeMs)
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
