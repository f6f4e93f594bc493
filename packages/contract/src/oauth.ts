import { Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { IdParam, Nullable, Success, Timestamp } from './shapes.ts'

/** Scopes a third-party app can be granted; the first three are accepted and not enforced unless told so. */
export const oauthScopes = ['read', 'write', 'admin', 'trace:read', 'trace:write'] as const

const Client = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  redirect_uris: Type.Array(Type.String()),
  public: Type.Boolean({ description: 'Has no secret and must use PKCE' }),
  created_at: Timestamp,
})

export const oauthRoutes = defineRoutes({
  listOAuthClients: {
    method: 'GET',
    path: '/api/v1/oauth/clients',
    summary: "The person's third-party apps",
    tag: 'oauth',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: Type.Array(Client) },
    errors: [],
  },
  createOAuthClient: {
    method: 'POST',
    path: '/api/v1/oauth/clients',
    summary: 'Register a third-party app',
    tag: 'oauth',
    audience: 'session',
    limits: ['rest'],
    creates: true,
    answersSecret: true,
    body: Type.Object({
      name: Type.String({ minLength: 1, maxLength: 80, pattern: '\\S' }),
      redirect_uris: Type.Array(Type.String({ minLength: 1, maxLength: 2000 }), {
        minItems: 1,
        maxItems: 10,
      }),
      public: Type.Optional(Type.Boolean()),
    }),
    responses: {
      201: Type.Object({
        ...Client.properties,
        client_secret: Nullable(Type.String({ description: 'Shown this once; null for a public app' })),
      }),
    },
    errors: ['INVALID_INPUT', 'CONFLICT'],
  },
  deleteOAuthClient: {
    method: 'DELETE',
    path: '/api/v1/oauth/clients/:id',
    summary: 'Remove an app; its tokens stop working',
    tag: 'oauth',
    audience: 'session',
    limits: ['rest'],
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
})
