import type { IncomingMessage } from 'node:http'
import { bundleLimits, weightOf } from '@guildhall/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { ApiError } from '#operations/errors.ts'
import { JsonMeter, refuseUnwanted } from '#operations/json-values.ts'
import { sendJson } from './error-handler.ts'
import { readMultipart } from './multipart.ts'

const byteOrderMark = '\ufeff'

/** No form and no plain text: what a foreign page can post without asking is not read. */
export function readJsonOnly(app: FastifyInstance): void {
  app.decorateRequest('meter', undefined)
  app.removeAllContentTypeParsers()
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!isForm(request)) {
      request.meter = new JsonMeter(valuesReadOf(request))
      refuseOutsized(reply, payload, request.meter)
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
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    let parsed: unknown
    try {
      parsed = parseJson(body as string, request.meter as JsonMeter)
    } catch (refusal) {
      return done(refusal as Error, undefined)
    }
    done(null, parsed)
  })
  app.addContentTypeParser('*', refuseUnlessEmpty)
}

function parseJson(text: string, meter: JsonMeter): unknown {
  if (text === '') return undefined
  let parsed: unknown
  try {
    parsed = JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text)
  } catch (cause) {
    throw new ApiError('INVALID_INPUT', { cause: cause as Error })
  }
  refuseUnwanted(text, meter, parsed)
  return parsed
}

const isForm = ({ headers }: FastifyRequest) => /^multipart\//i.test(headers['content-type'] ?? '')

/** As it comes, so that no more of it is kept than is read. Refused as what comes too late is. */
function refuseOutsized(reply: FastifyReply, payload: RequestPayload, meter: JsonMeter): void {
  const look = (chunk: Buffer) => {
    // What was refused for its size or its sender is thrown away without a look.
    if (reply.sent) return void payload.off('data', look)
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
