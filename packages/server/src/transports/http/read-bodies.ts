import type { IncomingMessage } from 'node:http'
import { bundleLimits, weightOf } from '@guildhall/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { ApiError } from '#operations/errors.ts'
import { JsonMeter } from '#operations/json-values.ts'
import { readJson } from '#operations/read-json.ts'
import { callerOf } from './client-of.ts'
import { sendJson } from './error-handler.ts'
import { LargeBodies, largeBytes } from './large-bodies.ts'
import { readMultipart } from './multipart.ts'
import { signalOf } from './signal-of.ts'

export interface Reading {
  readonly meter: JsonMeter
  readonly reply: FastifyReply
}

/** No form and no plain text: what a foreign page can post without asking is not read. */
export function readJsonOnly(app: FastifyInstance): void {
  app.decorateRequest('reading', undefined)
  app.removeAllContentTypeParsers()
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!isForm(request)) {
      const meter = new JsonMeter(valuesReadOf(request))
      request.reading = { meter, reply }
      refuseOutsized(reply, payload, meter)
    }
    done(null, payload)
  })
  app.addContentTypeParser(
    'multipart/form-data',
    async (request: FastifyRequest, payload: IncomingMessage) => {
      const route = request.routeOptions.config.operation?.route
      if (!route?.uploads) return refuseUnlessEmpty(request, payload)
      const { fields, files } = await readMultipart(payload, request.headers, bundleLimits)
      request.upload = files
      return fields
    },
  )
  const largeBodies = new LargeBodies()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: string | Buffer) => {
      const bytes = body as Buffer<ArrayBuffer>
      const { meter, reply } = request.reading as Reading
      if (bytes.length <= largeBytes) return readJson(bytes, meter)
      return largeBodies.read(callerOf(request), bytes, valuesReadOf(request), signalOf(reply))
    },
  )
  app.addContentTypeParser('*', refuseUnlessEmpty)
}

const isForm = ({ headers }: FastifyRequest) => /^multipart\//i.test(headers['content-type'] ?? '')

/**
 * As it comes, so that no more of it is kept than is read. Refused as what comes too late is. What turns out to be large is
 * looked over by whoever reads it.
 */
function refuseOutsized(reply: FastifyReply, payload: RequestPayload, meter: JsonMeter): void {
  let length = 0
  const look = (chunk: Buffer) => {
    length += chunk.length
    // What was refused for its size or its sender is thrown away without a look.
    if (reply.sent || length > largeBytes) return void payload.off('data', look)
    try {
      meter.take(chunk)
    } catch (refusal) {
      payload.off('data', look)
      payload.emit('error', refusal)
    }
  }
  payload.on('data', look)
}

function valuesReadOf({ routeOptions: { config } }: FastifyRequest): number {
  return weightOf(config.operation?.route ?? config.raw?.entry ?? { audience: 'public' }).values
}

/**
 * Nothing is nothing, whatever type it is said to be of. What is there is refused at its first byte, and the rest let come:
 * what comes to a body that was destroyed is kept by nobody, its connection stands still, and so does what is sent next.
 */
async function refuseUnlessEmpty(_request: FastifyRequest, payload: IncomingMessage): Promise<undefined> {
  for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
    if (chunk.length > 0) throw new ApiError('INVALID_INPUT', { message: sendJson })
  }
}

export const hasNoBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'
