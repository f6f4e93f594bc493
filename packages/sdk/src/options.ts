import { ConfigurationError } from './errors.ts'
import type { GrantMode } from './generated/records.ts'

/** What a request is sent with. An agent has a key, a person's app a session, a connected app an access token. */
export type Credential =
  | { readonly apiKey: string }
  | { readonly authToken: string }
  | { readonly accessToken: string }

/** What hooks are told before a request. Never headers or bodies. */
export interface RequestFacts {
  readonly operation: string
  readonly method: string
  /** Without its query. */
  readonly path: string
  /** From 1. */
  readonly attempt: number
}

/** What hooks are told after a request. */
export interface ResponseFacts extends RequestFacts {
  /** Undefined when no answer came. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly ms: number
  /** The window that the server counts this operation in. */
  readonly rate:
    | { readonly limit: number; readonly remaining: number; readonly resetSeconds: number }
    | undefined
}

/** What `onDeprecation` is told, once for each operation. */
export interface DeprecationFacts {
  readonly operation: string
  readonly deprecation: string
  /** When it goes away, if that is settled. */
  readonly sunset: string | undefined
}

/** What a person is asked, and how long to wait for the answer. */
export interface PermissionOptions {
  /** Shown to the person. */
  readonly reason?: string
  /** For how long the scope is wanted. */
  readonly mode?: GrantMode
  /** With `one_time`: the grant fits exactly this request and no other. */
  readonly bind?: boolean
  /** Called once when a person is asked, so that the program can say so. */
  readonly onAsk?: (asked: Asked) => void
  /** Ten minutes when not said. */
  readonly waitMs?: number
}

/** A question that waits for a person. */
export interface Asked {
  readonly scopes: readonly string[]
  /** Of a question about one scope. */
  readonly requestId?: string
  /** Of a question about several: the code that the person finds it by. */
  readonly linkCode?: string
  /** Where the person answers, if the server says. */
  readonly url?: string
}

/** How a client is set up. */
export interface ClientOptions {
  /** Where the service is; `GUILD_BASE_URL` when not given. https, or http on this machine. */
  readonly baseUrl?: string | undefined
  /** An agent's key; `GUILD_API_KEY` when no credential is given. */
  readonly apiKey?: string | undefined
  /** A person's session. */
  readonly authToken?: string | undefined
  /** An OAuth access token. */
  readonly accessToken?: string | undefined
  /** Asked before every attempt, for credentials that are refreshed. */
  readonly credential?: (() => Credential | Promise<Credential>) | undefined
  /** A key in a page can be read by everybody who opens it: say that you know. */
  readonly allowKeyInBrowser?: boolean | undefined
  /** Where a session acts; with a key, where the key must belong. `GUILD_WORKSPACE` when not given. */
  readonly workspaceId?: string | undefined
  /** What the agent calls itself; recorded, and decides nothing. */
  readonly agent?: string | undefined
  /** In place of the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** In place of the global one, which Node 20 lacks. */
  readonly WebSocket?: WebSocketClass | undefined
  /** For one attempt: 60,000 when not given, 300,000 for files. */
  readonly timeoutMs?: number | undefined
  /** 2 when not given. */
  readonly maxRetries?: number | undefined
  /** How long to wait at most before another attempt, whatever the server asks for: 60,000 when not given. */
  readonly maxRetryDelayMs?: number | undefined
  /** Whether to wait when the rate limit is used up, instead of being refused; true when not given. */
  readonly pace?: boolean | undefined
  /** With `ask`, a refusal for a missing scope is put to a person, and the request sent again. */
  readonly permissions?: (PermissionOptions & { readonly onMissing: 'throw' | 'ask' }) | undefined
  readonly onRequest?: ((facts: RequestFacts) => void) | undefined
  readonly onResponse?: ((facts: ResponseFacts) => void) | undefined
  readonly onDeprecation?: ((facts: DeprecationFacts) => void) | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Added to the user agent. */
  readonly userAgent?: string | undefined
}

/** What one call may say for itself. */
export interface CallOptions {
  /** Ends waiting and sending alike, and rejects with its own reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly maxRetries?: number | undefined
  /** In place of a random one. */
  readonly idempotencyKey?: string | undefined
  readonly workspaceId?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Asks a person if a scope is missing. */
  readonly permission?: PermissionOptions | undefined
  readonly onResponse?: ((facts: ResponseFacts) => void) | undefined
}

/** The part of a WebSocket that is used. */
export type WebSocketClass = new (
  url: string,
) => {
  close(code?: number): void
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: never) => void): void
}

/** Options with what the environment says where they are silent. */
export interface Settings extends ClientOptions {
  readonly baseUrl: string
  readonly credential: (() => Credential | Promise<Credential>) | undefined
}

/** Reads the options, and refuses what could only go wrong later. */
export function settingsOf(options: ClientOptions): Settings {
  const baseUrl = withoutSlash(options.baseUrl ?? environment('GUILD_BASE_URL') ?? '')
  checkAddress(baseUrl)
  const given = [...kinds, 'credential' as const].filter((kind) => options[kind] !== undefined)
  if (given.length > 1) {
    throw new ConfigurationError('Give only one credential')
  }
  const [kind = 'apiKey'] = given
  const secret = options[kind] ?? environment('GUILD_API_KEY')
  const credential = typeof secret === 'string' ? () => ({ [kind]: secret }) as unknown as Credential : secret
  if (secret && kind === 'apiKey' && isPage() && !options.allowKeyInBrowser) {
    throw new ConfigurationError('A key in a page is public: give authToken, or set allowKeyInBrowser')
  }
  return {
    ...options,
    baseUrl,
    credential,
    workspaceId: options.workspaceId ?? environment('GUILD_WORKSPACE'),
  }
}

const headerNames = { apiKey: 'x-api-key', authToken: 'x-auth-token', accessToken: 'authorization' } as const
const kinds = Object.keys(headerNames) as (keyof typeof headerNames)[]

/** A credential as a header. Its value is checked here, because whoever refuses it later would quote it. */
export function headerOf(credential: Credential): readonly [name: string, value: string] {
  const kind = kinds.find((one) => one in credential) ?? 'apiKey'
  const secret: unknown = (credential as Record<string, unknown>)[kind]
  if (typeof secret !== 'string' || !/^[\x21-\x7e]+$/.test(secret)) {
    throw new ConfigurationError('The credential is malformed')
  }
  return [headerNames[kind], kind === 'accessToken' ? `Bearer ${secret}` : secret]
}

function withoutSlash(address: string): string {
  return address.endsWith('/') ? withoutSlash(address.slice(0, -1)) : address
}

function checkAddress(baseUrl: string): void {
  const { protocol, hostname, origin, pathname, href } = new URL(URL.canParse(baseUrl) ? baseUrl : 'none:')
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  // With a user, a query or a fragment it is more than these two.
  if (!(protocol === 'https:' || (protocol === 'http:' && isLocal)) || href !== origin + pathname) {
    throw new ConfigurationError('baseUrl must be plain https, or http on this machine')
  }
}

/** An environment variable, where there are any and we may read them. */
export function environment(name: string): string | undefined {
  try {
    return globals.process?.env?.[name] || undefined
  } catch {
    return undefined
  }
}

/** Whether this runs in a page, or in a worker of one. */
export function isPage(): boolean {
  return !!globals.navigator?.userAgent?.startsWith('Mozilla/')
}

/** The runtime, as it names itself: `node/24.1.0`. */
export function runtime(): string {
  const { Deno, Bun, process, navigator } = globals
  const node = !Deno && !Bun && process?.versions?.node
  return node ? `node/${node}` : (navigator?.userAgent ?? 'unknown')
}

const globals = globalThis as {
  readonly process?: {
    readonly env?: Record<string, string | undefined>
    readonly versions?: { readonly node?: string }
  }
  readonly navigator?: { readonly userAgent?: string }
  readonly Deno?: unknown
  readonly Bun?: unknown
}
