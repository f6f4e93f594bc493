import { ExecutionStreamEvent } from '../execution-events.ts'
import type { Components } from './components.ts'
import { referToRefusal } from './refusals.ts'

/**
 * Addresses whose shapes other documents prescribe, or that carry their credential in themselves: they are no routes
 * of the contract, and stand in the OpenAPI document as they are here.
 */

const text = { type: 'string' }
const parameter = (
  name: string,
  where: 'query' | 'path' | 'header',
  description: string,
  required = false,
) => ({
  name,
  in: where,
  required,
  description,
  schema: text,
})
const json = (schema: object) => ({ content: { 'application/json': { schema } } })
const page = (description: string) => ({ description, content: { 'text/html': { schema: text } } })
const oauthError = {
  description: 'An error of RFC 6749 or RFC 7009',
  ...json({
    type: 'object',
    required: ['error'],
    properties: { error: text, error_description: text },
  }),
}
const oauthErrors = (components: Components) => {
  const error = components.refer('responses', 'OAuthError', oauthError)
  return { 400: error, 401: error, 408: error, 429: error, 503: error }
}

const tokenFields = {
  type: 'object',
  required: ['grant_type'],
  properties: {
    grant_type: { type: 'string', enum: ['authorization_code', 'refresh_token'] },
    code: text,
    redirect_uri: text,
    code_verifier: { type: 'string', description: 'PKCE (S256); required of apps without a secret' },
    refresh_token: text,
    scope: text,
    client_id: text,
    client_secret: text,
  },
}
const revokeFields = {
  type: 'object',
  required: ['token'],
  properties: { token: text, token_type_hint: text, client_id: text, client_secret: text },
}
const asFormOrJson = (schema: object) => ({
  required: true,
  content: { 'application/x-www-form-urlencoded': { schema }, 'application/json': { schema } },
})
const metadata = (operationId: string, summary: string) => ({
  get: {
    operationId,
    summary,
    description: 'Addresses and abilities of the authorization server, as the RFC has them.',
    tags: ['oauth'],
    security: [],
    responses: { 200: { description: 'Success', ...json({ type: 'object' }) } },
  },
})

export const protocolPaths = (components: Components) => ({
  '/oauth/authorize': {
    get: {
      operationId: 'oauthAuthorize',
      summary: 'Ask the person to let an app act for them; ends at the redirect address with a code',
      description: 'Send the browser here. The person sees what the app asks for, and decides.',
      tags: ['oauth'],
      security: [],
      parameters: [
        parameter('response_type', 'query', 'code', true),
        parameter('client_id', 'query', 'The app', true),
        parameter('redirect_uri', 'query', 'One of the registered addresses, exactly', true),
        parameter('scope', 'query', 'Separated by blanks'),
        parameter('state', 'query', 'Comes back as it was sent'),
        parameter('code_challenge', 'query', 'PKCE; required of apps without a secret'),
        parameter('code_challenge_method', 'query', 'S256'),
      ],
      responses: {
        303: {
          description: 'To the consent page',
          headers: { location: { schema: text } },
        },
        400: page('Refused; where app and address are known, a link of the page takes the error there'),
        429: page('Too many requests'),
        503: page('A part of the service is away'),
      },
    },
  },
  '/oauth/token': {
    post: {
      operationId: 'oauthToken',
      summary: 'Exchange a code, once, or a refresh token, once, for tokens',
      description:
        'An access token lives an hour; keep the newest refresh token, the one before stops working.',
      tags: ['oauth'],
      security: [],
      requestBody: asFormOrJson(components.refer('schemas', 'TokenRequest', tokenFields)),
      responses: {
        200: {
          description: 'Success',
          ...json({
            type: 'object',
            required: ['access_token', 'token_type', 'expires_in', 'scope'],
            properties: {
              access_token: text,
              token_type: { const: 'Bearer' },
              expires_in: { type: 'integer' },
              refresh_token: text,
              scope: text,
            },
          }),
        },
        ...oauthErrors(components),
      },
    },
  },
  '/oauth/revoke': {
    post: {
      operationId: 'oauthRevoke',
      summary: 'End a token; answers alike whether or not there was one',
      description: 'Sockets and streams of the token end with it.',
      tags: ['oauth'],
      security: [],
      requestBody: asFormOrJson(components.refer('schemas', 'RevokeRequest', revokeFields)),
      responses: { 200: { description: 'Success' }, ...oauthErrors(components) },
    },
  },
  '/.well-known/oauth-authorization-server': metadata('oauthServerMetadata', 'RFC 8414'),
  '/.well-known/oauth-protected-resource': metadata('oauthResourceMetadata', 'RFC 9728'),
  '/api/v1/executions/{executionId}/stream': {
    get: {
      operationId: 'streamExecution',
      summary:
        'The events of an execution, from any place on, at the signed address that stream-token answers',
      description:
        'Reconnect with the last sequence you have, at a new address once the old one is a minute old. Heartbeats are comments.',
      tags: ['executions'],
      security: [],
      parameters: [
        parameter('executionId', 'path', 'The execution', true),
        parameter('token', 'query', 'The signature; opens the stream for a minute', true),
        parameter('lastSeq', 'query', 'Only events after this sequence'),
        parameter('deltas', 'query', '1: also parts of texts as they come, which are never repeated'),
        parameter('Last-Event-ID', 'header', 'As lastSeq; the higher of both counts'),
      ],
      responses: {
        200: {
          description:
            'One frame per event: its sequence as id, the event as data. Ends after session.status_idle.',
          content: { 'text/event-stream': { schema: components.print(ExecutionStreamEvent) } },
        },
        400: referToRefusal(components, 'INVALID_INPUT'),
        401: referToRefusal(components, 'UNAUTHORIZED'),
        404: referToRefusal(components, 'NOT_FOUND'),
        429: referToRefusal(components, 'RATE_LIMITED'),
        503: referToRefusal(components, 'SERVICE_UNAVAILABLE'),
      },
    },
  },
})
