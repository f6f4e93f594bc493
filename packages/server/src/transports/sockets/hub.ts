import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Bearer } from '#operations/signed-url.ts'
import { approvalChannel, type Bus, personChannel, workspaceChannel } from '#platform/bus.ts'
import { ExpiringCache } from '#platform/expiring-cache.ts'
import { gather } from '#platform/gather.ts'
import type { Metrics } from '#platform/metrics.ts'
import type { Admission, OpenSocket } from '#transports/http/socket.ts'
import { ChannelListeners, type Listener, type Rights } from './channel-listeners.ts'

const believedForMs = 900

type Asked = Pick<Principal, 'credentialId' | 'workspaceId'>

/**
 * By kind of credential: which of these are still good, and their person still a member of that workspace.
 * The features that keep the credentials come later in the order and are handed in.
 */
export type CredentialChecks = Readonly<
  Record<Principal['kind'], (asked: readonly Asked[]) => Promise<Asked[]>>
>

/** A channel of the bus, and the workspace as of which its events are heard that name none. */
interface Heard {
  readonly channel: string
  readonly asIn?: string
}

interface HubOptions {
  readonly bus: Bus
  readonly metrics: Metrics
  readonly checks: CredentialChecks
  /** The channels that a listener hears. */
  readonly channelsOf: (bearer: Bearer) => Heard[]
  /** Beyond so many of one credential in this process the oldest ends. */
  readonly mostPerCredential: number
}

/** The listeners of this process, who hold a socket or a stream open: by their credentials, and by the channels they hear. */
export class ListenerHub {
  readonly #options: HubOptions
  readonly #byCredential = new Map<string, Set<Listener>>()
  readonly #channels = new Map<string, { hearing: ChannelListeners; leave: () => void }>()
  /** Credentials that were found good a moment ago, by name and workspace. */
  readonly #good = new ExpiringCache<true>(20_000)
  readonly #askForOne: (listener: Listener) => Promise<boolean>
  #forgotten = 0

  constructor(options: HubOptions) {
    this.#options = options
    this.#askForOne = gather(async (listeners) => {
      const good = await this.check(listeners)
      return listeners.map((listener) => good.has(listener))
    })
  }

  get size(): number {
    return this.#byCredential.size
  }

  /** Those of one credential, or all. */
  *of(credential?: string): Iterable<Listener> {
    if (credential !== undefined) return yield* this.#byCredential.get(credential) ?? []
    for (const listeners of this.#byCredential.values()) yield* listeners
  }

  /**
   * From now on a word that the credential ended is heeded; so ask whether it is good only after this, or one
   * that ends in between would be missed.
   */
  expect(bearer: Bearer, rights?: Rights): Admission & { readonly listener: Listener } {
    const credential = `${bearer.kind}:${bearer.credentialId}`
    const listener: Listener = { bearer, credential, rights, socket: undefined, ended: false }
    const own = this.#byCredential.get(credential) ?? new Set()
    this.#byCredential.set(credential, own.add(listener))
    for (const heard of this.#options.channelsOf(bearer)) this.#enter(heard, listener)
    return {
      listener,
      credential,
      opened: (socket) => this.#open(listener, socket),
      closed: () => this.#remove(listener),
    }
  }

  /**
   * Whether a listener who comes in may stay. A credential is believed for a moment, as requests believe it, and many who
   * come at once are asked for together.
   */
  async admit(listener: Listener): Promise<boolean> {
    const name = `${listener.bearer.kind} ${nameOf(listener.bearer)}`
    if (this.#good.get(name)) return !listener.ended
    const started = performance.now()
    const forgotten = this.#forgotten
    const isGood = await this.#askForOne(listener)
    // Word of an end that came meanwhile may be about this very answer.
    if (isGood && forgotten === this.#forgotten) this.#good.set(name, true, started, believedForMs)
    return isGood && !listener.ended
  }

  /** Word that some credentials may have ended: nobody is believed any more for having been good before. */
  forget(): void {
    this.#forgotten++
    this.#good.deleteWhere(() => true)
  }

  /** Ends those whose credential is not good any more; gives the ones that are. */
  async check(listeners: readonly Listener[]): Promise<Set<Listener>> {
    const good = new Set<Listener>()
    const byKind = Map.groupBy(listeners, ({ bearer }) => bearer.kind)
    await Promise.all(
      [...byKind].map(async ([kind, group]) => {
        const asked = new Map(group.map(({ bearer }) => [nameOf(bearer), bearer]))
        const found = new Set((await this.#options.checks[kind]([...asked.values()])).map(nameOf))
        await Promise.all(
          group.map(async (listener) => {
            const isGood = found.has(nameOf(listener.bearer)) && (await hasRights(listener))
            if (isGood) good.add(listener)
            else this.#end(listener, 'credential_ended')
          }),
        )
      }),
    )
    return good
  }

  #open(listener: Listener, socket: OpenSocket): void {
    listener.socket = socket
    if (listener.ended) {
      socket.end('credential_ended')
      return
    }
    const open = [...this.of(listener.credential)].filter((other) => other.socket)
    for (const oldest of open.slice(0, -this.#options.mostPerCredential)) this.#end(oldest, 'too_many')
  }

  #end(listener: Listener, because: 'credential_ended' | 'too_many'): void {
    listener.ended = true
    // At once, before the other side has answered: nothing more is said to it.
    this.#remove(listener)
    listener.socket?.end(because)
  }

  #remove(listener: Listener): void {
    const own = this.#byCredential.get(listener.credential)
    if (!own?.delete(listener)) return
    if (own.size === 0) this.#byCredential.delete(listener.credential)
    for (const heard of this.#options.channelsOf(listener.bearer)) {
      const name = nameOfHeard(heard)
      const known = this.#channels.get(name)
      known?.hearing.listeners.delete(listener)
      if (known?.hearing.listeners.size !== 0) continue
      known.leave()
      this.#channels.delete(name)
    }
  }

  #enter(heard: Heard, listener: Listener): void {
    const { channel, asIn } = heard
    const name = nameOfHeard(heard)
    const known = this.#channels.get(name)
    const hearing =
      known?.hearing ?? new ChannelListeners((count) => this.#options.metrics.eventsDelivered.inc(count))
    hearing.listeners.add(listener)
    if (known) return
    const leave = this.#options.bus.listen(channel, (text) => {
      // A listener in the event's own workspace hears it there, and must not hear it twice.
      const frame = Buffer.from(asIn === undefined ? text : toldIn(asIn, text))
      hearing.tell(frame, channel.startsWith(elsewhere) ? workspaceOf(text) : undefined)
    })
    this.#channels.set(name, { hearing, leave })
  }
}

/** Who cannot be asked about now is asked about again. */
async function hasRights({ rights }: Listener): Promise<boolean> {
  try {
    await rights?.confirm()
    return true
  } catch (error) {
    return !(error instanceof ApiError) || error.status >= 500
  }
}

/** How the channels begin that repeat what is published in the workspaces. */
const elsewhere = approvalChannel('')

/** Only a person's own session hears of approvals in the person's other workspaces, and of what is theirs alone. */
export function channelsOf({ kind, userId, workspaceId }: Bearer): Heard[] {
  const own = { channel: workspaceChannel(workspaceId) }
  if (kind !== 'session') return [own]
  const ofPerson = { channel: personChannel(userId), asIn: workspaceId }
  return [own, { channel: approvalChannel(userId) }, ofPerson]
}

function nameOfHeard({ channel, asIn }: Heard): string {
  return asIn === undefined ? channel : `${channel} ${asIn}`
}

function toldIn(workspaceId: string, text: string): string {
  const { type, id, workspaceId: named = workspaceId, ...fields } = JSON.parse(text)
  return JSON.stringify({ type, id, workspaceId: named, ...fields })
}

function workspaceOf(text: string): string | undefined {
  return (JSON.parse(text) as { workspaceId?: string }).workspaceId
}

function nameOf({ credentialId, workspaceId }: Asked): string {
  return `${credentialId}@${workspaceId}`
}
