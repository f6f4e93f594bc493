import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { ApiError } from './api-error.ts'
import { type Authenticators, authenticate, credentialKind } from './authenticate.ts'
import { authorize } from './authorize.ts'
import { networkOf } from './client-address.ts'
import { toApiError } from './error-handler.ts'
import { countRequest, refuseIfFull } from './rate-limit.ts'

export interface EdgeContext {
  readonly deps: Deps
  readonly authenticators: Authenticators
}

/**
 * What every request passes before its body is read: who is it, has the caller's window room, may it do this.
 * A credential that is refused is still counted, against its address, so that the refusal carries the caller's
 * window too and guessing is limited.
 */
export async function admit(edge: EdgeContext, request: FastifyRequest, reply: FastifyReply) {
  setStandardHeaders(edge, request, reply)
  if (isPreflight(request)) return answerPreflight(reply)
  const { deps } = edge
  const route = request.routeOptions.config.bound?.route
  if (route?.limits.length === 0) return undefined
  const outcome = await identify(edge, request)
  const network = networkOf(request.ip)
  const principal = outcome instanceof ApiError ? undefined : outcome
  const names = route?.limits ?? (['rest'] as const)
  const states = await countRequest(deps, names, {
    caller: principal?.credential ?? `ip:${network}`,
    network,
  })
  const shown = states[0]
  if (shown) {
    reply.header('x-ratelimit-limit', deps.config.limits[names[0] ?? 'rest'].max)
    reply.header('x-ratelimit-remaining', shown.remaining)
    reply.header('x-ratelimit-reset', Math.ceil(shown.resetMs / 1000))
  }
  refuseIfFull(deps, names, states)
  if (outcome instanceof ApiError) throw outcome
  if (route && principal) {
    authorize(route, principal)
    request.principal = principal
  }
  return undefined
}

async function identify(edge: EdgeContext, request: FastifyRequest) {
  const { deps } = edge
  if (!deps.database.available) return new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
  const route = request.routeOptions.config.bound?.route
  if (!route || route.audience === 'public') return undefined
  try {
    return await authenticate(edge.authenticators, request.headers, request.ip)
  } catch (error) {
    const refusal = toApiError(error as Error)
    if (refusal.code === 'UNAUTHORIZED') {
      deps.metrics.refusedCredentials.inc({ kind: credentialKind(request.headers) })
    }
    return refusal
  }
}

function setStandardHeaders(edge: EdgeContext, request: FastifyRequest, reply: FastifyReply): void {
  const { config, stopping } = edge.deps
  reply.headers(config.production ? productionHeaders : standardHeaders)
  reply.header('x-request-id', request.id)
  // Keep-alive connections move to another process while this one stops.
  if (stopping.aborted) reply.header('connection', 'close')
  const origin = request.headers.origin
  if (origin !== undefined && config.corsOrigins.includes(origin)) {
    reply.headers({ ...corsHeaders, 'access-control-allow-origin': origin })
  }
}

const standardHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const productionHeaders = {
  ...standardHeaders,
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
}

const corsHeaders = {
  vary: 'origin',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-expose-headers':
    'x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after',
}

function isPreflight(request: FastifyRequest): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
}

function answerPreflight(reply: FastifyReply) {
  return reply
    .code(204)
    .headers({
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'content-type, x-api-key, x-auth-token, authorization, x-workspace-id, idempotency-key, x-request-id',
      'access-control-max-age': '600',
    })
    .send()
}
