import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer, EventsAnswer, FileAnswer, PreparedJson, WholeFile } from '#operations/answer.ts'

import { itemsText, textChunks } from '#operations/answer-text.ts'

import { setCookies } from './cookies.ts'

const jsonType = 'application/json; charset=utf-8'

/** `confirm`: asks again whether it may be had, behind what took a while. */
export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  confirm: () => Promise<void> | undefined,
) {
  if (answer.cookies) setCookies(reply, answer.cookies)
  switch (answer.kind) {
    case 'value':
      return reply.code(answer.status).type(jsonType).send(answer.text)
    case 'pieces':
      reply.hold(answer.text.length)
      return reply.type(jsonType).send(Readable.from(textChunks(answer.text)))
    case 'items': {
      const hold = (length: number) => reply.hold(length)
      return reply.type(jsonType).send(Readable.from(itemsText(answer.items, answer.within, hold)))
    }
    case 'prepared':
      return sendPrepared(request, reply.type(jsonType), answer.prepared)
    case 'file':
      return sendFile(reply, answer.file, confirm)
    case 'events':
      return openEvents(reply, answer.events)
    case 'redirect':
      return reply.redirect(answer.location, 302)
    case 'text':
      return reply.type('text/plain; version=0.0.4; charset=utf-8').send(answer.text)
  }
}

function sendPrepared(request: FastifyRequest, reply: FastifyReply, { etag, plain, gzip }: PreparedJson) {
  reply.headers({ etag, vary: 'accept-encoding', 'cache-control': 'public, no-cache' })
  const known = request.headers['if-none-match']
  if (known?.split(',').some((tag) => tag.trim() === etag)) return reply.code(304).send()
  if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) return reply.send(plain)
  return reply.header('content-encoding', 'gzip').send(gzip)
}

/** Never shown by the browser as a page of ours: what is in it is somebody else's. */
async function sendFile(reply: FastifyReply, file: FileAnswer, confirm: () => Promise<void> | undefined) {
  const { contentType, fileName, headers } = file
  const content = 'stream' in file ? file.stream : await readHeld(reply, file)
  if (!('stream' in file)) await confirm()
  return reply
    .headers({
      ...headers,
      'content-type': contentType,
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(fileName)}`,
      'content-security-policy': "sandbox; default-src 'none'",
    })
    .send(content)
}

function readHeld(reply: FastifyReply, { heldBytes, read }: WholeFile): Promise<Buffer> {
  reply.hold(heldBytes)
  return read()
}

/** The standard headers are written at once: those set one by one are kept with each open answer, a sixth of its memory. */
function openEvents(reply: FastifyReply, events: EventsAnswer) {
  const response = reply.raw
  if (response.destroyed) events.abandon()
  else events.open({ response, headers: definedOnly(reply.getHeaders()) })
  return reply.hijack()
}

export function definedOnly<V>(headers: Record<string, V | undefined>): Record<string, V> {
  const defined: Record<string, V> = {}
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) defined[name] = value
  return defined
}
