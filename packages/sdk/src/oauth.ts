/** OAuth 2.1 for apps that act for a person: authorization code with PKCE, always. */

import { errorOf } from './error-reader.ts'
import { type ApiError, ConfigurationError, ConnectionError, GuildhallError } from './errors.ts'
import { textOf } from './exchange.ts'
import type { Credential } from './options.ts'
import { base64url, challengeOf, randomVerifier } from './pkce.ts'

/** The app, and where it is registered. */
export interface OAuthApp {
  readonly baseUrl: string
  readonly clientId: string
  /** Of apps that can keep one. */
  readonly clientSecret?: string | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** What an app keeps while the person decides. `verifier` is a secret. */
export interface Authorization {
  /** To be opened in the person's browser. */
  readonly url: string
  readonly state: string
  readonly verifier: string
}

/** What an app acts with. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly expiresAt: Date
  readonly scope: string | undefined
}

interface Endpoints {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly revocation_endpoint?: string
}

/** Where to send the person. The redirect address must be registered letter for letter, its port too. */
export async function begin(
  app: OAuthApp & { readonly redirectUri: string; readonly scope: string },
): Promise<Authorization> {
  const { authorization_endpoint: address } = await endpointsOf(app)
  const verifier = randomVerifier()
  const state = randomVerifier()
  const url = new URL(address)
  const query = {
    response_type: 'code',
    client_id: app.clientId,
    redirect_uri: app.redirectUri,
    scope: app.scope,
    state,
    code_challenge: await challengeOf(verifier),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return { url: url.href, state, verifier }
}

/** Turns what the person's browser came back with into tokens. */
export async function finish(
  app: OAuthApp & {
    readonly redirectUri: string
    /** The address that the browser was sent to. */
    readonly callbackUrl: string
    readonly state: string
    readonly verifier: string
  },
): Promise<Tokens> {
  const { issuer } = await endpointsOf(app)
  const back = new URL(app.callbackUrl).searchParams
  if (back.get('state') !== app.state)
    throw new GuildhallError('This answer belongs to another sign-in: begin again')
  const iss = back.get('iss')
  if (iss !== null && iss !== issuer)
    throw new GuildhallError('This answer comes from another server: begin again')
  const refused = back.get('error')
  if (refused) throw new GuildhallError(`Not allowed: ${back.get('error_description') ?? refused}`)
  return tokensOf(app, {
    grant_type: 'authorization_code',
    code: back.get('code') ?? '',
    redirect_uri: app.redirectUri,
    code_verifier: app.verifier,
  })
}

/** New tokens for old. The refresh token changes too: keep the new one. */
export function refresh(app: OAuthApp, refreshToken: string): Promise<Tokens> {
  return tokensOf(app, { grant_type: 'refresh_token', refresh_token: refreshToken })
}

/** Ends a token, and all that came from it. */
export async function revoke(app: OAuthApp, token: string): Promise<void> {
  const { revocation_endpoint: address } = await endpointsOf(app)
  if (!address) throw new ConfigurationError('This server cannot revoke tokens')
  await post(app, address, { token })
}

/**
 * A `credential` for clients that is refreshed a minute early, once for all calls at a time. Tokens are saved before
 * they are used: the old refresh token is worth nothing any more. Two clocks are asked, because a person may set the
 * one back, and the other may stand still while the computer sleeps.
 */
export function tokenSource(
  app: OAuthApp,
  given: Tokens,
  save: (tokens: Tokens) => void | Promise<void>,
): () => Promise<Credential> {
  let tokens = given
  let until = endOf(given)
  let renewal: Promise<void> | undefined
  const renew = async (refreshToken: string) => {
    const renewed = await refresh(app, refreshToken)
    tokens = { ...renewed, refreshToken: renewed.refreshToken ?? refreshToken }
    until = endOf(tokens)
    await save(tokens)
  }
  return async () => {
    const leftMs = Math.min(leftOf(tokens), until - performance.now())
    if (tokens.refreshToken && leftMs < 60_000) {
      renewal ??= renew(tokens.refreshToken).finally(() => {
        renewal = undefined
      })
      await renewal
    }
    return { accessToken: tokens.accessToken }
  }
}

const leftOf = ({ expiresAt }: Tokens) => expiresAt.getTime() - Date.now()
const endOf = (tokens: Tokens) => performance.now() + leftOf(tokens)

const known = new Map<string, Promise<Endpoints>>()

function endpointsOf(app: OAuthApp): Promise<Endpoints> {
  const base = app.baseUrl.endsWith('/') ? app.baseUrl.slice(0, -1) : app.baseUrl
  const found = known.get(base)
  if (found) return found
  const asked = read(app, `${base}/.well-known/oauth-authorization-server`, {}).then((said) => {
    const endpoints = said as Endpoints
    // A server that gives itself out for another would be sent what the other has granted.
    if (endpoints.issuer !== base)
      throw new ConfigurationError(`The server at ${base} calls itself ${endpoints.issuer}`)
    return endpoints
  })
  known.set(base, asked)
  asked.catch(() => known.delete(base))
  return asked
}

async function tokensOf(app: OAuthApp, fields: Record<string, string>): Promise<Tokens> {
  const { token_endpoint: address } = await endpointsOf(app)
  const answer = (await post(app, address, fields)) as {
    readonly access_token: string
    readonly refresh_token?: string
    readonly expires_in?: number
    readonly scope?: string
  }
  return {
    accessToken: answer.access_token,
    refreshToken: answer.refresh_token,
    expiresAt: new Date(Date.now() + (answer.expires_in ?? 3600) * 1000),
    scope: answer.scope,
  }
}

function post(app: OAuthApp, address: string, fields: Record<string, string>): Promise<unknown> {
  // The server names its own addresses; a secret goes to none of another origin.
  if (new URL(address).origin !== new URL(app.baseUrl).origin) {
    throw new ConfigurationError(`The server names an address elsewhere: ${new URL(address).origin}`)
  }
  const { clientId, clientSecret } = app
  const encode = encodeURIComponent
  const basic =
    clientSecret && base64url(new TextEncoder().encode(`${encode(clientId)}:${encode(clientSecret)}`), false)
  return read(app, address, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(basic && { authorization: `Basic ${basic}` }),
    },
    body: new URLSearchParams({ ...fields, ...(!basic && { client_id: clientId }) }).toString(),
  })
}

async function read(
  { fetch = globalThis.fetch }: OAuthApp,
  url: string,
  init: RequestInit,
): Promise<unknown> {
  const operation = new URL(url).pathname
  const answered = fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(60_000) })
  const response = await answered.catch(() => {
    throw new ConnectionError(`${operation}: the connection broke`, 'unknown')
  })
  const { status, headers } = response
  const text = await textOf(response).catch(() => {
    throw new ConnectionError(`${operation}: the connection broke`, 'unknown')
  })
  const refusal = (): ApiError => errorOf({ status, headers, text, operation })
  if (!response.ok) throw refusal()
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    throw refusal()
  }
}
