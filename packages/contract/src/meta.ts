import { Type } from 'typebox'
import { defineRoutes } from './route.ts'

/** The revision of the workflow definition format this contract speaks. */
export const workflowFormat = 'guildhall-workflow-v1'

const DownList = Type.Array(Type.String({ description: 'A part that is away' }))

export const metaRoutes = defineRoutes({
  getMeta: {
    method: 'GET',
    path: '/api/v1/meta',
    summary: 'Version, features and deprecations of this deployment',
    description: 'Read it once at the start: it names the API version and what is about to go away.',
    resource: 'meta',
    verb: 'get',
    tag: 'meta',
    audience: 'public',
    limits: ['rest'],
    responses: {
      200: Type.Object({
        name: Type.String(),
        version: Type.String(),
        apiVersion: Type.String(),
        format: Type.String(),
        features: Type.Array(Type.String()),
        deprecations: Type.Array(
          Type.Object({ route: Type.String(), deprecation: Type.String(), sunset: Type.String() }),
        ),
        appUrl: Type.String({ description: 'Where people decide: cards are at <appUrl>/approvals/<id>' }),
        clients: Type.Object(
          { cli: Type.Object({ minimum: Type.String() }) },
          { description: 'The oldest version of each client that this deployment serves' },
        ),
        push: Type.Union(
          [
            Type.Object({
              applicationServerKey: Type.String({ description: 'For PushManager.subscribe, as base64url' }),
            }),
            Type.Null(),
          ],
          { description: 'Null where browsers are not told of what waits' },
        ),
      }),
    },
    errors: [],
    example: {
      answers: {
        200: {
          name: 'Guildhall',
          version: '0.1.0',
          apiVersion: 'v1',
          format: 'guildhall-workflow-v1',
          features: ['skills'],
          deprecations: [],
          appUrl: 'https://example.com',
          clients: { cli: { minimum: '0.1.0' } },
          push: null,
        },
      },
    },
  },
  getHealth: {
    method: 'GET',
    path: '/healthz',
    summary: 'The process is alive',
    description: 'Asks no other part, so that a lost database does not restart the process.',
    resource: 'operations',
    verb: 'health',
    tag: 'operations',
    audience: 'public',
    limits: [],
    responses: { 200: Type.Object({ status: Type.Literal('ok') }) },
    errors: [],
  },
  getReadiness: {
    method: 'GET',
    path: '/readyz',
    summary: 'Whether to send requests here, and which parts are away',
    description: 'Degraded still serves; on 503 send requests elsewhere until it answers 200 again.',
    resource: 'operations',
    verb: 'readiness',
    tag: 'operations',
    audience: 'public',
    limits: [],
    responses: {
      200: Type.Object({ status: Type.Enum(['ok', 'degraded']), down: DownList }),
      503: Type.Object({ status: Type.Enum(['unavailable', 'stopping']), down: DownList }),
    },
    errors: [],
    example: {
      answers: { 200: { status: 'ok', down: [] }, 503: { status: 'unavailable', down: ['postgres'] } },
    },
  },
  getMetrics: {
    method: 'GET',
    path: '/metrics',
    summary: 'Prometheus metrics of this process',
    description: 'Where a metrics token is set, send it as a bearer token; 401 without it.',
    resource: 'operations',
    verb: 'metrics',
    tag: 'operations',
    audience: 'operator',
    operatorToken: 'metrics',
    limits: [],
    answers: 'text',
    responses: { 200: Type.String() },
    errors: ['UNAUTHORIZED'],
  },
  getOpenApi: {
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    description: 'The same document that the repository has in docs/api.',
    resource: 'meta',
    verb: 'openapi',
    tag: 'meta',
    audience: 'public',
    limits: [],
    responses: { 200: Type.Any() },
    errors: [],
    example: { answers: { 200: { openapi: '3.1.0' } } },
  },
})
