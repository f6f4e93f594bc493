import { createHash, type Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { bundleLimits, fullAccess, type Route } from '@guildhall/contract'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RequestPayload,
} from 'fastify'
import type { Deps } from '../deps.ts'
import type { Access } from '../operations/access.ts'
import type { UploadedFile } from '../operations/bind.ts'
import { ApiError, errorBody } from '../operations/errors.ts'
import type { Grants } from '../operations/grants.ts'
import { refuseOutsized, refuseUnstorable } from '../operations/json-values.ts'
import {
  type AdmittedCall,
  bodyLimitBytes,
  execute,
  type Operation,
  type Operations,
} from '../operations/perform.ts'
import type { Principal } from '../operations/principal.ts'
import type { Bearer } from '../operations/signed-url.ts'
import type { RequestSpan } from '../platform/telemetry.ts'
import type { Authenticators } from './authenticate.ts'
import { confirm, type EdgeContext, enter } from './edge.ts'
import { sendJson, writeError } from './error-handler.ts'
import { readMultipart } from './multipart.ts'
import { observeRequest } from './observe.ts'
import type { RawRoute } from './raw-route.ts'
import { registerRawRoutes } from './raw-routes.ts'
import { sendAnswer } from './send-answer.ts'
import { isSocketUpgrade, type SocketDoor, serveSockets } from './socket.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | undefined
    bearer: Bearer | undefined
    access: Access | undefined
    /** When it was asked last who this is. */
    admittedAt: number
    /** Of the bytes that came, whatever they are said to be; undefined where no grant can ask for it. */
    bodyHash: Hash | undefined
    upload: readonly UploadedFile[] | undefined
    span: RequestSpan | undefined
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
  socketDoor: SocketDoor
  /** Ends what stays open after it was answered, when the server stops. */
  closing?: readonly (() => Promise<void>)[]
}): FastifyInstance {
  const { deps } = options
  const edge: EdgeContext = { deps, authenticators: options.authenticators, grants: options.grants }
  const app = fastify({
    loggerInstance: deps.logger as never,
    // One line of our own per request instead of the framework's two.
    logController: new LogController({ disableRequestLogging: true }),
    // A logger per request is made for nothing nearly always; who logs names the request.
    childLoggerFactory: (logger) => logger,
    trustProxy: deps.config.trustedProxies.length > 0 ? [...deps.config.trustedProxies] : false,
    bodyLimit: bodyLimitBytes,
    http: { shouldUpgradeCallback: (request) => isSocketUpgrade(request, options.socketDoor.path) },
    // An id of any length is for the route to call missing.
    routerOptions: { maxParamLength: 16_384, constraints: { accept: byMediaType } },
    clientErrorHandler: answerBrokenRequest,
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

  app.decorateRequest('principal', undefined)
  app.decorateRequest('bearer', undefined)
  app.decorateRequest('access', undefined)
  app.decorateRequest('admittedAt', 0)
  app.decorateRequest('bodyHash', undefined)
  app.decorateRequest('upload', undefined)
  app.setErrorHandler((error, request, reply) => writeError(error as Error, request, reply))
  app.setNotFoundHandler(async (request, reply) => {
    if (await enter(edge, undefined, request, reply)) return reply
    throw new ApiError('NOT_FOUND')
  })
  readJsonOnly(app)
  app.addHook('onRequest', (request, _reply, done) => {
    if (hasNoBody(request)) delete request.headers['content-type']
    done()
  })
  traceRequests(app, deps)
  for (const operation of options.operations.values()) {
    operation.warm()
    register(app, edge, operation)
  }
  registerRawRoutes(app, edge, options.rawRoutes ?? [])
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

/** What is no HTTP request, or has more headers than are read, never gets as far as the framework. */
function answerBrokenRequest(_error: Error, socket: Socket): void {
  if (!socket.writable) return
  const refusal = new ApiError('INVALID_INPUT', {
    message: 'The request is malformed or its headers are too large',
  })
  const body = JSON.stringify(errorBody(refusal))
  socket.end(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\nconnection: close\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

function register(app: FastifyInstance, edge: EdgeContext, operation: Operation): void {
  const { deps } = edge
  const { name, route } = operation
  const staysOpen = route.answers === 'events'
  const observed = { name, path: route.path }
  app.route({
    method: route.method,
    url: route.path,
    config: { operation },
    ...(route.accept ? { constraints: { accept: route.accept } } : {}),
    ...(route.bodyLimitBytes ? { bodyLimit: route.bodyLimitBytes } : {}),
    ...(staysOpen ? { exposeHeadRoute: false } : {}),
    onRequest: (request, reply) => enter(edge, route, request, reply),
    preParsing: hashBody,
    onResponse: (request, reply, done) => {
      // One that stayed open was counted as it began: how long somebody listened is no time to answer.
      if (!staysOpen || reply.statusCode >= 400) observeRequest(deps, observed, request, reply)
      done()
    },
    handler: async (request, reply) => {
      await confirm(edge, route, request)
      const answer = await execute(operation, toCall(edge, route, request, reply))
      const sent = sendAnswer(request, reply, answer)
      if (staysOpen) observeRequest(deps, observed, request, reply)
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
    client: {
      address: request.ip,
      userAgent: headers['user-agent'] ?? '',
      label: headerText(headers['x-client-label']),
      via: 'http',
    },
    upload: request.upload,
    idempotencyKey: headerText(headers['idempotency-key']),
    lastEventId: headerText(headers['last-event-id']),
    origin: undefined,
    get signal() {
      return signalOf(reply)
    },
    confirm: () => confirm(edge, route, request),
    onIgnored: (names) => void reply.header('x-ignored-fields', names),
  }
}

/**
 * A grant may be bound to the exact bytes of a body, a form's as much as JSON's, so they are hashed as they arrive. Only
 * keys have grants, and one with full access needs none. Whoever reads the body begins in this same turn, so this
 * listener takes nothing from it.
 */
function hashBody(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: RequestPayload,
  done: (error: null, payload: RequestPayload) => void,
): void {
  const { principal } = request
  if (principal?.kind === 'key' && !principal.scopes.includes(fullAccess)) {
    const hash = createHash('sha256')
    payload.on('data', (chunk) => hash.update(chunk))
    request.bodyHash = hash
  }
  done(null, payload)
}

/** The answer's end, not the request's: that one is over as soon as its body has been read. */
function signalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort())
  return controller.signal
}

function headerText(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined
}

/** No form and no plain text: what a foreign page can post without asking is not read. */
function readJsonOnly(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'multipart/form-data',
    async (request: FastifyRequest, payload: IncomingMessage) => {
      const route = request.routeOptions.config.operation?.route
      if (!route?.uploads) return refuseUnlessEmpty(request, payload)
      const { fields, files } = await readMultipart(payload, request.headers, bundleLimits)
      request.upload = files
      return fields
    },
  )
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    try {
      refuseOutsized(body as string)
    } catch (refusal) {
      return done(refusal as Error, undefined)
    }
    parseJson(request, body as string, (error, parsed) => {
      if (error) return done(error, undefined)
      try {
        refuseUnstorable(body as string, parsed)
        done(null, parsed)
      } catch (refusal) {
        done(refusal as Error, undefined)
      }
    })
  })
  app.addContentTypeParser('*', refuseUnlessEmpty)
}

/** Nothing is nothing, whatever type it is said to be of. What is there is refused at its first byte. */
async function refuseUnlessEmpty(_request: FastifyRequest, payload: IncomingMessage): Promise<undefined> {
  for await (const chunk of payload) {
    if (chunk.length > 0) throw new ApiError('INVALID_INPUT', { message: sendJson })
  }
}

const hasNoBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'

/** Nothing of this stands in a request's way while tracing is off. */
function traceRequests(app: FastifyInstance, { telemetry }: Deps): void {
  const { startRequest } = telemetry
  if (!startRequest) return
  app.decorateRequest('span', undefined)
  app.addHook('onRequest', (request, _reply, done) => {
    const { operation, raw } = request.routeOptions.config
    request.span = startRequest((operation ?? raw)?.name ?? 'unknown', request.headers)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { operation, raw } = request.routeOptions.config
    const attributes = {
      'http.request.method': request.method,
      'http.route': (operation?.route ?? raw)?.path ?? '',
      'guildhall.request_id': request.id,
      'guildhall.credential': request.principal?.credential ?? '',
    }
    request.span?.end({ status: reply.statusCode, attributes })
    done()
  })
}
