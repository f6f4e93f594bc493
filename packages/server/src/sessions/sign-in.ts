import { createHash } from 'node:crypto'
import * as oidc from 'openid-client'
import type { Deps } from '../deps.ts'
import { ApiError } from '../operations/errors.ts'
import type { IdentityProviderConfig } from '../platform/config.ts'
import { hmac, type KeyRing, seal, sealVersion, unseal } from '../platform/secrets.ts'
import type { Identity } from '../users/users.ts'

/**
 * Sign-in through OpenID Connect, code flow with PKCE. Between the two visits nothing is stored: `state` is a
 * sealed note to ourselves, and the PKCE verifier and the nonce are computed from it again with our own key, so
 * any process can finish what another began and nobody can fill a table by starting sign-ins.
 */
interface SignInNote {
  provider: string
  redirect: string
  challenge: string | null
  startedAt: number
  salt: string
}

/** With what the identity provider sends the browser back. */
interface ProviderAnswer {
  readonly state: string
  readonly code?: string
  readonly iss?: string
}

const purpose = 'sign-in'
const noteValidMs = 10 * 60 * 1000
const providerTimeoutSeconds = 5

export class SignIn {
  readonly #config: Deps['config']
  readonly #discovered = new Map<string, Promise<oidc.Configuration>>()

  constructor(config: Deps['config']) {
    this.#config = config
  }

  get providers(): readonly IdentityProviderConfig[] {
    return this.#config.authProviders
  }

  /** The address at the identity provider to send the browser to. */
  async start(query: { provider?: string; redirect?: string; challenge?: string }): Promise<string> {
    const provider = this.#provider(query.provider)
    const redirect = query.redirect ?? `${this.#config.appUrl}/sign-in`
    if (!mayReturnTo(this.#config, redirect)) {
      throw new ApiError('INVALID_INPUT', { message: 'redirect: not an address this deployment returns to' })
    }
    const state = seal(this.#config.signingKeys, purpose, {
      provider: provider.id,
      redirect,
      challenge: query.challenge ?? null,
      startedAt: Date.now(),
      salt: oidc.randomState(),
    } satisfies SignInNote)
    const configuration = await this.#discover(provider)
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#callbackUrl,
      scope: 'openid email profile',
      state,
      nonce: derived(this.#config.signingKeys, 'nonce', state),
      code_challenge: await oidc.calculatePKCECodeChallenge(derived(this.#config.signingKeys, 'pkce', state)),
      code_challenge_method: 'S256',
    })
    return url.href
  }

  /** Where the person came from; undefined when the note is not ours or too old. */
  readNote(state: string): SignInNote | undefined {
    const note = unseal<SignInNote>(this.#config.signingKeys, purpose, state)
    return note && Date.now() - note.startedAt < noteValidMs ? note : undefined
  }

  async finish(note: SignInNote, { state, code, iss }: ProviderAnswer): Promise<Identity> {
    const provider = this.#provider(note.provider)
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
  return url.origin === new URL(config.appUrl).origin || url.origin === new URL(config.publicUrl).origin
}

/** Whether the app that exchanges the code is the one that began the sign-in. */
export function matchesChallenge(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null) return true
  return (
    createHash('sha256')
      .update(verifier ?? '')
      .digest('base64url') === challenge
  )
}
