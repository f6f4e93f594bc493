import type { IncomingHttpHeaders } from 'node:http'
import type { Route } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import { type Bearer, verifyTicket } from '#operations/signed-url.ts'
import type { Config } from '#platform/config.ts'
import { sameSecret } from '#platform/secrets.ts'
import { bearerToken } from './authenticate.ts'

/** Metrics are open where no token is set, for a scraper next door; what changes something is not there then. */
export function requireOperator(
  { operatorToken, metricsToken }: Pick<Config, 'operatorToken' | 'metricsToken'>,
  route: Pick<Route, 'operatorToken'>,
  headers: IncomingHttpHeaders,
): void {
  const isMetrics = route.operatorToken === 'metrics'
  const token = isMetrics ? metricsToken : operatorToken
  if (token === undefined) {
    if (isMetrics) return
    throw new ApiError('NOT_FOUND')
  }
  if (sameSecret(bearerToken(headers), token)) return
  throw new ApiError('UNAUTHORIZED', {
    message: `Send the ${route.operatorToken} token as a bearer token`,
  })
}

/** Whom a signed address speaks for. Read from the address alone: nothing else a client sends adds to it. */
export function requireSignature(
  { signingKeys }: Pick<Config, 'signingKeys'>,
  { signedFor = '' }: Pick<Route, 'signedFor'>,
  address: { readonly params: Readonly<Record<string, string>>; readonly query: URLSearchParams },
): Bearer {
  const purpose = signedFor.replace(/\{(\w+)\}/g, (_text, name) => address.params[name] ?? '')
  const ticket = verifyTicket(signingKeys, purpose, address.query.get('token') ?? '', Date.now())
  if (ticket) return ticket
  throw new ApiError('UNAUTHORIZED', {
    message: 'This address is unknown or too old; get a new one from stream-token',
  })
}
