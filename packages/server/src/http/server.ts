import { createHash, type Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { bundleLimits, fullAccess } from '@guildhall/contract'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RequestPayload,
} from 'fastify'
import type { Deps } from '../deps.ts'
import type { Access } from '../operations/access.ts'
import {
  type BoundRoute,
  type Call,
  type FileAnswer,
  hashRequest,
  type JsonAnswer,
  type UploadedFile,
} from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import type { Grants } from '../operations/grants.ts'
import { perform } from '../operations/perform.ts'
import type { Principal } from '../operations/principal.ts'
import { compileParts, type RequestParts } from '../operations/validate.ts'
import { validatorFor } from '../operations/validators.ts'
import type { RequestSpan } from '../platform/telemetry.ts'
import { type Authenticators, bearerToken } from './authenticate.ts'
import { admit, type EdgeContext } from './edge.ts'
import { errorBody, sendJson, writeError } from './error-handler.ts'
import { sendJsonAnswer } from './json-answer.ts'
import { refuseOutsized, refuseUnstorable } from './json-body.ts'
import { readMultipart } from './multipart.ts'
import { observe } from './observe.ts'
import type { RawRoute } from './raw-route.ts'
import { registerRawRoutes } from './raw-routes.ts'
import type { Bearer } from './signed-url.ts'
import { isSocketUpgrade, type SocketDoor, serveSockets } from './socket.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | undefined
    bearer: Bearer | undefined
    access: Access | undefined
    /** Of the bytes that came, whatever they are said to be; undefined where no grant can ask for it. */
    bodyHash: Hash | undefined
    upload: readonly UploadedFile[] | undefined
    span: RequestSpan | undefined
  }
  interface FastifyContextConfig {
    bound?: BoundRoute
    raw?: RawRoute
  }
}

export type Server = FastifyInstance

const bodyLimitBytes = 1024 * 1024
const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/
/** Unlike any other process's; a count tells the requests of this one apart. */
const requestIdStart = `${process.pid.toString(36)}${Date.now().toString(36)}-`
let requestCount = 0

export function createServer(options: {
  deps: Deps
  authenticators: Authenticators
  grants: Grants
  routes: readonly BoundRoute[]
  rawRoutes?: readonly RawRoute[]
  socketDoor: SocketDoor
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
      admit(edge, undefined, request, reply)
        .then(() => writeError(error, request, reply))
        .catch((refusal) => writeError(refusal, request, reply))
    },
  }) as unknown as FastifyInstance

  app.decorateRequest('principal', undefined)
  app.decorateRequest('bearer', undefined)
  app.decorateRequest('access', undefined)
  app.decorateRequest('bodyHash', undefined)
  app.decorateRequest('upload', undefined)
  app.setValidatorCompiler(({ schema, httpPart }) => validatorFor(httpPart).compile(schema as object))
  app.setErrorHandler((error, request, reply) => writeError(error as Error, request, reply))
  app.setNotFoundHandler(async (request, reply) => {
    if (await admit(edge, undefined, request, reply)) return reply
    throw new ApiError('NOT_FOUND')
  })
  readJsonOnly(app)
  app.addHook('onRequest', (request, _reply, done) => {
    if (hasNoBody(request)) delete request.headers['content-type']
    done()
  })
  traceRequests(app, deps)
  for (const bound of options.routes) register(app, edge, bound)
  registerRawRoutes(app, edge, options.rawRoutes ?? [])
  const sockets = serveSockets(app.server, deps, options.socketDoor)
  // First of all: a server waits for its open sockets before it is closed.
  app.addHook('preClose', () => sockets.close())
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

function register(app: FastifyInstance, edge: EdgeContext, bound: BoundRoute): void {
  const { deps } = edge
  const { route } = bound
  const statuses = Object.keys(route.responses).map(Number)
  const onlyStatus = statuses.length === 1 ? statuses[0] : undefined
  const partsOf = compileParts(route)
  app.route({
    method: route.method,
    url: route.path,
    config: { bound },
    ...(route.bodyLimitBytes ? { bodyLimit: route.bodyLimitBytes } : {}),
    schema: {
      ...(route.params ? { params: route.params } : {}),
      ...(route.query ? { querystring: route.query } : {}),
      ...(route.body ? { body: route.body } : {}),
      ...(route.answers ? {} : { response: route.responses }),
    },
    onRequest: (request, reply) => admit(edge, route, request, reply),
    preParsing: hashBody,
    ...(route.optionalBody ? { preValidation: takeNoBodyAsEmpty } : {}),
    onResponse: (request, reply, done) => {
      observe(deps, { name: bound.name, path: route.path }, request, reply)
      done()
    },
    handler: async (request, reply) => {
      const parts = partsOf(request)
      if (parts.ignored !== undefined) reply.header('x-ignored-fields', parts.ignored)
      const answer = await perform(bound, toCall(edge, bound, parts, request, reply))
      if (route.answers === 'redirect') return reply.redirect((answer as { location: string }).location, 302)
      if (route.answers === 'text') return reply.type('text/plain; version=0.0.4; charset=utf-8').send(answer)
      if (route.answers === 'file') return sendFile(reply, answer as FileAnswer)
      if (route.answers === 'json') return sendJsonAnswer(request, reply, answer as JsonAnswer)
      if (onlyStatus !== undefined) return reply.code(onlyStatus).send(answer)
      const { status, body } = answer as { status: number; body: unknown }
      return reply.code(status).send(body)
    },
  })
}

/** Never shown by the browser as a page of ours: what is in it is somebody else's. */
function sendFile(reply: FastifyReply, file: FileAnswer) {
  const { stream, sizeBytes, contentType, fileName, headers } = file
  return reply
    .headers({
      ...headers,
      'content-type': contentType,
      ...(sizeBytes === undefined ? {} : { 'content-length': sizeBytes }),
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(fileName)}`,
      'content-security-policy': "sandbox; default-src 'none'",
    })
    .send(stream)
}

function toCall(
  edge: EdgeContext,
  bound: BoundRoute,
  { query, body }: RequestParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Call {
  const { deps } = edge
  const { route } = bound
  return {
    route,
    params: request.params as never,
    query: query as never,
    body: body as never,
    principal: request.principal as never,
    access: request.access as never,
    client: {
      address: request.ip,
      userAgent: request.headers['user-agent'] ?? '',
      label: headerText(request.headers['x-client-label']),
      bearer: bearerToken(request.headers),
    },
    upload: request.upload,
    repeatable: route.creates ? readRepeatable(bound, request) : undefined,
    deps,
    get signal() {
      return signalOf(reply)
    },
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

async function takeNoBodyAsEmpty(request: FastifyRequest): Promise<void> {
  request.body ??= {}
}

/** The answer's end, not the request's: that one is over as soon as its body has been read. */
function signalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort())
  return controller.signal
}

function readRepeatable({ route }: BoundRoute, request: FastifyRequest) {
  const key = headerText(request.headers['idempotency-key'])
  if (key === undefined) return undefined
  if (!idempotencyKeyPattern.test(key)) {
    throw new ApiError('INVALID_INPUT', { message: 'Idempotency-Key must be 1 to 255 printable characters' })
  }
  return { key, requestHash: hashRequest(route, request.params, request.body, request.upload) }
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
      const route = request.routeOptions.config.bound?.route
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
    const { bound, raw } = request.routeOptions.config
    request.span = startRequest((bound ?? raw)?.name ?? 'unknown', request.headers)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { bound, raw } = request.routeOptions.config
    const attributes = {
      'http.request.method': request.method,
      'http.route': (bound?.route ?? raw)?.path ?? '',
      'guildhall.request_id': request.id,
      'guildhall.credential': request.principal?.credential ?? '',
    }
    request.span?.end({ status: reply.statusCode, attributes })
    done()
  })
}
