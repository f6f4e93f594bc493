import { type Bytes, bytesOf, randomId } from './body.ts'
import {
  ApiError,
  ConfigurationError,
  MissingScopeError,
  NotActivatedError,
  SecretLostError,
} from './errors.ts'
import { exchange } from './exchange.ts'
import { type AnyCall, type Operation, pathOf, queryOf } from './operation.ts'
import {
  type CallOptions,
  type ClientOptions,
  headerOf,
  isPage,
  runtime,
  type Settings,
  settingsOf,
  type WebSocketClass,
} from './options.ts'
import { rateOf } from './pace.ts'
import { delayBefore, pause } from './retry.ts'
import { version } from './version.ts'

export type { CallOptions, ClientOptions } from './options.ts'

/** A request whose every attempt is the same. */
export interface Prepared {
  readonly operation: Operation<never, unknown>
  readonly path: string
  readonly body: Bytes
}

type Reads = Operation<never, unknown>['answers']

const me: Operation<object, { workspace: { id: string } }> = {
  name: 'getAgentSelf',
  path: '/api/v1/agents/me',
}

/** Sends operations: with a credential, again where that is safe, and with errors that say what happened. */
export class Client {
  /** Where the service is. */
  readonly baseUrl: string
  /** As they were given, with what the environment adds. */
  protected readonly settings: Settings
  /** The one that was given, or the runtime's own. */
  readonly fetch: typeof globalThis.fetch = (input, init) =>
    (this.settings.fetch ?? globalThis.fetch)(input, init)
  /** When windows that are used up have room again: a request waits for that rather than being refused. */
  readonly #opensAt = new Map<string | undefined, number>()
  readonly #deprecated = new Set<string>()
  #workspace: Promise<void> | undefined

  constructor(options: ClientOptions = {}) {
    this.settings = settingsOf(options)
    this.baseUrl = this.settings.baseUrl
  }

  /** What was given to open sockets with. */
  get WebSocket(): WebSocketClass | undefined {
    return this.settings.WebSocket
  }

  /** Performs an operation and gives what it answers. */
  call<Call, Answer>(operation: Operation<Call, Answer>, call: Call, options?: CallOptions): Promise<Answer> {
    return this.#perform(operation, call as AnyCall, options) as Promise<Answer>
  }

  /** Performs an operation and gives the answer as it comes, for files and streams. */
  open<Call>(operation: Operation<Call, unknown>, call: Call, options?: CallOptions): Promise<Response> {
    return this.#perform(operation, call as AnyCall, options, 'events') as Promise<Response>
  }

  /** Whether a missing scope was granted meanwhile, so that the request is worth sending again. */
  protected async heal(
    _refusal: MissingScopeError,
    _request: Prepared,
    _options: CallOptions | undefined,
  ): Promise<boolean> {
    return false
  }

  async #perform(
    operation: Operation<never, unknown>,
    call: AnyCall,
    options: CallOptions = {},
    reads: Reads = operation.answers,
  ): Promise<unknown> {
    const { signal, maxRetries = this.settings.maxRetries ?? 2 } = options
    const { maxRetryDelayMs = 60_000, pace } = this.settings
    const request = { operation, path: pathOf(operation.path, call.params), body: await bytesOf(call.body) }
    const headers = this.#headersOf(request, options, reads)
    if ((operation.method ?? 'GET') !== 'GET' && !operation.public) await this.#checkWorkspace()
    let healed = 0
    // Whether an attempt before this one may have done it already.
    let unsure: boolean | undefined
    for (let attempt = 1; ; attempt++) {
      const spentMs = (this.#opensAt.get(operation.window) ?? 0) - performance.now()
      if (pace !== false && spentMs > 0 && spentMs <= maxRetryDelayMs) await pause(spentMs, signal)
      try {
        return await this.#attempt(request, call, options, headers, reads, attempt)
      } catch (error) {
        if (unsure && ApiError.is(error)) {
          if (operation.method === 'DELETE' && error.status === 404) return { success: true }
          if (operation.secret && error.status === 409 && 'id' in error.details)
            throw new SecretLostError(error)
        }
        unsure ||= Object(error).outcome === 'unknown' || Object(error).status >= 500
        const delay = delayBefore(attempt - healed, operation, error, { maxRetries, maxRetryDelayMs })
        if (delay !== undefined) await pause(delay, signal)
        else if (MissingScopeError.is(error) && (await this.heal(error, request, options))) healed++
        else throw error
      }
    }
  }

  async #attempt(
    { operation, path, body }: Prepared,
    call: AnyCall,
    options: CallOptions,
    fixed: Record<string, string>,
    reads: Reads,
    attempt: number,
  ): Promise<unknown> {
    const { name, method = 'GET' } = operation
    const { onRequest, onResponse } = this.settings
    const [header = '', value] = await this.#credentialOf(operation)
    const told = { operation: name, method, path, attempt }
    options.signal?.throwIfAborted()
    onRequest?.(told)
    return exchange({
      fetch: this.fetch,
      operation: name,
      url: this.baseUrl + path + queryOf(call.query),
      init: { method, headers: value ? { ...fixed, [header]: value } : fixed, ...body.init },
      secret: value?.split(' ').at(-1),
      signal: options.signal,
      timeoutMs: options.timeoutMs ?? this.#timeoutOf(operation, call),
      reads,
      onResponse: (response, ms) => {
        const headerOf = (name: string) => response?.headers.get(name) ?? undefined
        const rate = response && rateOf(response.headers)
        const facts = {
          ...told,
          status: response?.status,
          requestId: headerOf('x-request-id'),
          ms,
          rate,
        }
        if (rate)
          this.#opensAt.set(
            operation.window,
            performance.now() + (rate.remaining > 0 ? 0 : rate.resetSeconds * 1000),
          )
        onResponse?.(facts)
        options.onResponse?.(facts)
        const deprecation = headerOf('deprecation')
        if (!deprecation || this.#deprecated.has(name)) return
        this.#deprecated.add(name)
        this.settings.onDeprecation?.({ operation: name, deprecation, sunset: headerOf('sunset') })
      },
    })
  }

  #headersOf({ operation, body }: Prepared, options: CallOptions, reads: Reads): Record<string, string> {
    const { headers, agent, userAgent, workspaceId } = this.settings
    const given = {
      accept: reads === 'events' ? 'text/event-stream' : '*/*',
      'user-agent': isPage()
        ? ''
        : `guildhall-sdk/${version} (${runtime()})${userAgent ? ` ${userAgent}` : ''}`,
      'content-type': body.type,
      'idempotency-key': operation.creates && (options.idempotencyKey ?? randomId()),
      'x-agent-slug': operation.namesAgent && agent,
      'x-workspace-id': !operation.public && (options.workspaceId ?? workspaceId),
      ...headers,
      ...options.headers,
    }
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value)) as Record<string, string>
  }

  async #credentialOf({ public: isPublic, name }: Operation<never, unknown>): Promise<readonly string[]> {
    if (isPublic) return []
    const { credential } = this.settings
    if (!credential)
      throw new ConfigurationError(`${name} needs a credential: give apiKey, or set GUILD_API_KEY`)
    return headerOf(await credential())
  }

  #timeoutOf({ uploads, answers }: Operation<never, unknown>, { query, body }: AnyCall): number {
    const { timeoutMs = 60_000 } = this.settings
    const { wait, waitSeconds = wait } = { ...query, ...(body as object) } as Record<string, unknown>
    if (typeof waitSeconds === 'number') return Math.max(timeoutMs, waitSeconds * 1000 + 10_000)
    return uploads || answers === 'file' || answers === 'either' ? Math.max(timeoutMs, 310_000) : timeoutMs
  }

  /** A key belongs to one workspace: one that was meant for another must not write. */
  async #checkWorkspace(): Promise<void> {
    const { workspaceId, credential } = this.settings
    if (!workspaceId || !credential || !('apiKey' in (await credential()))) return
    this.#workspace ??= this.call(me, {}).then(
      ({ workspace }) => {
        if (workspace.id === workspaceId) return
        throw new ConfigurationError(`This key belongs to workspace ${workspace.id}, not to ${workspaceId}`)
      },
      (error: unknown) => {
        this.#workspace = undefined
        // Such a key can do nothing but ask.
        if (!NotActivatedError.is(error)) throw error
      },
    )
    await this.#workspace
  }
}
