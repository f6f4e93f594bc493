import type { FastifyReply, FastifyRequest } from 'fastify'
import { observe } from '#operations/observe.ts'
import type { Deps } from '#platform/deps.ts'

export function observeRequest(
  deps: Pick<Deps, 'metrics' | 'logger'>,
  route: { readonly name: string; readonly path: string; readonly logsByOperations?: boolean },
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  observe(deps, {
    name: route.name,
    method: request.method,
    path: route.path,
    status: reply.statusCode,
    milliseconds: reply.elapsedTime,
    requestId: request.id,
    credential: request.principal?.credential,
    address: request.ip,
    via: 'http',
    isQuiet: route.logsByOperations,
  })
}
