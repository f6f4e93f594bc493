import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ApiError, errorBody } from '#operations/errors.ts'

/** Where no framework is, the answer is written by hand, in the shape of all others. */
export function refuseByHand(stream: Duplex, refusal: ApiError): void {
  const body = JSON.stringify(errorBody(refusal))
  const headers = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}`,
    'connection: close',
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(refusal.retryAfterSeconds === undefined ? [] : [`retry-after: ${refusal.retryAfterSeconds}`]),
  ]
  stream.once('finish', () => stream.destroy())
  stream.end(`${headers.join('\r\n')}\r\n\r\n${body}`)
}

/** What is no HTTP request, or has more headers than are read, never gets as far as the framework. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) return
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const message = isLate
    ? 'The headers did not come in time; send the request again'
    : 'The request is malformed or its headers are too large'
  refuseByHand(socket, new ApiError('INVALID_INPUT', { message, ...(isLate && { status: 408 }) }))
}
