import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'

/** Counts an answer and writes its log line. */
export function observe(
  deps: Pick<Deps, 'metrics' | 'logger'>,
  route: { readonly name: string; readonly path: string },
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const milliseconds = reply.elapsedTime
  const status = reply.statusCode
  deps.metrics.observeRequest(route.name, status, milliseconds / 1000)
  // Quiet for reads that went well: the metrics count those.
  const level = status >= 400 || request.method !== 'GET' ? 'info' : 'debug'
  if (!deps.logger.isLevelEnabled(level)) return
  deps.logger[level]({
    requestId: request.id,
    method: request.method,
    route: route.path,
    status,
    ms: Math.round(milliseconds * 10) / 10,
    credential: request.principal?.credential,
    address: request.ip,
  })
}
