import type { Client } from './client.ts'
import { errorOf, parse } from './error-reader.ts'
import { ConfigurationError } from './errors.ts'
import { getSubscribeUrl } from './generated/events.ts'
import type { LiveEvent } from './generated/records.ts'
import { StreamError } from './helper-errors.ts'
import type { WebSocketClass } from './options.ts'
import { backoff, pause } from './retry.ts'

/** Comes after every connect. Nothing is repeated, so whoever shows something reads it again now. */
export interface Connected {
  readonly type: 'connected'
  /** Whether it is the first of this subscription. */
  readonly first: boolean
}

/** How a workspace is listened to. */
export interface SubscribeOptions {
  /** Only these types. */
  readonly types?: readonly LiveEvent['type'][] | undefined
  /** Ends it, and rejects with its own reason. */
  readonly signal?: AbortSignal | undefined
  /** In place of the client's, or of the global one. */
  readonly WebSocket?: WebSocketClass | undefined
}

/** Pings are invisible here, so a dead connection looks like a quiet one: each is replaced after this time. */
const socketLifetimeMs = 600_000

const mostWaiting = 9999

type Said = { readonly event: LiveEvent | Connected } | { readonly closed: number }

/** What happens in the workspace, as it happens. Connects again whenever the connection ends. */
export async function* liveEvents(
  client: Client,
  { types, signal, WebSocket = globalThis.WebSocket as WebSocketClass | undefined }: SubscribeOptions = {},
): AsyncGenerator<LiveEvent | Connected, void, undefined> {
  if (!WebSocket) throw new ConfigurationError('This runtime has no WebSocket: give that of ws')
  let failures = 0
  for (let first = true; ; first = false) {
    const { url } = await client.call(getSubscribeUrl, {}, { signal })
    const inbox = new Inbox(new WebSocket(url), first, signal)
    try {
      for (;;) {
        const said = await inbox.next()
        if ('closed' in said) {
          refuse(said.closed)
          break
        }
        failures = 0
        if (!types || said.event.type === 'connected' || types.includes(said.event.type)) yield said.event
      }
    } finally {
      inbox.close()
    }
    await pause(backoff(++failures), signal)
  }
}

/** What a socket says, in order; read at the pace of the reader. */
class Inbox {
  readonly #socket: InstanceType<WebSocketClass>
  readonly #waiting: Said[] = []
  readonly #signal: AbortSignal | undefined
  readonly #timer: ReturnType<typeof setTimeout>
  readonly #onAbort = () => this.#wake?.()
  #wake: (() => void) | undefined

  constructor(socket: InstanceType<WebSocketClass>, first: boolean, signal: AbortSignal | undefined) {
    this.#socket = socket
    this.#signal = signal
    this.#timer = setTimeout(() => this.#add({ closed: 1000 }), socketLifetimeMs)
    signal?.addEventListener('abort', this.#onAbort)
    socket.addEventListener('open', () => this.#add({ event: { type: 'connected', first } }))
    socket.addEventListener('close', ({ code }: { code: number }) => this.#add({ closed: code }))
    socket.addEventListener('error', () => this.#add({ closed: 1006 }))
    socket.addEventListener('message', ({ data }: { data: unknown }) => {
      // Thrown here it would end the program: nobody can catch what a listener throws.
      const event = parse(String(data))
      this.#add(event ? { event: event as LiveEvent } : { closed: 1007 })
    })
  }

  async next(): Promise<Said> {
    for (;;) {
      this.#signal?.throwIfAborted()
      const said = this.#waiting.shift()
      if (said) return said
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#socket.close()
  }

  #add(said: Said): void {
    // Who falls so far behind reads again what it shows, as after any new connection.
    if (this.#waiting.length > mostWaiting) this.#waiting.splice(0, mostWaiting, { closed: 1013 })
    this.#waiting.push(said)
    this.#wake?.()
  }
}

/** Two ends are final; after all others the next connection may live. */
function refuse(code: number): void {
  if (code === 4001) {
    const text = JSON.stringify({ error: 'UNAUTHORIZED', message: 'The credential has ended' })
    throw errorOf({ status: 401, headers: new Headers(), operation: getSubscribeUrl.name, text })
  }
  if (code === 4008) throw new StreamError('Too many sockets are open: close some', 'unknown')
}
