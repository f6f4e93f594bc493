import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../operations/errors.ts'
import { noNul } from '../operations/json-values.ts'
import { addressOf, type EdgeContext, enter } from './edge.ts'
import { fromFramework, setRefusalHeaders, writeError } from './error-handler.ts'
import { observeRequest } from './observe.ts'
import type { RawRoute } from './raw-route.ts'
import { definedOnly } from './send-answer.ts'

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
    for (const route of routes) register(scope, edge, route)
  })
}

function register(scope: FastifyInstance, edge: EdgeContext, route: RawRoute): void {
  const { deps } = edge
  const entry = { audience: 'public', limits: route.limits ?? ['rest'] } as const
  scope.route({
    method: route.method,
    url: route.path,
    config: { raw: route },
    bodyLimit: bodyLimitBytes,
    exposeHeadRoute: false,
    onRequest: (request, reply) => enter(edge, entry, request, reply),
    onResponse: (request, reply, done) => {
      observeRequest(deps, route, request, reply)
      done()
    },
    errorHandler: (error, request, reply) => writeRefusal(route, error as Error, request, reply),
    handler: async (request, reply) => {
      const headers = definedOnly(reply.getHeaders())
      for (const name in headers) reply.raw.setHeader(name, headers[name] ?? '')
      try {
        await route.handle({
          request: request.raw,
          response: reply.raw,
          ...addressOf(request),
          body: request.body,
        })
      } catch (error) {
        if (!reply.raw.headersSent) throw error
        deps.logger.error({ requestId: request.id, err: error }, 'answer broken off')
        reply.raw.destroy()
      }
      reply.hijack()
    },
  })
}

function writeRefusal(route: RawRoute, error: Error, request: FastifyRequest, reply: FastifyReply): void {
  if (!route.describeRefusal) {
    writeError(error, request, reply)
    return
  }
  const refusal = fromFramework(error)
  if (refusal.status >= 500)
    request.log.error({ requestId: request.id, err: refusal.cause ?? error }, 'request failed')
  setRefusalHeaders(refusal, reply)
  const { type, body, headers = {} } = route.describeRefusal(refusal)
  reply.code(refusal.status).headers(headers).type(type).send(body)
}
