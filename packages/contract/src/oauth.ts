import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Extended, IdParam, Name, Nullable, Success, Timestamp, WorkspaceRef } from './shapes.ts'

/** Scopes a third-party app can be granted; the first three are accepted and not enforced unless told so. */
export const oauthScopes = ['read', 'write', 'admin', 'trace:read', 'trace:write'] as const

export const OAuthClient = Type.Object(
  {
    client_id: Type.String(),
    name: Type.String(),
    redirect_uris: Type.Array(Type.String()),
    public: Type.Boolean({ description: 'Has no secret and must use PKCE' }),
    created_at: Timestamp,
  },
  { title: 'OAuthClient' },
)
export type OAuthClient = Static<typeof OAuthClient>

export const NewOAuthClient = Extended(OAuthClient, 'NewOAuthClient', {
  client_secret: Nullable(Type.String({ description: 'Shown this once; null for a public app' })),
})
export type NewOAuthClient = Static<typeof NewOAuthClient>

export const OAuthGrant = Type.Object(
  {
    id: Type.Number(),
    client_id: Type.String({
      description: 'For an app that nobody registered here, the address of the document that describes it',
    }),
    name: Type.String({ description: 'What the app calls itself' }),
    scopes: Type.Array(Type.String()),
    workspace: WorkspaceRef,
    created_at: Timestamp,
    last_used_at: Nullable(Timestamp),
    expires_at: Timestamp,
  },
  { title: 'OAuthGrant' },
)
export type OAuthGrant = Static<typeof OAuthGrant>

export const oauthRoutes = defineRoutes({
  listOAuthGrants: {
    method: 'GET',
    path: '/api/v1/oauth/grants',
    summary: 'What this person has allowed apps, newest first',
    description: 'Each says when it ends by itself.',
    resource: 'oauthGrants',
    verb: 'list',
    page: 'bare',
    tag: 'oauth',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: Type.Array(OAuthGrant) },
    errors: [],
  },
  endOAuthGrant: {
    method: 'DELETE',
    path: '/api/v1/oauth/grants/:id',
    summary: 'Take back what an app was allowed; its tokens, sockets and streams end',
    description: 'The app has to ask again.',
    resource: 'oauthGrants',
    verb: 'end',
    tag: 'oauth',
    audience: 'session',
    changes: ['oauthGrants'],
    limits: ['rest'],
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
  listOAuthClients: {
    method: 'GET',
    path: '/api/v1/oauth/clients',
    summary: "The person's third-party apps",
    description: 'Without their secrets.',
    resource: 'oauthClients',
    verb: 'list',
    page: 'bare',
    tag: 'oauth',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: Type.Array(OAuthClient) },
    errors: [],
  },
  createOAuthClient: {
    method: 'POST',
    path: '/api/v1/oauth/clients',
    summary: 'Register a third-party app',
    description: 'Copy client_secret now. Redirect addresses must match exactly later; public apps use PKCE.',
    resource: 'oauthClients',
    verb: 'create',
    tag: 'oauth',
    audience: 'session',
    changes: ['oauthClients'],
    limits: ['rest'],
    creates: true,
    answersSecret: true,
    body: Type.Object({
      name: Name(80),
      redirect_uris: Type.Array(Type.String({ minLength: 1, maxLength: 2000 }), {
        minItems: 1,
        maxItems: 10,
      }),
      public: Type.Optional(Type.Boolean()),
    }),
    responses: {
      201: NewOAuthClient,
    },
    errors: ['INVALID_INPUT', 'CONFLICT'],
    example: { body: { name: 'Reports', redirect_uris: ['https://app.example.com/callback'] } },
  },
  deleteOAuthClient: {
    method: 'DELETE',
    path: '/api/v1/oauth/clients/:id',
    summary: 'Remove an app; its tokens stop working',
    description: 'So do its sockets and streams.',
    resource: 'oauthClients',
    verb: 'delete',
    tag: 'oauth',
    audience: 'session',
    changes: ['oauthClients', 'oauthGrants'],
    limits: ['rest'],
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})
