import { createHash } from 'node:crypto'
import { fullAccess } from '@guildhall/contract'
import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'

/**
 * A grant may be bound to the exact bytes of a body, a form's as much as JSON's, so they are hashed as they arrive. Only
 * keys have grants, and one with full access needs none. Whoever reads the body begins in this same turn, so this
 * listener takes nothing from it.
 */
export function hashBody(
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
