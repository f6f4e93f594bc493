import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ItemsRecord, JsonAnswer, PreparedJson } from '../operations/bind.ts'

const jsonType = 'application/json; charset=utf-8'

export function sendJsonAnswer(request: FastifyRequest, reply: FastifyReply, answer: JsonAnswer) {
  reply.type(jsonType)
  if ('items' in answer) return reply.send(Readable.from(arrayText(answer.items, answer.within)))
  if ('prepared' in answer) return sendPrepared(request, reply, answer.prepared)
  return reply.send(JSON.stringify(answer.value))
}

const chunkLength = 32_768

/** Several items to a chunk: one write to the socket for each would cost more than the items. */
async function* arrayText(
  items: AsyncIterable<unknown>,
  within: ItemsRecord | undefined,
): AsyncGenerator<string> {
  let text = within ? `{${JSON.stringify(within.field)}:[` : '['
  let first = true
  for await (const item of items) {
    text += first ? JSON.stringify(item) : `,${JSON.stringify(item)}`
    first = false
    if (text.length < chunkLength) continue
    yield text
    text = ''
  }
  yield within ? `${text}],${JSON.stringify(within.rest()).slice(1)}` : `${text}]`
}

function sendPrepared(request: FastifyRequest, reply: FastifyReply, { etag, plain, gzip }: PreparedJson) {
  reply.headers({ etag, vary: 'accept-encoding', 'cache-control': 'public, no-cache' })
  const known = request.headers['if-none-match']
  if (known?.split(',').some((tag) => tag.trim() === etag)) return reply.code(304).send()
  if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) return reply.send(plain)
  return reply.header('content-encoding', 'gzip').send(gzip)
}
