import { ApiError } from '#operations/errors.ts'
import type { Deps } from '#platform/deps.ts'
import type { RawCall, RawRoute } from '#transports/http/raw-route.ts'
import { newClientId } from './client-id.ts'
import { nameProblem } from './client-name.ts'
import * as clientStore from './client-store.ts'
import { protocolError, writeError } from './protocol-error.ts'
import { oauthPaths } from './provider.ts'
import { redirectUriProblem } from './redirect-uri.ts'

const mostRedirects = 10
const longestRedirect = 2000

class RegistrationProblem extends ApiError {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata'

  constructor(error: RegistrationProblem['error'], message: string) {
    super('INVALID_INPUT', { message })
    this.error = error
  }
}

/**
 * RFC 7591, for apps that keep no secret. Anybody can be there as anything, so that what is taken is little, and what a
 * person is shown later says so.
 */
export function registrationRoute(deps: Deps): RawRoute {
  return {
    name: 'oauthRegister',
    method: 'POST',
    path: oauthPaths.register,
    limits: ['registration'],
    describeRefusal: (refusal) =>
      refusal instanceof RegistrationProblem
        ? writeError(refusal.error, refusal.message)
        : protocolError(refusal),
    handle: (call) => register(deps, call),
  }
}

async function register({ database }: Deps, { body, response }: RawCall): Promise<void> {
  const { name, redirectUris } = readMetadata(body)
  const { id, created_at } = await clientStore.insertRegistered(database.db, {
    id: newClientId('self'),
    name,
    redirect_uris: redirectUris,
  })
  const registered = {
    client_id: id,
    client_id_issued_at: Math.floor(Date.parse(created_at) / 1000),
    client_name: name,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }
  response.writeHead(201, headers).end(JSON.stringify(registered))
}

/** What is known here of what was sent; the rest is not kept, and the answer tells what holds. */
function readMetadata(body: unknown): { name: string; redirectUris: string[] } {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || body instanceof URLSearchParams)
    throw invalid('The body must be a JSON object')
  const given = body as Readonly<Record<string, unknown>>
  const redirectUris = readRedirects(given['redirect_uris'])
  const { token_endpoint_auth_method: method = 'none' } = given
  if (method !== 'none')
    throw invalid('token_endpoint_auth_method: must be none; an app with a secret is registered by a person')
  const { client_name: name = placeOf(redirectUris[0] ?? '') } = given
  if (typeof name !== 'string') throw invalid('client_name: must be text')
  const problem = nameProblem(name)
  if (problem !== undefined) throw invalid(`client_name: ${problem}`)
  for (const [field, needed] of [
    ['grant_types', 'authorization_code'],
    ['response_types', 'code'],
  ] as const) {
    const asked = given[field] ?? [needed]
    if (!Array.isArray(asked) || !asked.includes(needed)) throw invalid(`${field}: must have ${needed}`)
  }
  return { name: name.trim(), redirectUris }
}

function readRedirects(given: unknown): string[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > mostRedirects)
    throw badRedirect(`redirect_uris: must have 1 to ${mostRedirects} addresses`)
  for (const [index, uri] of given.entries()) {
    const isShort = typeof uri === 'string' && uri.length <= longestRedirect
    const problem = isShort
      ? redirectUriProblem(uri)
      : `must be text of at most ${longestRedirect} characters`
    if (problem !== undefined) throw badRedirect(`redirect_uris.${index}: ${problem}`)
  }
  return [...new Set<string>(given)]
}

function placeOf(uri: string): string {
  const { host, protocol } = new URL(uri)
  return (host || protocol).slice(0, 80)
}

const invalid = (message: string) => new RegistrationProblem('invalid_client_metadata', message)
const badRedirect = (message: string) => new RegistrationProblem('invalid_redirect_uri', message)
