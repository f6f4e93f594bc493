import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ApiError, errorBody } from '#operations/errors.ts'
import type { Deps } from '#platform/deps.ts'
import { type Counting, countRefusal, type ShownWindow } from './count-refusal.ts'

interface Refused {
  readonly address: string
  readonly refused: ApiError
}

/** Where no framework is, the answer is written by hand, in the shape of all others. Gives its status. */
export async function refuseByHand(
  deps: Counting & Pick<Deps, 'logger'>,
  stream: Duplex,
  { address, refused }: Refused,
): Promise<number> {
  try {
    const { refusal, window } = await countRefusal(deps, address, refused)
    if (stream.writable) write(stream, refusal, window)
    return refusal.status
  } catch (error) {
    deps.logger.warn({ err: error }, 'a refusal got no answer')
    stream.destroy()
    return refused.status
  }
}

function write(stream: Duplex, refusal: ApiError, window: ShownWindow | undefined): void {
  const body = JSON.stringify(errorBody(refusal))
  const headers = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}`,
    'connection: close',
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(refusal.retryAfterSeconds === undefined ? [] : [`retry-after: ${refusal.retryAfterSeconds}`]),
    ...(window
      ? [
          `x-ratelimit-limit: ${window.limit}`,
          `x-ratelimit-remaining: ${window.remaining}`,
          `x-ratelimit-reset: ${window.resetSeconds}`,
        ]
      : []),
  ]
  stream.once('finish', () => stream.destroy())
  stream.end(`${headers.join('\r\n')}\r\n\r\n${body}`)
}

/** What is no HTTP request, or has more headers than are read, never gets as far as the framework. */
export function answerBrokenRequest(
  deps: Counting & Pick<Deps, 'logger'>,
  error: Error & { code?: string },
  socket: Socket,
): void {
  if (!socket.writable) return
  // It may go away while it is counted; without a listener that would end the process.
  socket.on('error', () => {})
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const message = isLate
    ? 'The headers did not come in time; send the request again'
    : 'The request is malformed or its headers are too large'
  const refused = new ApiError('INVALID_INPUT', { message, ...(isLate && { status: 408 }) })
  // Whatever a proxy in front says of the client was in the headers that could not be read.
  const address = socket.remoteAddress ?? ''
  void refuseByHand(deps, socket, { address, refused })
}
