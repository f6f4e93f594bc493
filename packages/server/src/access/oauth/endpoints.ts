import { IncomingMessage } from 'node:http'
import { oauthScopes } from '@guildhall/contract'
import { codePagePath } from '#accounts/sessions/sessions.ts'
import { ApiError } from '#operations/errors.ts'
import type { Config } from '#platform/config.ts'
import type { Deps } from '#platform/deps.ts'
import { isWellFormedSecret, mintSecret } from '#platform/secrets.ts'
import type { RawCall, RawRoute } from '#transports/http/raw-route.ts'
import type { OAuthCheck } from './check.ts'
import { askerHeader } from './documents.ts'
import { interactionRoutes } from './interaction.ts'
import { codePage, errorPage } from './pages.ts'
import { protocolError } from './protocol-error.ts'
import { createProvider, oauthPaths } from './provider.ts'
import { registrationRoute } from './registration.ts'
import { resourcePaths } from './resources.ts'

/** Every address of the authorization server. */
export function authorizationServer(deps: Deps, check: OAuthCheck): RawRoute[] {
  const { config } = deps
  const provider = createProvider(deps, check)
  const answer = provider.callback()
  const pass = async (call: RawCall, form?: string) => {
    await answer(readdress(call, config.publicUrl, form), call.response)
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
    ...(config.oauthRegistration ? [registrationRoute(deps)] : []),
    ...interactionRoutes(deps, provider),
    { ...page, name: 'signInCode', method: 'GET', path: codePagePath, handle: showCode },
    metadataRoute('oauthServerMetadata', 'oauth-authorization-server', serverMetadata(config)),
    ...resourcePaths.map((path) =>
      metadataRoute(
        'oauthResourceMetadata',
        `oauth-protected-resource${path}`,
        resourceMetadata(config, path),
      ),
    ),
  ]
}

/** Shows nothing but codes of ours: no page here says what somebody else wants said. */
async function showCode({ query, response }: RawCall): Promise<void> {
  const code = query.get('code') ?? ''
  if (!isWellFormedSecret('signIn', code)) {
    throw new ApiError('INVALID_INPUT', { message: 'The sign-in did not work or was canceled.' })
  }
  const { type, body, headers } = codePage(code)
  response.writeHead(200, { ...headers, 'content-type': type }).end(body)
}

/** RFC 8414. */
function serverMetadata({ publicUrl, oauthRegistration }: Config) {
  const authMethods = ['client_secret_basic', 'client_secret_post', 'none']
  return {
    issuer: publicUrl,
    authorization_endpoint: publicUrl + oauthPaths.authorize,
    token_endpoint: publicUrl + oauthPaths.token,
    revocation_endpoint: publicUrl + oauthPaths.revoke,
    ...(oauthRegistration && { registration_endpoint: publicUrl + oauthPaths.register }),
    scopes_supported: oauthScopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'fragment'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_methods_supported: authMethods,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  }
}

/** RFC 9728. A door names what nearly every client wants; what one call needs beside it, its refusal names. */
function resourceMetadata({ publicUrl }: Config, path: string) {
  return {
    resource: publicUrl + path,
    authorization_servers: [publicUrl],
    scopes_supported: path === '' ? oauthScopes : ['read', 'write'],
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
function readdress({ request, client }: RawCall, publicUrl: string, form?: string): IncomingMessage {
  const { host, protocol } = new URL(publicUrl)
  const copy = new IncomingMessage(request.socket)
  copy.method = request.method ?? 'GET'
  copy.url = request.url ?? '/'
  copy.headers = {
    ...request.headers,
    host,
    'x-forwarded-proto': protocol.slice(0, -1),
    [askerHeader]: client.address,
  }
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
