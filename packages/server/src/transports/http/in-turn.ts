import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '#platform/deps.ts'
import { CallersTurns } from './callers-turns.ts'
import { callerOf, personOf } from './client-of.ts'
import { whenOver } from './when-over.ts'

/** What is larger takes a place for each of these. */
const bytesOfPlace = 8 * 1024
const tickMs = 25

export type InTurn = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

/** After it is known who sends it and before the body is read: what waits is neither taken nor kept. */
export function inTurns(app: FastifyInstance, { config, metrics }: Pick<Deps, 'config' | 'metrics'>): InTurn {
  const { places, turnMs } = config.clients.turns
  const turns = new CallersTurns({ places, mostTicks: Math.ceil(turnMs / tickMs) })
  const ticking = setInterval(() => {
    turns.tick()
    metrics.waitingRequests.set(turns.waiting)
  }, tickMs).unref()
  app.addHook('onClose', async () => clearInterval(ticking))
  return (request, reply, done) => {
    const caller = callerOf(request)
    const person = personOf(request) ?? caller
    const leave = turns.enter({ caller, person }, placesOf(request, places), done)
    whenOver(reply.raw, leave)
  }
}

/** One that does not say how long it is may be as long as may be. */
function placesOf({ headers }: FastifyRequest, places: number): number {
  if (headers['transfer-encoding'] !== undefined) return places
  return 1 + Math.floor(Number(headers['content-length'] ?? 0) / bytesOfPlace)
}
