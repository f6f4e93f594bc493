import type { Route } from '@guildhall/contract'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { admit } from '#operations/admit.ts'
import { admittedForMs } from '#operations/believed.ts'
import { ApiError } from '#operations/errors.ts'
import type { ExactRequest, Grants } from '#operations/grants.ts'
import { refuseUnlessUsed } from '#operations/idempotency/idempotency.ts'
import { noNul } from '#operations/json-values.ts'
import { countRequest, refuseIfFull, splitLimits } from '#operations/limits.ts'
import type { Principal } from '#operations/principal.ts'
import type { Bearer } from '#operations/signed-url.ts'
import type { Deps } from '#platform/deps.ts'
import {
  type Authenticators,
  actInWorkspace,
  authenticate,
  credentialKind,
  keyFromBearer,
  keyWithMore,
  requireAudience,
} from './authenticate.ts'
import { headerText } from './client-of.ts'
import { tokenOfPage } from './cookies.ts'
import { fromFramework, setWindowHeaders } from './error-handler.ts'
import { answerPreflight, isPreflight, setStandardHeaders } from './headers.ts'
import type { InTurn } from './in-turn.ts'
import { requireOperator, requireSignature } from './tokens.ts'

export interface EdgeContext {
  readonly deps: Deps
  readonly authenticators: Authenticators
  readonly grants: Grants
  readonly inTurn: InTurn
  /** Of the app's pages, where they are served by this service; undefined where no cookie can count. */
  readonly appOrigin: string | undefined
}

/** What must be known of a route to let somebody in; a protocol's own address is nobody's in particular. */
export type Entry = Route | (Pick<Route, 'limits' | 'weight'> & { readonly audience: 'public' })

const unknownRouteLimits = ['rest'] as const
const refusedLimits = ['refused'] as const
/** A body that did not come with its head. Who keeps one on its way must gain nothing by it. */
export const bodyOnItsWayMs = 100

/**
 * What every request passes before its body is read: who is it, has the caller's window room, may it do this.
 * A credential that is refused is still counted, against its address, so that the refusal carries a window too and
 * guessing is limited. `route` is undefined for a path that is none of ours.
 */
export async function enter(
  edge: EdgeContext,
  route: Entry | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  setStandardHeaders(edge.deps, request, reply)
  if (isPreflight(request)) {
    await count(edge.deps, ['preflight'], {}, request, reply)
    return answerPreflight(reply)
  }
  const limits = route?.limits ?? unknownRouteLimits
  if (limits.length === 0 && route?.audience !== 'operator') return undefined
  request.admittedAt = performance.now()
  const outcome = await identify(edge, route, request)
  const refused = outcome instanceof ApiError
  const { own, persons } = splitLimits(edge.deps, limits)
  await count(edge.deps, refused ? refusedLimits : own, refused ? {} : outcome, request, reply)
  if (refused) throw outcome
  if (request.url.includes('%00')) throw new ApiError('INVALID_INPUT', { message: noNul })
  request.bearer = outcome.bearer
  if (outcome.principal) {
    await admitCaller(edge, route as Route, outcome.principal, request).catch(async (error: unknown) => {
      const { principal = outcome.principal as Principal, headers } = request
      const asked = { route: route as Route, principal, key: headerText(headers['idempotency-key']) }
      request.repeatsOnly = await refuseUnlessUsed(edge, asked, error)
    })
  }
  if (persons.length > 0)
    refuseIfFull(edge.deps, persons, await countRequest(edge.deps, persons, countedAs(outcome, request)))
  return undefined
}

/** How the requests of a route come in; what counts for nobody waits for nobody. */
export const entrance = (edge: EdgeContext, route: Entry): onRequestHookHandler[] => [
  (request, reply) => enter(edge, route, request, reply),
  ...(route.limits.length > 0 ? [edge.inTurn] : []),
]

/**
 * Asks again who it is and what they may do, when that was asked a while ago: a body can take minutes to arrive, a process
 * can stand still, and what ended meanwhile must bring nothing about any more. Nearly always there is nothing to wait for.
 */
export function confirm(
  edge: EdgeContext,
  route: Route,
  request: FastifyRequest,
  believedForMs = admittedForMs,
): Promise<void> | undefined {
  if (performance.now() - request.admittedAt <= believedForMs) return undefined
  request.admittedAt = performance.now()
  return admitAgain(edge, route, request)
}

async function admitAgain(edge: EdgeContext, route: Route, request: FastifyRequest): Promise<void> {
  const outcome = await identify(edge, route, request)
  if (outcome instanceof ApiError) throw outcome
  // Nothing will be done for who may only be told again what it was told.
  if (outcome.principal && !request.repeatsOnly) await admitCaller(edge, route, outcome.principal, request)
}

async function admitCaller(
  edge: EdgeContext,
  route: Route,
  authenticated: Principal,
  request: FastifyRequest,
): Promise<void> {
  const { authenticators, grants } = edge
  const { headers, ip } = request
  const params = request.params as Readonly<Record<string, string>>
  const admitAs = async (principal: Principal) => {
    request.principal = principal
    const { access } = request
    const asked = exactRequest(route, request)
    return admit(grants, route, { principal, via: 'http', params, request: asked, access })
  }
  const believed = await actInWorkspace(authenticators, authenticated, headers)
  request.access = await admitAs(believed).catch(async (error) => {
    if (!(error instanceof ApiError) || error.code !== 'FORBIDDEN') throw error
    const more = await keyWithMore(authenticators, believed, headers, ip)
    if (!more) throw error
    return admitAs(more)
  })
}

async function count(
  deps: Deps,
  names: Route['limits'],
  caller: Caller,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const [shown] = names
  if (!shown) return
  const states = await countRequest(deps, names, countedAs(caller, request))
  if (states[0]) {
    const { remaining, resetMs } = states[0]
    const limit = deps.config.limits[shown].max
    setWindowHeaders(reply, { limit, remaining, resetSeconds: Math.ceil(resetMs / 1000) })
  }
  refuseIfFull(deps, names, states)
}

function countedAs({ credential, userId }: Caller, request: FastifyRequest) {
  return { caller: credential, userId, address: request.ip }
}

function exactRequest(route: Route, request: FastifyRequest): ExactRequest {
  const key = request.headers['idempotency-key']
  return {
    method: request.method,
    path: request.url,
    bodySha256: () => request.bodyHash?.copy().digest('hex'),
    repeatKey: route.creates && typeof key === 'string' ? key : undefined,
  }
}

/** Whose windows a request counts in; nobody's on public routes. */
interface Caller {
  readonly credential?: string
  readonly userId?: string
  readonly principal?: Principal
  readonly bearer?: Bearer
}

async function identify(
  { deps, authenticators, appOrigin }: EdgeContext,
  route: Entry | undefined,
  request: FastifyRequest,
): Promise<Caller | ApiError> {
  try {
    // What has no windows (metrics) needs no database either, and is wanted most while it is away.
    if (!deps.database.available && route?.limits.length !== 0)
      return new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
    if (route?.audience === 'operator') {
      requireOperator(deps.config, route, request.headers)
      return {}
    }
    if (!route || route.audience === 'public') return {}
    if (route.audience === 'signed') {
      const bearer = requireSignature(deps.config, route, addressOf(request))
      return { credential: `${bearer.kind}:${bearer.credentialId}`, userId: bearer.userId, bearer }
    }
    const headers = route.door ? keyFromBearer(request.headers) : request.headers
    // Doors for agents and protocols know no cookie.
    const isOperation = request.routeOptions.config.operation !== undefined
    const ofPage = isOperation ? tokenOfPage(appOrigin, request.method, headers) : undefined
    const principal = await authenticate(authenticators, headers, request.ip, ofPage)
    requireAudience(route, principal)
    return { credential: principal.credential, userId: principal.userId, principal }
  } catch (error) {
    const refusal = fromFramework(error as Error, request)
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
