import { weightOf } from '@guildhall/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '#operations/errors.ts'
import { noNul } from '#operations/json-values.ts'
import { clientOf } from './client-of.ts'
import { addressOf, bodyOnItsWayMs, confirm, type EdgeContext, type Entry, entrance } from './edge.ts'
import { fromFramework, setRefusalHeaders, writeError } from './error-handler.ts'
import { observeRequest } from './observe.ts'
import type { RawRoute } from './raw-route.ts'
import { definedOnly } from './send-answer.ts'

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
    // What browsers report is not read, only measured.
    scope.addContentTypeParser(
      ['application/csp-report', 'application/reports+json'],
      { parseAs: 'buffer' },
      (_request, _body, done) => done(null, undefined),
    )
    for (const route of routes) register(scope, edge, route)
  })
}

function register(scope: FastifyInstance, edge: EdgeContext, route: RawRoute): void {
  const { deps } = edge
  const entry: Entry = route.entry ?? { audience: 'public', limits: route.limits ?? ['rest'] }
  scope.route({
    method: route.method,
    url: route.path,
    config: { raw: route },
    bodyLimit: weightOf(entry).bytes,
    exposeHeadRoute: false,
    onRequest: entrance(edge, entry),
    onResponse: (request, reply, done) => {
      observeRequest(deps, route, request, reply)
      done()
    },
    errorHandler: (error, request, reply) => writeRefusal(route, error as Error, request, reply),
    handler: async (request, reply) => {
      if (route.entry) await confirm(edge, route.entry, request, bodyOnItsWayMs)
      const headers = definedOnly(reply.getHeaders())
      for (const name in headers) reply.raw.setHeader(name, headers[name] ?? '')
      try {
        await route.handle({
          request: request.raw,
          response: reply.raw,
          ...addressOf(request),
          body: request.body,
          principal: request.principal,
          admittedAt: request.admittedAt,
          client: clientOf(request),
          requestId: request.id,
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
  const refusal = fromFramework(error, request)
  const answer = route.describeRefusal?.(refusal, request.headers)
  if (!answer) {
    writeError(error, request, reply, route.challenge?.(refusal, request.principal))
    return
  }
  if (refusal.status >= 500)
    request.log.error({ requestId: request.id, err: refusal.cause ?? error }, 'request failed')
  setRefusalHeaders(refusal, reply)
  const { type, body, headers = {}, status = refusal.status } = answer
  reply.code(status).headers(headers).type(type).send(body)
}
