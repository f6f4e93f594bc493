import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { ApiError } from '#operations/errors.ts'
import type { ClientSettings } from '#platform/client-settings.ts'
import { networkOf } from '#platform/network.ts'
import { credentialOf, personOf } from './client-of.ts'
import { HeldBytes } from './held-bytes.ts'
import { hasNoBody } from './read-bodies.ts'
import { SlowReaders } from './slow-readers.ts'
import { smallAnswer, type WatchedResponse } from './watched-response.ts'
import { whenOver } from './when-over.ts'

/** The least of a body that comes, and of an answer that goes. */
const bytesPerSecond = 64 * 1024
/** How often it is looked who is late. */
const lookEveryMs = 1000
/** After each chunk of what is not wanted any more. */
const restMs = 10
/** A body of which not everything has come. */
interface BodyUnderWay {
  readonly payload: RequestPayload
  readonly request: IncomingMessage
  readonly response: ServerResponse
  began: number
  bytes: number
}

/** Node's own part of it: a connection that brings no whole headers is answered 408 and closed. */
export const headersWithin = ({ headersMs }: Pick<ClientSettings, 'headersMs'>) => ({
  headersTimeout: headersMs,
  connectionsCheckingInterval: Math.min(lookEveryMs, headersMs),
})

/**
 * Who sends slowly, or does not take what was asked for, makes the service keep what it has for them. Bodies have to keep
 * coming, answers have to be taken, and what is held meanwhile is counted by whose it is.
 */
export function endSlowClients(app: FastifyInstance, settings: Omit<ClientSettings, 'turns'>): void {
  const bodies = new Set<BodyUnderWay>()
  const held = new HeldBytes(settings.held)
  const loop = new LoopWatch()
  const readers = new SlowReaders(settings, { lookEveryMs, bytesPerSecond })
  const looking = setInterval(() => {
    endLate(bodies, settings, loop.look())
    endUnwanted(unwanted, settings)
    readers.look()
  }, lookEveryMs).unref()
  app.addHook('onClose', async () => clearInterval(looking))
  app.decorateRequest('held', undefined)
  app.decorateReply('hold', function (bytes) {
    if (!hold(held, this.request, this, bytes)) throw tooMuchHeld()
  })
  const unwanted = new Map<IncomingMessage, number>()
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    response.once('finish', () => {
      if (!request.complete) unwanted.set(request, performance.now())
    })
    request.once('close', () => unwanted.delete(request))
  })
  app.addHook('onRequest', (_request, reply, done) => {
    const raw = reply.raw as WatchedResponse
    raw.onWaiting = () => readers.watch(raw)
    raw.onHeld = (bytes) => reply.hold(bytes)
    done()
  })
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!hasNoBody(request)) watchBody(bodies, held, request, reply, payload)
    done(null, payload)
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = typeof payload === 'string' ? payload.length : 0
    const isHeld = bytes < smallAnswer || reply.statusCode >= 400 || hold(held, request, reply, bytes)
    ;(reply.raw as WatchedResponse).heldBefore = bytes
    done((isHeld ? null : tooMuchHeld()) as null, payload)
  })
}

/** How long the process itself stood still: what came meanwhile has not been looked at, and that is not its sender's fault. */
class LoopWatch {
  #lookedAt = performance.now()

  /** To be called every `lookEveryMs`. Gives for how long nothing was done. */
  look(): number {
    const now = performance.now()
    const stoodStillMs = now - this.#lookedAt - lookEveryMs
    this.#lookedAt = now
    return stoodStillMs < lookEveryMs ? 0 : stoodStillMs
  }
}

/** Whoever reads the body begins in this same turn, so that the listener takes nothing from it. */
function watchBody(
  bodies: Set<BodyUnderWay>,
  held: HeldBytes,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: RequestPayload,
): void {
  const body: BodyUnderWay = {
    payload,
    request: request.raw,
    response: reply.raw,
    began: performance.now(),
    bytes: 0,
  }
  const forget = () => void bodies.delete(body)
  bodies.add(body)
  payload.on('data', (chunk: Buffer) => {
    body.bytes += chunk.length
    if (reply.sent) rest(payload)
    else if (!hold(held, request, reply, chunk.length)) refuse(body, tooMuchHeld())
  })
  // Who read it does not listen any more after a first refusal; the rest of it has to come in time all the same.
  payload
    .once('end', forget)
    .once('close', forget)
    .on('error', () => {})
}

/**
 * What is only thrown away may take its time: a turn in which as much is read as many senders have ready would be a long
 * one for everybody else.
 */
function rest(payload: RequestPayload): void {
  payload.pause()
  setTimeout(() => payload.resume(), restMs)
}

function hold(held: HeldBytes, request: FastifyRequest, reply: FastifyReply, bytes: number): boolean {
  // What comes after the answer is not kept, and nothing would tell that it is gone.
  if (reply.raw.writableEnded || reply.raw.destroyed) return true
  if (!request.held) {
    request.held = held.open({
      credential: credentialOf(request),
      person: personOf(request),
      address: networkOf(request.ip),
    })
    whenOver(reply.raw, request.held.release)
  }
  return request.held.add(bytes)
}

function endLate(
  bodies: Set<BodyUnderWay>,
  { bodyMs }: Pick<ClientSettings, 'bodyMs'>,
  stoodStillMs: number,
): void {
  const now = performance.now()
  for (const body of bodies) {
    body.began += stoodStillMs
    if (now - body.began > bodyMs + (body.bytes / bytesPerSecond) * 1000) refuse(body, tooSlow())
  }
}

/** What goes on coming after its answer, which nobody reads: most of it never was to be, and refused by its head. */
function endUnwanted(
  unwanted: Map<IncomingMessage, number>,
  { bodyMs }: Pick<ClientSettings, 'bodyMs'>,
): void {
  const now = performance.now()
  for (const [request, answeredAt] of unwanted) if (now - answeredAt > bodyMs) request.socket.destroy()
}

/** To whoever reads the body it is as if the connection had failed; the answer can still be written to it. */
function refuse({ payload, request, response }: BodyUnderWay, refusal: ApiError): void {
  if (response.writableEnded) request.socket.destroy()
  else payload.emit('error', refusal)
}

const tooSlow = () =>
  new ApiError('INVALID_INPUT', {
    status: 408,
    message: 'The body did not come in time: 30 seconds, and one more for each 64 KiB; send it again',
  })

const tooMuchHeld = () =>
  new ApiError('SERVICE_UNAVAILABLE', {
    mistake: 'Too much is on its way at once; wait for what was sent and asked for, then try again',
    retryAfterSeconds: 1,
  })
