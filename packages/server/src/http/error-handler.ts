import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../operations/errors.ts'
import { isDatabaseAway } from '../platform/database.ts'

export const sendJson = 'Send the body as JSON with content-type application/json'

interface FrameworkError extends Error {
  code?: string
  statusCode?: number
  validation?: { instancePath: string; message?: string; params: Record<string, unknown> }[]
  validationContext?: string
}

/** The one place that writes an error body. */
export function writeError(error: FrameworkError, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = toApiError(error)
  if (refusal.status >= 500)
    request.log.error({ requestId: request.id, err: refusal.cause ?? error }, 'request failed')
  if (refusal.authenticate !== undefined) reply.header('www-authenticate', refusal.authenticate)
  setRefusalHeaders(refusal, reply)
  reply
    .code(refusal.status)
    .type('application/json; charset=utf-8')
    // Serialised here: the route's own answer schema must not shape an error.
    .send(JSON.stringify(bodyFor(refusal, request)))
}

/** When to come back, and of several windows the one that says no. */
export function setRefusalHeaders({ retryAfterSeconds, window }: ApiError, reply: FastifyReply): void {
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
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
  const flat = request.routeOptions.config.bound?.route.flatErrors?.includes(code)
  return flat ? { error: code, message, ...details, ...beside } : errorBody(refusal)
}

export function errorBody({ code, message, details, beside }: ApiError) {
  return {
    error: {
      ...(code === 'RATE_LIMITED' ? { type: 'rate_limit_error' } : {}),
      code,
      message,
      ...(details ? { details } : {}),
    },
    ...beside,
  }
}

export function toApiError(error: FrameworkError): ApiError {
  if (error instanceof ApiError) return error
  if (isDatabaseAway(error))
    return new ApiError('SERVICE_UNAVAILABLE', { cause: error, retryAfterSeconds: 1 })
  if (error.validation) return invalidInput(error)
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ApiError('INVALID_INPUT', { message: 'The body is too large' })
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('INVALID_INPUT', {
        message: sendJson,
      })
  }
  const status = error.statusCode ?? 500
  if (status >= 400 && status < 500) return new ApiError('INVALID_INPUT', { cause: error })
  return new ApiError('INTERNAL_ERROR', { cause: error })
}

function invalidInput(error: FrameworkError): ApiError {
  const issues = (error.validation ?? []).map((issue) => {
    const missing = issue.params['missingProperty']
    const path = [issue.instancePath.slice(1).replaceAll('/', '.'), missing].filter(Boolean).join('.')
    return { path, message: issue.message ?? 'is not valid' }
  })
  const first = issues[0]
  const place = error.validationContext ?? 'request'
  return new ApiError('INVALID_INPUT', {
    message: first ? `${first.path || place}: ${first.message}` : 'The request is malformed',
    details: { in: place, issues },
  })
}
