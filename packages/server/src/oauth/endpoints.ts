import { IncomingMessage } from 'node:http'
import { oauthScopes } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import type { RawAnswer, RawCall, RawRoute } from '../http/raw-route.ts'
import { ApiError } from '../operations/errors.ts'
import type { Config } from '../platform/config.ts'
import { isWellFormedSecret, mintSecret } from '../platform/secrets.ts'
import type { OAuthCheck } from './check.ts'
import { interactionRoutes } from './interaction.ts'
import { errorPage } from './pages.ts'
import { createProvider, oauthPaths } from './provider.ts'

/** Every address of the authorization server. */
export function authorizationServer(deps: Deps, check: OAuthCheck): RawRoute[] {
  const { config } = deps
  const provider = createProvider(deps, check)
  const answer = provider.callback()
  const pass = async (call: RawCall, form?: string) => {
    await answer(readdress(call.request, config.publicUrl, form), call.response)
  }
  const page = { describeRefusal: (refusal: ApiError) => errorPage(refusal.message) }
  const endpoint = { describeRefusal: protocolError, limits: ['token'] as const }
  return [
    {
      ...page,
      name: 'oauthAuthorize',
      method: 'GET',
      path: oauthPaths.authorize,
      handle: async (call) => {
        // The library answers it with a page that needs a script, even to refuse it; pages here run none.
        if (call.query.get('response_mode') === 'form_post') {
          throw new ApiError('INVALID_INPUT', { message: 'response_mode: query or fragment' })
        }
        await pass(call)
      },
    },
    {
      ...page,
      name: 'oauthResume',
      method: 'GET',
      path: `${oauthPaths.authorize}/:uid`,
      handle: (call) => pass(call),
    },
    {
      ...endpoint,
      name: 'oauthToken',
      method: 'POST',
      path: oauthPaths.token,
      handle: (call) => pass(call, toForm(call.body).toString()),
    },
    {
      ...endpoint,
      name: 'oauthRevoke',
      method: 'POST',
      path: oauthPaths.revoke,
      handle: (call) => pass(call, hideForeignToken(toForm(call.body)).toString()),
    },
    ...interactionRoutes(deps, provider),
    metadataRoute('oauthServerMetadata', 'oauth-authorization-server', serverMetadata(config)),
    metadataRoute('oauthResourceMetadata', 'oauth-protected-resource', resourceMetadata(config)),
  ]
}

/** RFC 8414. */
function serverMetadata({ publicUrl }: Config) {
  const authMethods = ['client_secret_basic', 'client_secret_post', 'none']
  return {
    issuer: publicUrl,
    authorization_endpoint: publicUrl + oauthPaths.authorize,
    token_endpoint: publicUrl + oauthPaths.token,
    revocation_endpoint: publicUrl + oauthPaths.revoke,
    scopes_supported: oauthScopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'fragment'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_methods_supported: authMethods,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  }
}

/** RFC 9728. */
function resourceMetadata({ publicUrl }: Config) {
  return {
    resource: publicUrl,
    authorization_servers: [publicUrl],
    scopes_supported: oauthScopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Guildhall',
  }
}

function metadataRoute(name: string, file: string, document: object): RawRoute {
  const body = JSON.stringify(document)
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
  }
  return {
    name,
    method: 'GET',
    path: `/.well-known/${file}`,
    describeRefusal: protocolError,
    handle: async ({ response }) => void response.writeHead(200, headers).end(body),
  }
}

function protocolError({ code, status, message }: ApiError): RawAnswer {
  const away = status === 503 || code === 'RATE_LIMITED'
  const error = away ? 'temporarily_unavailable' : status >= 500 ? 'server_error' : 'invalid_request'
  return {
    type: 'application/json; charset=utf-8',
    body: JSON.stringify({ error, error_description: message }),
  }
}

/** The fields of a form, or of a JSON object in which every value is text. */
function toForm(body: unknown): URLSearchParams {
  if (body instanceof URLSearchParams) return body
  const form = new URLSearchParams()
  if (body === undefined) return form
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ApiError('INVALID_INPUT', { message: 'The body must be an object' })
  }
  for (const [name, value] of Object.entries(body)) {
    if (typeof value !== 'string') throw new ApiError('INVALID_INPUT', { message: `${name}: must be text` })
    form.append(name, value)
  }
  return form
}

/** Some foreign tokens get an error from the library; as one that never was, each of them is answered alike. */
function hideForeignToken(form: URLSearchParams): URLSearchParams {
  const token = form.get('token')
  if (!token || isWellFormedSecret('oauthAccess', token) || isWellFormedSecret('oauthRefresh', token)) {
    return form
  }
  const hidden = new URLSearchParams(form)
  hidden.set('token', mintSecret('oauthAccess'))
  return hidden
}

/**
 * The request as the library shall see it: at our public address, whatever host it came to, so that no header of a
 * client's makes its way into an address we send a browser to; and with its body, which was read before, as a form.
 */
function readdress(request: IncomingMessage, publicUrl: string, form?: string): IncomingMessage {
  const { host, protocol } = new URL(publicUrl)
  const copy = new IncomingMessage(request.socket)
  copy.method = request.method ?? 'GET'
  copy.url = request.url ?? '/'
  copy.headers = { ...request.headers, host, 'x-forwarded-proto': protocol.slice(0, -1) }
  for (const name of [
    'x-forwarded-host',
    'x-forwarded-for',
    'transfer-encoding',
    'content-length',
    'content-type',
  ]) {
    delete copy.headers[name]
  }
  if (form !== undefined) {
    copy.headers['content-type'] = 'application/x-www-form-urlencoded'
    copy.headers['content-length'] = String(Buffer.byteLength(form))
    copy.push(form)
  }
  copy.push(null)
  // Or the end of this copy would be taken for a broken connection.
  copy.complete = true
  return copy
}
