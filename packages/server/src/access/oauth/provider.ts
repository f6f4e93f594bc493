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
import { findUser } from '#accounts/users/users.ts'
import type { Deps } from '#platform/deps.ts'
import { hashSecret, hmac, type KeyRing, mintSecret } from '#platform/secrets.ts'
import { createAdapter } from './adapter.ts'
import type { OAuthCheck } from './check.ts'
import { speaksForItself } from './client-id.ts'
import {
  type DocumentFacts,
  DocumentProblem,
  documentReader,
  isDocumentAddress,
  isDocumentId,
} from './documents.ts'
import { errorPage } from './pages.ts'
import { isSameButPort } from './redirect-uri.ts'
import { showRefusals } from './refusals.ts'
import { audienceAt } from './resources.ts'

export const oauthPaths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
  register: '/oauth/register',
  interaction: '/oauth/interaction',
}

const day = 24 * 3600
export const interactionSeconds = 600

/** The authorization server: the library's protocol, our storage, tokens and pages. */
export function createProvider(deps: Deps, check: OAuthCheck): Provider {
  const provider = new Provider(deps.config.publicUrl, configurationOf(deps, check))
  // The addresses it builds come from headers that `endpoints.ts` sets; nothing of the client's gets this far.
  provider.proxy = true
  useOwnTokens(provider)
  useHashedSecrets(provider)
  showRefusals(provider, `${deps.config.publicUrl}${oauthPaths.interaction}/`)
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
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, resource) => {
          if (!audienceAt(config.publicUrl, resource)) throw new errors.InvalidTarget()
          return { scope: oauthScopes.join(' '), audience: resource, accessTokenFormat: 'opaque' }
        },
        defaultResource: () => config.publicUrl,
        useGrantedResource: () => true,
      },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        allowFetch: mayReadDocument(),
        // An app that takes an address out of its document is heard soon, whatever it said before.
        cacheDuration: { min: 30, max: 300 },
      },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      // Another client's token is none of this one's business, and the answer does not tell that it exists.
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
    },
    // What the operator opened to people who are signed in is not open to strangers.
    fetch: documentReader(deps.outbound, config.oauthDocumentAllow),
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
    renderError: (ctx, { error, error_description }, { cause }) => {
      const route = ctx.oidc?.route
      if (route === 'token' || route === 'revocation') {
        ctx.body = { error, ...(error_description === undefined ? {} : { error_description }) }
        return
      }
      const problem = cause instanceof DocumentProblem ? cause.message : (error_description ?? error)
      const { type, body, headers } = errorPage(problem)
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
  policy.add(new Prompt({ name: 'login', requestable: true }, rememberDocument))
  policy.add(new Prompt({ name: 'consent', requestable: true }, rememberDocument, undecided))
  return policy
}

/**
 * Only when a person is about to be asked: whoever has a token is known by then, and need not be there. And once for a
 * request, since the library looks again for whoever it could tell of the failure.
 */
function mayReadDocument() {
  const answered = new WeakSet<KoaContextWithOIDC>()
  return (ctx: KoaContextWithOIDC, clientId: string): boolean => {
    if (ctx.oidc.route !== 'authorization' || answered.has(ctx)) return false
    answered.add(ctx)
    if (isDocumentAddress(clientId)) return true
    throw new errors.InvalidClient('client_id: not written like the address of a document')
  }
}

/** What the document says at this moment is what the person is shown, in whichever process that happens. */
function rememberDocument({ oidc: { client } }: KoaContextWithOIDC): { document?: DocumentFacts } {
  if (!client || !isDocumentId(client.clientId)) return {}
  const { clientName: name = '', redirectUris = [] } = client
  return { document: { name, redirectUris } }
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
    /**
     * An address is exactly that address. Of one's own machine any port will do, for an app that describes or registers
     * itself: it cannot know the port that will be free when it is started.
     */
    redirectUriAllowed(this: Client, uri: string) {
      const { clientId, redirectUris = [] } = this
      if (redirectUris.includes(uri)) return true
      return speaksForItself(clientId) && redirectUris.some((registered) => isSameButPort(registered, uri))
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
