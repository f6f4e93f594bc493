import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { observe } from '../operations/observe.ts'

export function observeRequest(
  deps: Pick<Deps, 'metrics' | 'logger'>,
  { name, path }: { readonly name: string; readonly path: string },
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  observe(deps, {
    name,
    method: request.method,
    path,
    status: reply.statusCode,
    milliseconds: reply.elapsedTime,
    requestId: request.id,
    credential: request.principal?.credential,
    address: request.ip,
    via: 'http',
  })
}
