import type { IncomingMessage } from 'node:http'
import { bundleLimits, weightOf } from '@guildhall/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '#operations/errors.ts'
import { refuseOutsized, refuseUnstorable } from '#operations/json-values.ts'
import { sendJson } from './error-handler.ts'
import { readMultipart } from './multipart.ts'

/** No form and no plain text: what a foreign page can post without asking is not read. */
export function readJsonOnly(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
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
    if (body === '') return done(null, undefined)
    try {
      refuseOutsized(body as string, valuesReadOf(request))
    } catch (refusal) {
      return done(refusal as Error, undefined)
    }
    parseJson(request, body as string, (error, parsed) => {
      if (error) return done(error, undefined)
      try {
        refuseUnstorable(body as string, parsed)
        done(null, parsed)
      } catch (refusal) {
        done(refusal as Error, undefined)
      }
    })
  })
  app.addContentTypeParser('*', refuseUnlessEmpty)
}

function valuesReadOf({ routeOptions: { config } }: FastifyRequest): number {
  return weightOf(config.operation?.route ?? config.raw?.entry ?? { audience: 'public' }).values
}

/** Nothing is nothing, whatever type it is said to be of. What is there is refused at its first byte. */
async function refuseUnlessEmpty(_request: FastifyRequest, payload: IncomingMessage): Promise<undefined> {
  for await (const chunk of payload) {
    if (chunk.length > 0) throw new ApiError('INVALID_INPUT', { message: sendJson })
  }
}

export const hasNoBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'
