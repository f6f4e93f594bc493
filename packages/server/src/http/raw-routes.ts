import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../operations/errors.ts'
import { addressOf, admit, type EdgeContext } from './edge.ts'
import { setRefusalHeaders, toApiError, writeError } from './error-handler.ts'
import { noNul } from './json-body.ts'
import { observe } from './observe.ts'
import type { RawRoute } from './raw-route.ts'

const bodyLimitBytes = 64 * 1024

/** In a scope of their own, so that the API goes on refusing forms: a foreign page can post one without asking. */
export function registerRawRoutes(
  app: FastifyInstance,
  edge: EdgeContext,
  routes: readonly RawRoute[],
): void {
  app.register(async (scope) => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string' },
      (_request, body, done) => {
        if (String(body).includes('%00')) done(new ApiError('INVALID_INPUT', { message: noNul }), undefined)
        else done(null, new URLSearchParams(String(body)))
      },
    )
    for (const route of routes) {
      register(scope, edge, route)
      if (route.close) scope.addHook('preClose', () => route.close?.())
    }
  })
}

function register(scope: FastifyInstance, edge: EdgeContext, route: RawRoute): void {
  const { deps } = edge
  scope.route({
    method: route.method,
    url: route.path,
    ...(route.accept ? { constraints: { accept: route.accept } } : {}),
    config: { raw: route },
    bodyLimit: bodyLimitBytes,
    exposeHeadRoute: false,
    onRequest: (request, reply) => admit(edge, route.contract, request, reply, route),
    onResponse: (request, reply, done) => {
      // One that stayed open was counted as it began: how long somebody listened is no time to answer.
      if (!route.close || reply.statusCode >= 400) observe(deps, route, request, reply)
      done()
    },
    errorHandler: (error, request, reply) => writeRefusal(route, error as Error, request, reply),
    handler: async (request, reply) => {
      const headers = definedOnly(reply.getHeaders())
      if (!route.close) for (const name in headers) reply.raw.setHeader(name, headers[name] ?? '')
      try {
        await route.handle({
          request: request.raw,
          response: reply.raw,
          headers,
          ...addressOf(request),
          principal: request.principal,
          bearer: request.bearer,
          body: request.body,
        })
      } catch (error) {
        if (!reply.raw.headersSent) throw error
        deps.logger.error({ requestId: request.id, err: error }, 'answer broken off')
        reply.raw.destroy()
      }
      if (route.close) observe(deps, route, request, reply)
      reply.hijack()
    },
  })
}

function definedOnly<V>(headers: Record<string, V | undefined>): Record<string, V> {
  const defined: Record<string, V> = {}
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) defined[name] = value
  return defined
}

function writeRefusal(route: RawRoute, error: Error, request: FastifyRequest, reply: FastifyReply): void {
  if (!route.describeRefusal) {
    writeError(error, request, reply)
    return
  }
  const refusal = toApiError(error)
  if (refusal.status >= 500)
    request.log.error({ requestId: request.id, err: refusal.cause ?? error }, 'request failed')
  setRefusalHeaders(refusal, reply)
  const { type, body, headers = {} } = route.describeRefusal(refusal)
  reply.code(refusal.status).headers(headers).type(type).send(body)
}
