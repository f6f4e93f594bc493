import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'

/**
 * A grant may be bound to the exact bytes of a body, a form's as much as JSON's, so they are hashed as they arrive. Only
 * keys have grants; one with full access needs none, but may have lost it when its body is there. Whoever reads the body
 * begins in this same turn, so this listener takes nothing from it.
 */
export function hashBody(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: RequestPayload,
  done: (error: null, payload: RequestPayload) => void,
): void {
  if (request.principal?.kind === 'key') {
    const hash = createHash('sha256')
    payload.on('data', (chunk) => hash.update(chunk))
    request.bodyHash = hash
  }
  done(null, payload)
}
