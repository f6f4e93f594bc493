import { createHash } from 'node:crypto'
import { type LimitName, type Route, weightOf } from '@guildhall/contract'
import type { Deps } from '#platform/deps.ts'
import type { Access } from './access.ts'
import { admit } from './admit.ts'
import type { Answer } from './answer.ts'
import { admittedForMs } from './believed.ts'
import type { Client, Origin, UploadedFile } from './bind.ts'
import { ApiError, toApiError } from './errors.ts'
import type { ExactRequest, Grants } from './grants.ts'
import { refuseUnlessUsed } from './idempotency/idempotency.ts'
import { JsonMeter, noNul, refuseUnwanted } from './json-values.ts'
import { countRequest, refuseIfFull, splitLimits } from './limits.ts'
import { observe } from './observe.ts'
import { bodyTooLarge, execute, type Operation, type Operations } from './operation.ts'
import type { Principal } from './principal.ts'

/** What a transport other than HTTP asks for: the facts that an HTTP request would have carried. */
interface OperationCall {
  readonly principal: Principal | undefined
  /** Who that is at this moment, for a call that takes long; left out by who answers for its caller. */
  readonly renew?: () => Promise<Principal>
  /** When that was found out, by `performance.now()`; the call's own moment when left out. */
  readonly foundAt?: number
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
  const began = performance.now()
  if (!deps.database.available) throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
  const caller = { caller: principal?.credential, userId: principal?.userId, address: client.address }
  const count = async (windows: readonly LimitName[]) => {
    if (windows.length > 0) refuseIfFull(deps, windows, await countRequest(deps, windows, caller))
  }
  const windows = route.limits.filter((limit) => !counted.includes(limit))
  const { own, persons } = splitLimits(deps, windows)
  await count(own)
  const text = textOf(call)
  const query = textsOf(call.query)
  const request = exactRequest(route, call)
  let access: Access | undefined
  let repeatsOnly: ApiError | undefined
  if (route.audience !== 'public') {
    // An operator's token and a signed address come by HTTP alone, and are nobody's who could be given here.
    if (!principal || route.audience === 'operator' || route.audience === 'signed')
      throw new ApiError('UNAUTHORIZED')
    access = await admit(grants, route, { principal, via: client.via, params, request }).catch(
      async (error: unknown) => {
        const asked = { route, principal, key: call.idempotencyKey }
        repeatsOnly = await refuseUnlessUsed({ grants, deps }, asked, error)
        return undefined
      },
    )
  }
  let admittedAt = call.foundAt ?? began
  const confirm = async (renew: () => Promise<Principal>) => {
    admittedAt = performance.now()
    const principal = await renew()
    // Nothing will be done for who may only be told again what it was told.
    if (!repeatsOnly) await admit(grants, route, { principal, via: client.via, params, request, access })
  }
  await count(persons)
  refuseUnreadable(route, params, query, text, call.body)
  return execute(operation, {
    deps,
    principal,
    access,
    repeatsOnly,
    client,
    params,
    query,
    body: call.body,
    upload: call.upload,
    idempotencyKey: call.idempotencyKey,
    lastEventId: undefined,
    origin: call.origin,
    confirm: (believedForMs = admittedForMs) => {
      const { renew } = call
      const isDue = access && renew && performance.now() - admittedAt > believedForMs
      return isDue ? confirm(renew) : undefined
    },
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

function textOf({ body }: Pick<OperationCall, 'body'>): string {
  return body === undefined ? '' : JSON.stringify(body)
}

/** What HTTP would have had of this call: for grants that are bound to it, and for who asks for such a grant. */
export function exactRequest(
  route: Route,
  call: Pick<OperationCall, 'params' | 'query' | 'body' | 'idempotencyKey'>,
): ExactRequest {
  return {
    method: route.method,
    // Only who is asked about an exact request needs it.
    get path() {
      return addressOf(route, call.params ?? {}, textsOf(call.query))
    },
    bodySha256: () => createHash('sha256').update(textOf(call)).digest('hex'),
    repeatKey: route.creates ? call.idempotencyKey : undefined,
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
  const { bytes, values } = weightOf(route)
  if (Buffer.byteLength(text) > bytes) throw bodyTooLarge(bytes)
  const meter = new JsonMeter(values)
  meter.take(Buffer.from(text))
  refuseUnwanted(text, meter, body)
}
