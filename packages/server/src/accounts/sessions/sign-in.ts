import * as oidc from 'openid-client'
import type { Identity } from '#accounts/users/users.ts'
import { ApiError } from '#operations/errors.ts'
import type { Deps } from '#platform/deps.ts'
import type { IdentityProviderConfig } from '#platform/identity-settings.ts'
import { hmac, type KeyRing, seal, sealVersion, unseal } from '#platform/secrets.ts'
import { type BrowserSignIn, beginInBrowser, hashOf, type StartQuery } from './browser-sign-in.ts'

/**
 * Sign-in through OpenID Connect, code flow with PKCE. Between the two visits nothing is stored: `state` is a
 * sealed ticket to ourselves, and the PKCE verifier and the nonce are computed from it again with our own key, so
 * any process can finish what another began and nobody can fill a table by starting sign-ins.
 */
export interface SignInTicket {
  provider: string
  redirect: string
  challenge: string | null
  startedAt: number
  salt: string
  /** Of a sign-in that ends in a session of the browser that began it. */
  browser?: BrowserSignIn
}

/** With what the identity provider sends the browser back. */
interface ProviderAnswer {
  readonly state: string
  readonly code?: string
  readonly iss?: string
}

const purpose = 'sign-in'
/** A page that shows the code of a sign-in, for a program on a machine that has no browser. */
export const codePagePath = '/oauth/code'
const ticketValidMs = 10 * 60 * 1000
const providerTimeoutSeconds = 5
/** How far the provider's clock may be behind ours. */
const clockSkewSeconds = 60
/** How long the browser that began is known: as long as a sign-in may take. */
export const markSeconds = ticketValidMs / 1000
export class SignIn {
  readonly #config: Deps['config']
  readonly #discovered = new Map<string, Promise<oidc.Configuration>>()

  constructor(config: Deps['config']) {
    this.#config = config
  }

  get providers(): readonly IdentityProviderConfig[] {
    return this.#config.authProviders
  }

  /**
   * The address at the identity provider to send the browser to. `mark` is what the browser is known by that began it;
   * the one it has already, if any, so that signing in may be begun on two pages of it at once.
   */
  async start(
    query: StartQuery,
    known: string | undefined,
  ): Promise<{ location: string; mark?: string | undefined; browser?: BrowserSignIn | undefined }> {
    const provider = this.#provider(query.provider)
    const { mark, browser } = beginInBrowser(this.#config, query, known)
    const redirect = query.redirect ?? `${this.#config.appUrl}/sign-in`
    if (!mayReturnTo(this.#config, redirect)) {
      throw new ApiError('INVALID_INPUT', { message: 'redirect: not an address this deployment returns to' })
    }
    if (redirect === this.#codePageUrl && query.challenge === undefined) {
      // Somebody may look over the shoulder of who reads it off a page.
      throw new ApiError('INVALID_INPUT', { message: 'challenge: must be there for a code that is typed' })
    }
    const state = seal(this.#config.signingKeys, purpose, {
      provider: provider.id,
      redirect,
      challenge: query.challenge ?? null,
      startedAt: Date.now(),
      salt: oidc.randomState(),
      ...(browser && { browser }),
    } satisfies SignInTicket)
    const configuration = await this.#discover(provider)
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#callbackUrl,
      scope: 'openid email profile',
      state,
      nonce: derived(this.#config.signingKeys, 'nonce', state),
      code_challenge: await oidc.calculatePKCECodeChallenge(derived(this.#config.signingKeys, 'pkce', state)),
      code_challenge_method: 'S256',
      ...(browser?.fresh && { max_age: '0' }),
    })
    return { location: url.href, mark, browser }
  }

  /** Where the person came from; undefined when the ticket is not ours or too old. */
  readTicket(state: string): SignInTicket | undefined {
    const ticket = unseal<SignInTicket>(this.#config.signingKeys, purpose, state)
    return ticket && Date.now() - ticket.startedAt < ticketValidMs ? ticket : undefined
  }

  /** Whether the person reads the code off a page of ours, and types it where they began. */
  isTyped({ redirect }: SignInTicket): boolean {
    return redirect === this.#codePageUrl
  }

  async finish(ticket: SignInTicket, { state, code, iss }: ProviderAnswer): Promise<Identity> {
    const provider = this.#provider(ticket.provider)
    const configuration = await this.#discover(provider)
    const returnedTo = new URL(this.#callbackUrl)
    returnedTo.searchParams.set('state', state)
    if (code !== undefined) returnedTo.searchParams.set('code', code)
    if (iss !== undefined) returnedTo.searchParams.set('iss', iss)
    const tokens = await oidc
      .authorizationCodeGrant(configuration, returnedTo, {
        pkceCodeVerifier: derived(this.#config.signingKeys, 'pkce', state),
        expectedState: state,
        expectedNonce: derived(this.#config.signingKeys, 'nonce', state),
        idTokenExpected: true,
      })
      .catch(refuseSignIn)
    const claims = tokens.claims()
    if (!claims)
      throw new ApiError('UNAUTHORIZED', { message: 'The identity provider did not say who you are' })
    if (ticket.browser?.fresh && !isAfter(claims.auth_time, ticket.startedAt)) {
      throw new ApiError('UNAUTHORIZED', {
        message: 'The identity provider did not ask who you are; sign out there, then sign in again',
        details: { reason: 'SIGN_IN_TOO_OLD' },
      })
    }
    const person = configuration.serverMetadata().userinfo_endpoint
      ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub).catch(refuseSignIn)
      : claims
    return {
      issuer: claims.iss,
      subject: claims.sub,
      email: textOrNull(person['email']),
      emailVerified: person['email_verified'] === true,
      name: textOrNull(person['name']),
    }
  }

  get #codePageUrl(): string {
    return this.#config.publicUrl + codePagePath
  }

  get #callbackUrl(): string {
    return `${this.#config.publicUrl}/api/v1/auth/callback`
  }

  #provider(id: string | undefined): IdentityProviderConfig {
    const found = this.providers.find((provider) => provider.id === (id ?? this.providers[0]?.id))
    if (found) return found
    const known = this.providers.map((provider) => provider.id).join(', ') || 'none is configured'
    throw new ApiError('INVALID_INPUT', { message: `provider: unknown; known are: ${known}` })
  }

  #discover(provider: IdentityProviderConfig): Promise<oidc.Configuration> {
    const known = this.#discovered.get(provider.id)
    if (known) return known
    const issuer = new URL(provider.issuer)
    const found = oidc
      .discovery(issuer, provider.clientId, provider.clientSecret, undefined, {
        timeout: providerTimeoutSeconds,
        ...(issuer.protocol === 'http:' && !this.#config.production
          ? { execute: [oidc.allowInsecureRequests] }
          : {}),
      })
      .catch((error) => {
        // Not remembered: the provider may be back at the next attempt.
        this.#discovered.delete(provider.id)
        throw new ApiError('SERVICE_UNAVAILABLE', { cause: error })
      })
    this.#discovered.set(provider.id, found)
    return found
  }
}

/** By the key that sealed the state, so that a rotation in between does not fail who is signing in. */
function derived(ring: KeyRing, use: string, state: string): string {
  return hmac(ring, sealVersion(state), `${use}.${state}`).toString('base64url')
}

function refuseSignIn(error: unknown): never {
  throw new ApiError('UNAUTHORIZED', { message: 'The identity provider refused this sign-in', cause: error })
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** The app, addresses the operator named, and programs on the person's own machine. */
function mayReturnTo(
  config: Pick<Deps['config'], 'appUrl' | 'publicUrl' | 'authRedirects'>,
  redirect: string,
): boolean {
  if (!URL.canParse(redirect)) return false
  const url = new URL(redirect)
  if (url.username !== '' || url.password !== '') return false
  if (config.authRedirects.includes(redirect)) return true
  if (url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)) return true
  if (url.origin === new URL(config.publicUrl).origin && !isOnePlace(config, redirect)) return false
  return url.origin === new URL(config.appUrl).origin || url.origin === new URL(config.publicUrl).origin
}

/** The page that shows codes is known by its address; written otherwise it would be shown without what it needs. */
function isOnePlace({ publicUrl }: Pick<Deps['config'], 'publicUrl'>, redirect: string): boolean {
  const path = new URL(redirect).pathname
  if (redirect === publicUrl + codePagePath) return true
  try {
    return !decodeURIComponent(path).toLowerCase().startsWith(codePagePath)
  } catch {
    return false
  }
}

/** Whether the app that exchanges the code is the one that began the sign-in. */
export function matchesChallenge(challenge: string | null, verifier: string | undefined): boolean {
  // A code that nobody began with a secret is not that of a program which has one: somebody slipped it in.
  if (challenge === null) return verifier === undefined
  return hashOf(verifier ?? '') === challenge
}

function isAfter(authenticatedAt: number | undefined, startedAtMs: number): boolean {
  return authenticatedAt !== undefined && authenticatedAt >= startedAtMs / 1000 - clockSkewSeconds
}
