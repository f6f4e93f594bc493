import type { Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Route, weightOf } from '@guildhall/contract'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Access } from '#operations/access.ts'
import type { Hold } from '#operations/answer-text.ts'
import type { UploadedFile } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Grants } from '#operations/grants.ts'
import { type AdmittedCall, execute, type Operation, type Operations } from '#operations/operation.ts'
import type { Principal } from '#operations/principal.ts'
import type { Bearer } from '#operations/signed-url.ts'
import type { Deps } from '#platform/deps.ts'
import type { RequestSpan } from '#platform/telemetry.ts'
import type { Authenticators } from './authenticate.ts'
import { clientOf, headerText } from './client-of.ts'
import { readCookies } from './cookies.ts'
import { bodyOnItsWayMs, confirm, type EdgeContext, enter, entrance } from './edge.ts'
import { writeError } from './error-handler.ts'
import { hashBody } from './hash-body.ts'
import type { Holding } from './held-bytes.ts'
import { inTurns } from './in-turn.ts'
import { observeRequest } from './observe.ts'
import { endFloods } from './one-after-the-other.ts'
import { type Pages, registerPages } from './pages.ts'
import type { RawRoute } from './raw-route.ts'
import { registerRawRoutes } from './raw-routes.ts'
import { hasNoBody, type Reading, readJsonOnly } from './read-bodies.ts'
import { answerBrokenRequest } from './refuse-by-hand.ts'
import { sendAnswer } from './send-answer.ts'
import { signalOf } from './signal-of.ts'
import { endSlowClients, headersWithin } from './slow-clients.ts'
import { type SocketDoor, serveSockets } from './socket.ts'
import { isSocketUpgrade } from './socket-address.ts'
import { traceRequests } from './trace-requests.ts'
import { WatchedResponse } from './watched-response.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | undefined
    bearer: Bearer | undefined
    access: Access | undefined
    /** When it was asked last who this is. */
    admittedAt: number
    /** Of the bytes that came, whatever they are said to be; undefined where no grant can ask for it. */
    bodyHash: Hash | undefined
    /** Why nothing may be done for it but to answer a repeat. */
    repeatsOnly: ApiError | undefined
    /** Of a body that is no form. */
    reading: Reading | undefined
    upload: readonly UploadedFile[] | undefined
    /** Of its body and answer; undefined where neither is large. */
    held: Holding | undefined
    span: RequestSpan | undefined
  }
  interface FastifyReply {
    hold: Hold
  }
  interface FastifyContextConfig {
    operation?: Operation
    raw?: RawRoute
  }
}

export type Server = FastifyInstance

const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/
/** Unlike any other process's; a count tells the requests of this one apart. */
const requestIdStart = `${process.pid.toString(36)}${Date.now().toString(36)}-`
let requestCount = 0

export function createServer(options: {
  deps: Deps
  authenticators: Authenticators
  grants: Grants
  operations: Operations
  rawRoutes?: readonly RawRoute[]
  /** At all addresses that are nothing else's. */
  pages?: Pages | undefined
  socketDoor: SocketDoor
  /** Ends what stays open after it was answered, when the server stops. */
  closing?: readonly (() => Promise<void>)[]
}): FastifyInstance {
  const { deps } = options
  const app = fastify({
    loggerInstance: deps.logger as never,
    // One line of our own per request instead of the framework's two.
    logController: new LogController({ disableRequestLogging: true }),
    // A logger per request is made for nothing nearly always; who logs names the request.
    childLoggerFactory: (logger) => logger,
    trustProxy: deps.config.trustedProxies.length > 0 ? [...deps.config.trustedProxies] : false,
    // Of whoever comes to an address that is none.
    bodyLimit: weightOf({ audience: 'public' }).bytes,
    http: {
      shouldUpgradeCallback: (request) => isSocketUpgrade(request, options.socketDoor.path),
      ...headersWithin(deps.config.clients),
      ServerResponse: WatchedResponse,
    },
    // An id of any length is for the route to call missing.
    routerOptions: { maxParamLength: 16_384, constraints: { accept: byMediaType } },
    clientErrorHandler: (error, socket) => answerBrokenRequest(deps, error, socket),
    forceCloseConnections: 'idle',
    // A request that was sent before its client knew of the stop is still served.
    return503OnClosing: false,
    genReqId: (request) => {
      const given = request.headers['x-request-id']
      if (typeof given === 'string' && requestIdPattern.test(given)) return given
      return requestIdStart + (++requestCount).toString(36)
    },
    // An address that cannot be parsed never reaches the hooks, yet is counted and answered like any other.
    frameworkErrors: (error, request, reply) => {
      enter(edge, undefined, request, reply)
        .then(() => writeError(error, request, reply))
        .catch((refusal) => writeError(refusal, request, reply))
    },
  }) as unknown as FastifyInstance

  const edge: EdgeContext = {
    deps,
    authenticators: options.authenticators,
    grants: options.grants,
    inTurn: inTurns(app, deps),
    appOrigin: deps.config.appOrigin,
  }
  app.decorateRequest('principal', undefined)
  app.decorateRequest('bearer', undefined)
  app.decorateRequest('access', undefined)
  app.decorateRequest('admittedAt', 0)
  app.decorateRequest('bodyHash', undefined)
  app.decorateRequest('repeatsOnly', undefined)
  app.decorateRequest('upload', undefined)
  app.setErrorHandler((error, request, reply) => writeError(error as Error, request, reply))
  endFloods(app.server)
  endSlowClients(app, deps.config.clients)
  readJsonOnly(app)
  app.addHook('onRequest', (request, _reply, done) => {
    if (hasNoBody(request)) delete request.headers['content-type']
    done()
  })
  const refuseUnknown = async (request: FastifyRequest, reply: FastifyReply) => {
    if (await enter(edge, undefined, request, reply)) return reply
    throw new ApiError('NOT_FOUND')
  }
  app.setNotFoundHandler(refuseUnknown)
  // Before a body is read that nobody asked for.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) refuseUnknown(request, reply).catch(done)
    else done()
  })
  traceRequests(app, deps)
  for (const operation of options.operations.values()) {
    operation.warm()
    register(app, edge, operation)
  }
  registerRawRoutes(app, edge, options.rawRoutes ?? [])
  if (options.pages) registerPages(app, deps, options.pages)
  const sockets = serveSockets(app.server, deps, options.socketDoor)
  // First of all: a server waits for its open sockets before it is closed.
  app.addHook('preClose', () => sockets.close())
  for (const close of options.closing ?? []) app.addHook('preClose', () => close())
  return app
}

/** Lets one path answer events to who asks for them, and a value to everybody else. */
const byMediaType = {
  name: 'accept',
  storage: () => {
    const byType = new Map<unknown, never>()
    return {
      get: (type: unknown) => byType.get(type) ?? null,
      set: (type: unknown, handler: unknown) => void byType.set(type, handler as never),
    }
  },
  // The router's types know no request without the constraint, the router does.
  deriveConstraint: ({ headers }: IncomingMessage) =>
    (headers.accept?.includes('text/event-stream') ? 'text/event-stream' : undefined) as string,
}

function register(app: FastifyInstance, edge: EdgeContext, operation: Operation): void {
  const { deps } = edge
  const { name, route } = operation
  /** Answers that stayed open. Counted as they began: how long somebody listened is no time to answer. */
  const opened = new WeakSet<FastifyRequest>()
  const observed = { name, path: route.path }
  app.route({
    method: route.method,
    url: route.path,
    config: { operation },
    ...(route.accept ? { constraints: { accept: route.accept } } : {}),
    bodyLimit: weightOf(route).bytes,
    ...(route.answers === 'events' ? { exposeHeadRoute: false } : {}),
    onRequest: entrance(edge, route),
    preParsing: hashBody,
    onResponse: (request, reply, done) => {
      if (!opened.has(request)) observeRequest(deps, observed, request, reply)
      done()
    },
    handler: async (request, reply) => {
      const confirmed = confirm(edge, route, request, bodyOnItsWayMs)
      if (confirmed) await confirmed
      const answer = await execute(operation, toCall(edge, route, request, reply))
      // Told to stop meanwhile: whoever called comes back to another process.
      if (deps.stopping.aborted) reply.header('connection', 'close')
      const sent = sendAnswer(request, reply, answer, () => confirm(edge, route, request))
      if (answer.kind === 'events') {
        opened.add(request)
        observeRequest(deps, observed, request, reply)
      }
      return sent
    },
  })
}

function toCall(edge: EdgeContext, route: Route, request: FastifyRequest, reply: FastifyReply): AdmittedCall {
  const { headers } = request
  return {
    deps: edge.deps,
    params: request.params,
    query: request.query,
    body: request.body,
    principal: (request.principal ?? request.bearer) as Principal | undefined,
    access: request.access,
    repeatsOnly: request.repeatsOnly,
    client: clientOf(request),
    upload: request.upload,
    idempotencyKey: headerText(headers['idempotency-key']),
    lastEventId: headerText(headers['last-event-id']),
    ...(route.setsCookies ? { cookies: readCookies(headers) } : {}),
    origin: undefined,
    get signal() {
      return signalOf(reply)
    },
    confirm: (believedForMs) => confirm(edge, route, request, believedForMs),
    onIgnored: (names) => void reply.header('x-ignored-fields', names),
  }
}
