import { createHash } from 'node:crypto'
import type { LimitName, Route } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import { type Access, noGrants } from './access.ts'
import { admit } from './admit.ts'
import type { Answer } from './answer.ts'
import {
  type BoundRoute,
  type Call,
  type Client,
  hashRequest,
  type Origin,
  type UploadedFile,
} from './bind.ts'
import { ApiError, toApiError } from './errors.ts'
import type { ExactRequest, Grants } from './grants.ts'
import { noNul, refuseOutsized, refuseUnstorable } from './json-values.ts'
import { countRequest, refuseIfFull, splitLimits } from './limits.ts'
import { observe } from './observe.ts'
import type { Principal } from './principal.ts'
import { compileInput, type Input, type Parts } from './validate.ts'
import { compileAnswer } from './write-answer.ts'

export const bodyLimitBytes = 1024 * 1024
const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/

/** A route and its handler, with everything that is prepared once: at the first use, for most are never used. */
export class Operation {
  readonly name: string
  readonly route: Route
  readonly handler: BoundRoute['handler']
  #read: ((input: Input) => Parts) | undefined
  #write: ((given: unknown) => Answer) | undefined

  constructor({ name, route, handler }: BoundRoute) {
    this.name = name
    this.route = route
    this.handler = handler
  }

  get read(): (input: Input) => Parts {
    this.#read ??= compileInput(this.route)
    return this.#read
  }

  get write(): (given: unknown) => Answer {
    this.#write ??= compileAnswer(this.route)
    return this.#write
  }

  /** For a process that would rather take the time before its first caller comes. */
  warm(): void {
    void [this.read, this.write]
  }
}

export type Operations = ReadonlyMap<string, Operation>

export function toOperations(routes: readonly BoundRoute[]): Operations {
  return new Map(routes.map((bound) => [bound.name, new Operation(bound)]))
}

/** One call of an operation, admitted and not yet looked at. */
export interface AdmittedCall extends Input {
  readonly deps: Deps
  readonly principal: Principal | undefined
  readonly access: Access | undefined
  readonly client: Client
  readonly upload: readonly UploadedFile[] | undefined
  readonly idempotencyKey: string | undefined
  readonly lastEventId: string | undefined
  readonly origin: Origin | undefined
  readonly signal: AbortSignal
  /** Asks again, after a while, what admitted this; left out by who answers for its caller. */
  readonly confirm?: () => Promise<void>
  /** Told the names of fields that were sent and that nobody knows, whatever the answer is. */
  onIgnored?(names: string): void
}

const answeredFor = async () => {}

/**
 * Validates and runs the handler. What changes something has spent its grants by then, in its own transaction; what only
 * reads spends them now that there is an answer, so that a refusal costs nothing, and of parallel reads one is answered.
 */
export async function execute(operation: Operation, asked: AdmittedCall): Promise<Answer> {
  const { route, handler } = operation
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
    upload,
    repeatable: route.creates ? readRepeatable(route, asked) : undefined,
    deps,
    confirm: asked.confirm ?? answeredFor,
    get authority() {
      return access?.authority ?? noGrants
    },
    get signal() {
      return asked.signal
    },
  }
  const answer = operation.write(await handler(call))
  if (route.method === 'GET' && access?.mustSpend) {
    try {
      await deps.database.transaction((tx) => access.spend(tx))
    } catch (error) {
      if (answer.kind === 'file') answer.file.stream.destroy()
      if (answer.kind === 'events') answer.events.abandon()
      throw error
    }
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

/** What a transport other than HTTP asks for: the facts that an HTTP request would have carried. */
interface OperationCall {
  readonly principal: Principal | undefined
  readonly client: Client
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly upload?: readonly UploadedFile[]
  readonly idempotencyKey?: string
  readonly origin?: Origin
  readonly signal: AbortSignal
  readonly requestId: string
  /** Windows in which the transport has counted this call already. */
  readonly counted?: readonly LimitName[]
}

export type Perform = (name: string, call: OperationCall) => Promise<Answer>

/**
 * The one door to what the service does, for whoever makes calls without HTTP: the same rights, windows, validation,
 * grants, idempotency and answers. A grant that is bound to one exact request fits, because method, path and bytes are
 * those that HTTP would have had.
 */
export function createPerform(options: {
  readonly deps: Deps
  readonly grants: Grants
  readonly operations: Operations
}): Perform {
  const { deps, grants, operations } = options
  return async (name, call) => {
    const operation = operations.get(name)
    if (!operation) throw new Error(`there is no operation ${name}`)
    const began = performance.now()
    let status = 200
    try {
      const answer = await admitAndExecute(deps, grants, operation, call)
      if (answer.kind === 'value') status = answer.status
      return answer
    } catch (error) {
      const refusal = toApiError(error)
      status = refusal.status
      if (status >= 500)
        deps.logger.error({ requestId: call.requestId, err: refusal.cause ?? error }, 'request failed')
      throw refusal
    } finally {
      const { method, path } = operation.route
      const { client, principal, requestId } = call
      const { address, via } = client
      const milliseconds = performance.now() - began
      const credential = principal?.credential
      observe(deps, { name, method, path, status, milliseconds, requestId, credential, address, via })
    }
  }
}

async function admitAndExecute(
  deps: Deps,
  grants: Grants,
  operation: Operation,
  call: OperationCall,
): Promise<Answer> {
  const { route } = operation
  const { principal, client, params = {}, counted = [] } = call
  if (!deps.database.available) throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
  const caller = { caller: principal?.credential, userId: principal?.userId, address: client.address }
  const count = async (windows: readonly LimitName[]) => {
    if (windows.length > 0) refuseIfFull(deps, windows, await countRequest(deps, windows, caller))
  }
  const windows = route.limits.filter((limit) => !counted.includes(limit))
  const { own, persons } = splitLimits(deps, windows)
  await count(own)
  const text = call.body === undefined ? '' : JSON.stringify(call.body)
  const query = textsOf(call.query)
  const request = exactRequest(route, addressOf(route, params, query), text, call.idempotencyKey)
  let access: Access | undefined
  if (route.audience !== 'public') {
    // An operator's token and a signed address come by HTTP alone, and are nobody's who could be given here.
    if (!principal || route.audience === 'operator' || route.audience === 'signed')
      throw new ApiError('UNAUTHORIZED')
    access = await admit(grants, route, { principal, via: client.via, params, request })
  }
  await count(persons)
  refuseUnreadable(route, params, query, text, call.body)
  return execute(operation, {
    deps,
    principal,
    access,
    client,
    params,
    query,
    body: call.body,
    upload: call.upload,
    idempotencyKey: call.idempotencyKey,
    lastEventId: undefined,
    origin: call.origin,
    get signal() {
      return call.signal
    },
  })
}

function textsOf(given: OperationCall['query'] = {}): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) if (value !== undefined) texts[name] = String(value)
  return texts
}

function addressOf(
  { path }: Route,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string>>,
): string {
  const filled = path.replace(/:(\w+)/g, (_text, name) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams(query).toString()
  return search === '' ? filled : `${filled}?${search}`
}

function exactRequest(route: Route, path: string, text: string, key: string | undefined): ExactRequest {
  return {
    method: route.method,
    path,
    bodySha256: () => createHash('sha256').update(text).digest('hex'),
    repeatKey: route.creates ? key : undefined,
  }
}

/** What HTTP refuses while it reads: texts that cannot be stored, and more than is read. */
function refuseUnreadable(
  route: Route,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string>>,
  text: string,
  body: unknown,
): void {
  const address = [...Object.values(params), ...Object.values(query)]
  if (address.some((part) => part.includes('\u0000'))) throw new ApiError('INVALID_INPUT', { message: noNul })
  if (Buffer.byteLength(text) > (route.bodyLimitBytes ?? bodyLimitBytes)) throw bodyTooLarge()
  refuseOutsized(text)
  refuseUnstorable(text, body)
}

export function bodyTooLarge(): ApiError {
  return new ApiError('INVALID_INPUT', { message: 'The body is too large' })
}
