import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, errorBody, toApiError } from '#operations/errors.ts'
import { bodyTooLarge } from '#operations/operation.ts'

export const sendJson = 'Send the body as JSON with content-type application/json'

interface FrameworkError extends Error {
  code?: string
  statusCode?: number
}

/** The one place that writes an error body. */
export function writeError(
  error: FrameworkError,
  request: FastifyRequest,
  reply: FastifyReply,
  challenge?: string,
): void {
  const refusal = fromFramework(error, request)
  const authenticate = challenge ?? refusal.authenticate
  if (refusal.status >= 500)
    request.log.error({ requestId: request.id, err: refusal.cause ?? error }, 'request failed')
  if (authenticate !== undefined) reply.header('www-authenticate', authenticate)
  // The framework closes the connection on what is refused while it comes, and who still sends would not see why. What
  // has told its size is let come to its end, in its time.
  if (error instanceof ApiError && request.headers['content-length'] !== undefined)
    reply.removeHeader('connection')
  setRefusalHeaders(refusal, reply)
  reply
    .code(refusal.status)
    .type('application/json; charset=utf-8')
    // Serialised here: the route's own answer schema must not shape an error.
    .send(JSON.stringify(bodyFor(refusal, request)))
}

/** When to come back, and of several windows the one that says no. */
export function setRefusalHeaders(
  { status, retryAfterSeconds, window }: ApiError,
  reply: FastifyReply,
): void {
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  // What is still to come of a body that was given up is not waited for.
  if (status === 408) reply.header('connection', 'close')
  if (window) setWindowHeaders(reply, { ...window, remaining: 0 })
}

export function setWindowHeaders(
  reply: FastifyReply,
  window: { limit: number; remaining: number; resetSeconds: number },
): void {
  reply.header('x-ratelimit-limit', window.limit)
  reply.header('x-ratelimit-remaining', window.remaining)
  reply.header('x-ratelimit-reset', window.resetSeconds)
}

function bodyFor(refusal: ApiError, request: FastifyRequest) {
  const { code, message, details, beside } = refusal
  const flat = request.routeOptions.config.operation?.route.flatErrors?.includes(code)
  return flat ? { error: code, message, ...details, ...beside } : errorBody(refusal)
}

/** What the framework refuses by itself is refused in the words of all the others. */
export function fromFramework(error: FrameworkError, request: FastifyRequest): ApiError {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return bodyTooLarge(request.routeOptions.bodyLimit)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('INVALID_INPUT', { message: sendJson })
  }
  const refusal = toApiError(error)
  const status = error.statusCode ?? 500
  const isTheirs = refusal.code === 'INTERNAL_ERROR' && status >= 400 && status < 500
  return isTheirs ? new ApiError('INVALID_INPUT', { cause: error }) : refusal
}
