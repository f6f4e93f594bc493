import type { FastifyReply } from 'fastify'
import { whenOver } from './when-over.ts'

/** The answer's end, not the request's: that one is over as soon as its body has been read. */
export function signalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  whenOver(reply.raw, () => controller.abort())
  return controller.signal
}
