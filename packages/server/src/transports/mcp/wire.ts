import type { IncomingHttpHeaders } from 'node:http'
import { mcpDoor, weightOf } from '@guildhall/contract'
import { ApiError, toApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Config } from '#platform/config.ts'
import type { Logger } from '#platform/logger.ts'
import type { Metrics } from '#platform/metrics.ts'
import type { RawAnswer, RawCall, RawRoute } from '#transports/http/raw-route.ts'
import { type CallerParts, OperationCaller } from './caller.ts'
import { type CalledMethod, type Catalogue, InputRequired, type Method } from './catalogue.ts'
import { challengeAt } from './challenge.ts'
import {
  answerEmpty,
  answerJson,
  answerText,
  cancelChannel,
  Exchange,
  type ExchangeParts,
  replyChannel,
} from './exchange.ts'
import {
  isRequestId,
  legacyVersions,
  type Message,
  RpcError,
  type RpcRequest,
  readMessage,
  supportedVersions,
} from './message.ts'
import { placeRefusal } from './origin.ts'
import { constantMessage, errorMessage, resultMessage, resultOf } from './results.ts'
import { readEvent, readSession, sealSession } from './sealed.ts'
import { isRecord, type RecordOf } from './shapes.ts'

export interface WireParts extends CallerParts, Omit<ExchangeParts, 'signingKeys'> {
  readonly config: Config
  readonly logger: Logger
  readonly metrics: Metrics
}

/** With what an exchange needs beside. */
type Parts = WireParts & Pick<ExchangeParts, 'signingKeys'>

/** Both spellings: a redirected POST loses its body in many clients. */
const paths = ['/mcp/', '/mcp']
/** Rounds of questions within one request of a legacy client. */
const mostRounds = 10

/** The transport: reads messages, calls the method they name, and writes what comes of it. Keeps nothing. */
export function createWire(given: WireParts, catalogue: Catalogue): RawRoute[] {
  const parts: Parts = { ...given, signingKeys: given.config.signingKeys }
  return paths.flatMap((path): RawRoute[] => {
    const shared = {
      path,
      entry: mcpDoor,
      logsByOperations: true,
      describeRefusal,
      challenge: challengeAt(parts.config, path),
    }
    return [
      { ...shared, name: 'mcp', method: 'POST', handle: (call) => receive(parts, catalogue, call) },
      { ...shared, name: 'mcpResume', method: 'GET', handle: (call) => resume(parts, catalogue, call) },
      { ...shared, name: 'mcpEnd', method: 'DELETE', handle: async (call) => refuseMethod(call) },
    ]
  })
}

async function receive(parts: Parts, catalogue: Catalogue, call: RawCall): Promise<void> {
  const { request, response } = call
  const refused = placeRefusal(parts.config, request.headers)
  if (refused) return answerJson(response, 403, errorMessage(refused))
  const principal = requirePrincipal(call)
  try {
    if (!isJson(request.headers))
      throw new RpcError('invalidRequest', 'Send application/json', { status: 415 })
    const message = readMessage(call.body, request.headers)
    if (message.kind === 'request') return await answer(parts, catalogue, call, principal, message)
    hear(parts, principal, call, message)
    answerEmpty(response)
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (!response.headersSent) answerJson(response, error.status, errorMessage(error))
  }
}

function requirePrincipal({ principal }: RawCall): Principal {
  if (!principal) throw new ApiError('UNAUTHORIZED')
  return principal
}

/** What is told and asks for no answer: replies to questions, and that somebody waits no more. */
function hear(
  { bus, config }: WireParts,
  { credential }: Principal,
  { request }: RawCall,
  message: Exclude<Message, RpcRequest>,
): void {
  if (message.kind === 'reply') {
    const said = message.failed || !isRecord(message.result) ? { action: 'cancel' } : message.result
    if (typeof message.id === 'string') bus.tell(replyChannel(credential, message.id), JSON.stringify(said))
    return
  }
  const { requestId } = message.params
  const session = readSession(config.signingKeys, credential, sessionHeader(request.headers))
  if (message.method === 'notifications/cancelled' && session && isRequestId(requestId))
    bus.tell(cancelChannel(credential, session.word, requestId), '')
}

async function answer(
  parts: Parts,
  catalogue: Catalogue,
  call: RawCall,
  principal: Principal,
  message: RpcRequest,
): Promise<void> {
  if (message.era === 'legacy') {
    if (message.method === 'initialize') return initialize(parts, catalogue, call, principal, message)
    if (message.method === 'ping') return answerJson(call.response, 200, resultMessage(message, {}))
  }
  const method = findMethod(catalogue, message)
  if ('constant' in method) {
    parts.metrics.mcpRequests.inc({ method: message.method, era: message.era, outcome: 'ok' })
    return answerText(call.response, 200, constantMessage(catalogue, method, message))
  }
  const exchange = openExchange(parts, call, principal, message)
  let outcome = 'error'
  try {
    await conclude(parts, exchange, async () => {
      const result = await runMethod(exchange, method)
      exchange.finish(resultMessage(message, resultOf(catalogue, method, exchange, result)))
      outcome = result instanceof InputRequired ? 'asked' : 'ok'
    })
  } finally {
    if (exchange.signal.aborted) outcome = 'left'
    // A method that there is: what clients make up is no label.
    parts.metrics.mcpRequests.inc({ method: message.method, era: message.era, outcome })
  }
}

function openExchange(parts: Parts, call: RawCall, principal: Principal, request: RpcRequest): Exchange {
  const { signingKeys } = parts
  const { headers } = call.request
  const session = readSession(signingKeys, principal.credential, sessionHeader(headers))
  const gone = new AbortController()
  const { admittedAt, client, requestId, response } = call
  const named = request.clientName ?? session?.name
  const caller = new OperationCaller(parts, {
    principal,
    admittedAt,
    client: named === undefined ? client : { ...client, name: named },
    requestId,
    signal: gone.signal,
  })
  return new Exchange(parts, {
    request,
    response,
    caller,
    session,
    gone,
    takesEvents: /text\/event-stream/.test(headers.accept ?? ''),
  })
}

/** Sees to it that whatever comes of a method is told once, and in the words of the protocol. */
async function conclude(parts: WireParts, exchange: Exchange, run: () => Promise<void>): Promise<void> {
  const { id } = exchange.request
  try {
    await run()
  } catch (error) {
    if (exchange.signal.aborted) {
      if (exchange.refusal && !exchange.isStreaming) throw exchange.refusal
      return exchange.leave()
    }
    if (error instanceof RpcError) {
      exchange.finish(errorMessage(error, id), { status: error.status })
      return
    }
    const refusal = toApiError(error)
    // Before anything was said the refusal can be what the interface wants: 401, 403 with its challenge, 503.
    if (!exchange.isStreaming && transportCodes.includes(refusal.code)) throw refusal
    if (refusal.status >= 500)
      parts.logger.error(
        { requestId: exchange.caller.requestId, err: refusal.cause ?? error },
        'request failed',
      )
    exchange.finish(errorMessage(new RpcError('internal', refusal.message), id))
  }
}

const transportCodes: readonly string[] = ['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE']

function findMethod({ methods }: Catalogue, { method: name, era, id }: RpcRequest): Method {
  const method = methods.get(name)
  if (method && (method.era ?? era) === era) return method
  throw new RpcError('methodNotFound', 'Method not found', { status: era === 'modern' ? 404 : 200, id })
}

/** A modern client that is asked comes again by itself; a legacy one is asked here, until there is a result. */
async function runMethod(exchange: Exchange, method: CalledMethod): Promise<RecordOf | InputRequired> {
  let result = await method.handle(exchange)
  if (exchange.request.era === 'modern') return result
  for (let round = 0; result instanceof InputRequired; round++) {
    if (round === mostRounds) throw new RpcError('internal', 'Too many questions in one call')
    exchange.answers = await askAll(exchange, result)
    exchange.state = result.state
    result = await method.handle(exchange)
  }
  return result
}

async function askAll(exchange: Exchange, { requests = {}, orWhen }: InputRequired): Promise<RecordOf> {
  const asked = Object.entries(requests).map(async ([name, { method, params }]) => {
    const reply = await exchange.ask(method, (params ?? {}) as RecordOf, orWhen)
    return [name, reply] as const
  })
  return Object.fromEntries((await Promise.all(asked)).filter(([, reply]) => reply !== undefined))
}

function initialize(
  { config }: WireParts,
  catalogue: Catalogue,
  { response }: RawCall,
  { credential }: Principal,
  request: RpcRequest,
): void {
  const { protocolVersion, capabilities, clientInfo } = request.params
  const version = legacyVersions.find((known) => known === protocolVersion) ?? legacyVersions[0] ?? ''
  const name = isRecord(clientInfo) && typeof clientInfo['name'] === 'string' ? clientInfo['name'] : undefined
  const session = sealSession(config.signingKeys, credential, {
    version,
    capabilities: isRecord(capabilities) ? capabilities : {},
    name,
  })
  const { serverInfo, instructions } = catalogue
  const result = {
    protocolVersion: version,
    capabilities: catalogue.capabilities('legacy'),
    serverInfo,
    instructions,
  }
  answerJson(response, 200, resultMessage(request, result), { 'mcp-session-id': session })
}

/** A legacy client that lost its stream goes on where it was, in whichever process it reaches. */
async function resume(parts: Parts, catalogue: Catalogue, call: RawCall): Promise<void> {
  const { request, response } = call
  const refused = placeRefusal(parts.config, request.headers)
  if (refused) return answerJson(response, 403, errorMessage(refused))
  const principal = requirePrincipal(call)
  const last = request.headers['last-event-id']
  const note =
    typeof last === 'string' ? readEvent(parts.config.signingKeys, principal.credential, last) : undefined
  const goOn = catalogue.resume
  if (!note || !goOn) return refuseMethod(call)
  const message: RpcRequest = {
    kind: 'request',
    era: 'legacy',
    id: note.id,
    method: 'resume',
    params: {},
    meta: { progressToken: note.token },
    version: legacyVersions[0] ?? '',
    capabilities: {},
    clientName: undefined,
  }
  const exchange = openExchange(parts, call, principal, message)
  await conclude(parts, exchange, async () => {
    // Whatever comes of it: who asked for a stream reads nothing else, and one that breaks again must have its place.
    exchange.resumeAt(() => note)
    await exchange.openStream()
    exchange.finish(resultMessage(message, await goOn(exchange, note)))
  })
}

function refuseMethod({ response }: RawCall): void {
  const refusal = new RpcError('invalidRequest', 'Method not allowed; send messages by POST')
  answerJson(response, 405, errorMessage(refusal), { allow: 'POST' })
}

/** Refusals of the edge look as everywhere, because the interface fixes them; those of parsing are the protocol's. */
function describeRefusal(refusal: ApiError, headers: IncomingHttpHeaders): RawAnswer | undefined {
  if (refusal.status >= 500 || transportCodes.includes(refusal.code)) return undefined
  const isLarge = Object.values(weightOf(mcpDoor)).includes(refusal.details?.['limit'] as number)
  const isLate = refusal.status === 408
  const status = isLate ? 408 : isLarge ? 413 : isJson(headers) ? 400 : 415
  const error = new RpcError(status === 400 ? 'parse' : 'invalidRequest', refusal.message)
  return { type: 'application/json', body: JSON.stringify(errorMessage(error)), status }
}

function isJson(headers: IncomingHttpHeaders): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')
}

function sessionHeader(headers: IncomingHttpHeaders): string | undefined {
  const header = headers['mcp-session-id']
  return typeof header === 'string' ? header : undefined
}

/** What a modern client asks first. */
export function discover(catalogue: Pick<Catalogue, 'capabilities' | 'instructions'>): Method {
  return {
    era: 'modern',
    caching: { ttlMs: 3_600_000, cacheScope: 'public' },
    constant: {
      supportedVersions,
      capabilities: catalogue.capabilities('modern'),
      instructions: catalogue.instructions,
    },
  }
}
