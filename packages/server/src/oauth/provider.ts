import { generateKeyPairSync, timingSafeEqual } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { oauthScopes } from '@guildhall/contract'
import Provider, {
  type Client,
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import type { Deps } from '../deps.ts'
import { hashSecret, hmac, type KeyRing, mintSecret } from '../platform/secrets.ts'
import { findUser } from '../users/users.ts'
import { createAdapter } from './adapter.ts'
import type { OAuthCheck } from './check.ts'
import { errorPage } from './pages.ts'

export const oauthPaths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
  interaction: '/oauth/interaction',
}

const day = 24 * 3600
const interactionSeconds = 600

/** The authorization server: the library's protocol, our storage, tokens and pages. */
export function createProvider(deps: Deps, check: OAuthCheck): Provider {
  const provider = new Provider(deps.config.publicUrl, configurationOf(deps, check))
  // The addresses it builds come from headers that `endpoints.ts` sets; nothing of the client's gets this far.
  provider.proxy = true
  useOwnTokens(provider)
  useHashedSecrets(provider)
  const log = (err: unknown) => deps.logger.error({ err }, 'authorization server failed')
  provider.on('server_error', (_ctx, error) => log(error))
  const emitter: EventEmitter = provider
  emitter.on('error', log)
  return provider
}

function configurationOf(deps: Deps, check: OAuthCheck): Configuration {
  const { config, database } = deps
  return {
    adapter: (model: string) => createAdapter(deps, check, model),
    jwks: { keys: [unusedKey()] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    scopes: [...oauthScopes],
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    pkce: { required: (_ctx, client) => config.oauthStrict || client.clientAuthMethod === 'none' },
    clientBasedCORS: (_ctx, origin, client) =>
      client.clientAuthMethod === 'none' &&
      (client.redirectUris ?? []).some((uri) => new URL(uri).origin === origin),
    allowOmittingSingleRegisteredRedirectUri: false,
    routes: {
      authorization: oauthPaths.authorize,
      token: oauthPaths.token,
      revocation: oauthPaths.revoke,
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      // Another client's token is none of this one's business, and the answer does not tell that it exists.
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
    },
    cookies: {
      keys: cookieKeys(config.signingKeys),
      names: { session: 'oauth_session', interaction: 'oauth_interaction', resume: 'oauth_resume' },
      long: { httpOnly: true, sameSite: 'lax', path: oauthPaths.authorize },
      short: { httpOnly: true, sameSite: 'lax' },
    },
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: 60,
      RefreshToken: 30 * day,
      // Until its first token; each token carries it further.
      Grant: interactionSeconds,
      Interaction: interactionSeconds,
      Session: 1,
    },
    interactions: {
      policy: askEveryTime(),
      url: (_ctx, { uid }) => `${config.publicUrl}${oauthPaths.interaction}/${uid}`,
    },
    findAccount: async (_ctx, userId) => {
      const user = await findUser(database.db, userId)
      return user && { accountId: user.id, claims: () => ({ sub: user.id }) }
    },
    loadExistingGrant: async (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId)
    },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    expiresWithSession: async () => false,
    revokeGrantPolicy: () => true,
    renderError: (ctx, { error, error_description }) => {
      const route = ctx.oidc?.route
      if (route === 'token' || route === 'revocation') {
        ctx.body = { error, ...(error_description === undefined ? {} : { error_description }) }
        return
      }
      const { type, body, headers } = errorPage(error_description ?? error)
      ctx.set(headers)
      ctx.type = type
      ctx.body = body
    },
  }
}

/** Nothing is ever granted silently: the person chooses a workspace and decides at every authorization. */
function askEveryTime() {
  const { Check, Prompt } = interactionPolicy
  const undecided = new Check('undecided', 'The person has not decided', 'interaction_required', (ctx) => {
    requireKnownScopes(ctx)
    return !ctx.oidc.result?.consent
  })
  const policy = interactionPolicy.base()
  policy.clear()
  policy.add(new Prompt({ name: 'login', requestable: true }))
  policy.add(new Prompt({ name: 'consent', requestable: true }, undecided))
  return policy
}

/** The library would drop what it does not know. */
function requireKnownScopes(ctx: KoaContextWithOIDC): void {
  const asked = [...ctx.oidc.requestParamScopes]
  if (asked.length === 0) throw new errors.InvalidScope('scope is missing', '')
  const unknown = asked.filter((scope) => !oauthScopes.some((known) => known === scope))
  if (unknown.length > 0) throw new errors.InvalidScope('unknown scope', unknown.join(' '))
}

/** Tokens and codes with our prefixes, so that scanners find them, logs lose them and junk costs no lookup. */
function useOwnTokens(provider: Provider): void {
  Object.assign(provider.AuthorizationCode.prototype, { generateTokenId: () => mintSecret('oauthCode') })
  Object.assign(provider.RefreshToken.prototype, { generateTokenId: () => mintSecret('oauthRefresh') })
  Object.assign(provider.AccessToken.prototype, {
    generateTokenId(this: { format: string }) {
      this.format = 'opaque'
      return mintSecret('oauthAccess')
    },
  })
}

function useHashedSecrets(provider: Provider): void {
  Object.assign(provider.Client.prototype, {
    compareClientSecret(this: Client & { clientSecret?: string }, given: string) {
      return timingSafeEqual(hashSecret(given), Buffer.from(this.clientSecret ?? '', 'hex'))
    },
    // The library lets native apps use any port of their own machine; here an address is exactly that address.
    redirectUriAllowed(this: Client, uri: string) {
      return this.redirectUris?.includes(uri) ?? false
    },
  })
}

/** ID tokens are not issued, yet the library wants a key and makes its own, with a warning, without one. */
function unusedKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' }
}

function cookieKeys(ring: KeyRing): string[] {
  return [...ring.keys.keys()].map((version) => hmac(ring, version, 'oauth.cookies').toString('base64url'))
}
