import type { Route } from '@guildhall/contract'
import type { Bus } from '#platform/bus.ts'
import type { Deps } from '#platform/deps.ts'
import type { Access } from './access.ts'
import type { Answer, Cookies } from './answer.ts'
import {
  type BoundRoute,
  type Call,
  type Client,
  hashRequest,
  type Origin,
  type UploadedFile,
} from './bind.ts'
import { ApiError, toApiError } from './errors.ts'
import { findEarlier } from './idempotency/idempotency.ts'
import type { Principal } from './principal.ts'
import { slugsOf } from './slugs.ts'
import { compileInput, type Input, type Parts } from './validate.ts'
import { compileAnswer } from './write-answer.ts'

const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/

/** A route and its handler, with everything that is prepared once: at the first use, for most are never used. */
export class Operation {
  readonly name: string
  readonly route: Route
  readonly handler: BoundRoute['handler']
  readonly again: NonNullable<BoundRoute['again']>
  readonly #bus: Bus
  #read: ((input: Input) => Parts) | undefined
  #write: ((given: unknown) => Answer) | undefined

  constructor({ name, route, handler, again }: BoundRoute, bus: Bus) {
    this.name = name
    this.route = route
    this.handler = handler
    this.again = again ?? ((_call, answer) => answer)
    this.#bus = bus
  }

  get read(): (input: Input) => Parts {
    this.#read ??= compileInput(this.route)
    return this.#read
  }

  get write(): (given: unknown) => Answer {
    this.#write ??= compileAnswer(this.route)
    return this.#write
  }

  /** Does it, and tells who listens; also where it broke off, for it may have been done by then. */
  async change(call: Call): Promise<unknown> {
    let given: unknown
    try {
      given = await this.handler(call)
    } catch (error) {
      if (toApiError(error).status >= 500) this.#tell(call)
      throw error
    }
    this.#tell(call, given)
    return given
  }

  #tell({ route: { changes = [] }, principal, params }: Call, given?: unknown): void {
    if (changes.length === 0 || !principal) return
    const { workspaceId, userId } = principal
    this.#bus.changed({ kinds: changes, workspaceId, userId }, slugsOf(changes, params, given))
  }

  /** For a process that would rather take the time before its first caller comes. */
  warm(): void {
    void [this.read, this.write]
  }
}

export type Operations = ReadonlyMap<string, Operation>

export function toOperations(routes: readonly BoundRoute[], bus: Bus): Operations {
  return new Map(routes.map((bound) => [bound.name, new Operation(bound, bus)]))
}

/** One call of an operation, admitted and not yet looked at. */
export interface AdmittedCall extends Input {
  readonly deps: Deps
  readonly principal: Principal | undefined
  readonly access: Access | undefined
  readonly client: Client
  readonly upload: readonly UploadedFile[] | undefined
  readonly idempotencyKey: string | undefined
  /** Why this may be answered as a repeat and not be done: the scopes it wants are not there any more. */
  readonly repeatsOnly?: ApiError | undefined
  readonly lastEventId: string | undefined
  /** Of the app's pages; left out by whoever is no browser. */
  readonly cookies?: Cookies
  readonly origin: Origin | undefined
  readonly signal: AbortSignal
  /** Asks again, after a while, what admitted this; left out by who answers for its caller. */
  readonly confirm?: Call['confirm']
  /** Told the names of fields that were sent and that nobody knows, whatever the answer is. */
  onIgnored?(names: string): void
}

const answeredFor = () => undefined

/**
 * Validates and runs the handler. What changes something has spent its grants by then, in its own transaction; what only
 * reads, or finds nothing to change and shows what is there, spends them now that there is an answer, so that a refusal
 * costs nothing, and of parallel reads one is answered.
 * Who waited long for what they read is asked again whether they still may.
 */
export async function execute(operation: Operation, asked: AdmittedCall): Promise<Answer> {
  const { route, again } = operation
  const { params, access, deps, upload } = asked
  const { query, body, ignored } = operation.read(asked)
  if (ignored !== undefined) asked.onIgnored?.(ignored)
  const call: Call = {
    route,
    params: params as never,
    query: query as never,
    body: body as never,
    principal: asked.principal as never,
    access: access as never,
    client: asked.client,
    origin: asked.origin,
    lastEventId: asked.lastEventId,
    cookies: (route.setsCookies ? (asked.cookies ?? {}) : undefined) as never,
    upload,
    repeatable: route.creates ? readRepeatable(route, asked) : undefined,
    deps,
    confirm: asked.confirm ?? answeredFor,
    get authority() {
      return access?.authority ?? []
    },
    get signal() {
      return asked.signal
    },
  }
  const earlier = asked.principal && (await findEarlier(call))
  // Who has lost the right since then is told again what it was told, and nothing is done for it.
  if (asked.repeatsOnly && !earlier) throw asked.repeatsOnly
  if (earlier && route.stream && call.repeatable) await access?.settleEarlier(call.repeatable.key)
  const answer = operation.write(await (earlier ? again(call, earlier.answer) : operation.change(call)))
  try {
    // A stream asks about its credential itself, as it opens and as long as it lasts.
    const confirmed = route.method === 'GET' && answer.kind !== 'events' ? call.confirm() : undefined
    if (confirmed) await confirmed
    if (!earlier && access?.owes) await deps.database.transaction((tx) => access.spend(tx))
  } catch (error) {
    if (answer.kind === 'file' && 'stream' in answer.file) answer.file.stream.destroy()
    if (answer.kind === 'events') answer.events.abandon()
    throw error
  }
  return answer
}

function readRepeatable(route: Route, { idempotencyKey: key, params, body, upload }: AdmittedCall) {
  if (key === undefined) return undefined
  if (!idempotencyKeyPattern.test(key)) {
    throw new ApiError('INVALID_INPUT', { message: 'Idempotency-Key must be 1 to 255 printable characters' })
  }
  const sent = body ?? (route.optionalBody ? {} : undefined)
  return { key, requestHash: hashRequest(route, params, sent, upload) }
}

export function bodyTooLarge(limit: number): ApiError {
  return new ApiError('INVALID_INPUT', {
    message: `The body is too large: at most ${limit} bytes are read here`,
    details: { limit },
  })
}
