import { createHash } from 'node:crypto'
import { describeScope, type LimitName, type Route } from '@guildhall/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { Access } from '../operations/access.ts'
import { authorize } from '../operations/authorize.ts'
import { ApiError } from '../operations/errors.ts'
import type { ExactRequest, Grants } from '../operations/grants.ts'
import { countRequest, refuseIfFull } from '../operations/limits.ts'
import type { Principal } from '../operations/principal.ts'
import { type Authenticators, actInWorkspace, authenticate, credentialKind } from './authenticate.ts'
import { setWindowHeaders, toApiError } from './error-handler.ts'
import { noNul } from './json-body.ts'
import type { RawRoute } from './raw-route.ts'

export interface EdgeContext {
  readonly deps: Deps
  readonly authenticators: Authenticators
  readonly grants: Grants
}

const unknownRouteLimits = ['rest'] as const
const refusedLimits = ['refused'] as const

/**
 * What every request passes before its body is read: who is it, has the caller's window room, may it do this.
 * A credential that is refused is still counted, against its address, so that the refusal carries a window too and
 * guessing is limited. `route` is undefined for a path that is none of ours; `own` is what a raw route says of itself.
 */
export async function admit(
  edge: EdgeContext,
  route: Route | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  own: Pick<RawRoute, 'limits' | 'bearerOf'> = {},
): Promise<FastifyReply | undefined> {
  setStandardHeaders(edge, request, reply)
  if (isPreflight(request)) return answerPreflight(reply)
  const { deps } = edge
  const limits = own.limits ?? route?.limits ?? unknownRouteLimits
  if (limits.length === 0) return undefined
  const outcome = await identify(edge, route, request, own)
  const refused = outcome instanceof ApiError
  const names = refused ? refusedLimits : limits.filter((name) => !isPersons(edge, name))
  const counted = {
    caller: refused ? undefined : outcome.credential,
    userId: refused ? undefined : outcome.userId,
    address: request.ip,
  }
  const states = await countRequest(deps, names, counted)
  const [shown] = names
  if (shown && states[0]) {
    const { remaining, resetMs } = states[0]
    const limit = deps.config.limits[shown].max
    setWindowHeaders(reply, { limit, remaining, resetSeconds: Math.ceil(resetMs / 1000) })
  }
  refuseIfFull(deps, names, states)
  if (outcome instanceof ApiError) throw outcome
  if (request.url.includes('%00')) throw new ApiError('INVALID_INPUT', { message: noNul })
  if (route && outcome.principal) {
    request.principal = await actInWorkspace(edge.authenticators, outcome.principal, request.headers)
    const needed = neededScopes(route, request.params as Readonly<Record<string, string>>)
    request.access = new Access(edge.grants, request.principal, exactRequest(route, request))
    await authorize(route, needed, request.principal, request.access)
  }
  const shared = limits.filter((name) => isPersons(edge, name))
  if (shared.length > 0) refuseIfFull(deps, shared, await countRequest(deps, shared, counted))
  return undefined
}

/**
 * A window of all that a person has is counted last: a credential that may not do the thing would otherwise keep the
 * others from doing it.
 */
function isPersons({ deps }: EdgeContext, name: LimitName): boolean {
  return deps.config.limits[name].per === 'user'
}

/** `{name}` stands for a parameter of the path: the right to run one skill is the right to run that skill. */
function neededScopes(route: Route, params: Readonly<Record<string, string>>): string[] {
  return (route.scopes ?? []).map((scope) => {
    const named = scope.replace(/\{(\w+)\}/g, (_text, name) => params[name] ?? '')
    return describeScope(named) ? named : scope.replace(/:\{\w+\}/g, '')
  })
}

function exactRequest(route: Route, request: FastifyRequest): ExactRequest {
  const key = request.headers['idempotency-key']
  return {
    method: request.method,
    path: request.url,
    bodySha256: () => (request.bodyHash ?? createHash('sha256')).copy().digest('hex'),
    repeatKey: route.creates && typeof key === 'string' ? key : undefined,
  }
}

/** Whose windows a request counts in; nobody's on public routes. */
interface Caller {
  readonly credential?: string
  readonly userId?: string
  readonly principal?: Principal
}

async function identify(
  edge: EdgeContext,
  route: Route | undefined,
  request: FastifyRequest,
  { bearerOf }: Pick<RawRoute, 'bearerOf'>,
): Promise<Caller | ApiError> {
  const { deps } = edge
  if (!deps.database.available) return new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
  try {
    if (bearerOf) {
      const bearer = bearerOf(addressOf(request))
      request.bearer = bearer
      const { kind, credentialId, userId } = bearer
      return { credential: `${kind}:${credentialId}`, userId }
    }
    if (!route || route.audience === 'public') return {}
    const principal = await authenticate(edge.authenticators, request.headers, request.ip)
    return { credential: principal.credential, userId: principal.userId, principal }
  } catch (error) {
    const refusal = toApiError(error as Error)
    if (refusal.code === 'UNAUTHORIZED') {
      deps.metrics.refusedCredentials.inc({ kind: credentialKind(request.headers) })
    }
    return refusal
  }
}

export function addressOf(request: FastifyRequest) {
  const [, query = ''] = request.url.split('?')
  return { params: request.params as Record<string, string>, query: new URLSearchParams(query) }
}

function setStandardHeaders(edge: EdgeContext, request: FastifyRequest, reply: FastifyReply): void {
  const { config, stopping } = edge.deps
  const headers = config.production ? productionHeaders : standardHeaders
  for (const [name, value] of headers) reply.header(name, value)
  reply.header('x-request-id', request.id)
  // Keep-alive connections move to another process while this one stops.
  if (stopping.aborted) reply.header('connection', 'close')
  const origin = request.headers.origin
  if (origin !== undefined && config.corsOrigins.includes(origin)) {
    reply.headers({ ...corsHeaders, 'access-control-allow-origin': origin })
  }
}

const standardHeaders = Object.entries({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
})

const productionHeaders = [
  ...standardHeaders,
  ['strict-transport-security', 'max-age=31536000; includeSubDomains'] as const,
]

const corsHeaders = {
  vary: 'origin',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-expose-headers':
    'x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-ignored-fields, retry-after',
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
        'content-type, x-api-key, x-auth-token, authorization, x-workspace-id, x-client-label, idempotency-key, x-request-id, last-event-id',
      'access-control-max-age': '600',
    })
    .send()
}
