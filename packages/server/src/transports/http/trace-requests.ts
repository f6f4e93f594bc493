import type { FastifyInstance } from 'fastify'
import type { Deps } from '#platform/deps.ts'

/** Nothing of this stands in a request's way while tracing is off. */
export function traceRequests(app: FastifyInstance, { telemetry }: Deps): void {
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
