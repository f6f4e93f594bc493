import { errorTable } from './errors.ts'
import type { Route, Routes } from './route.ts'

const errorBody = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        details: { type: 'object' },
      },
    },
  },
}

const credentials = {
  credential: [{ apiKey: [] }, { authToken: [] }, { oauth: [] }],
  session: [{ authToken: [] }],
  key: [{ apiKey: [] }],
  public: [],
}

/** The contract as an OpenAPI 3.1 document; TypeBox schemas are JSON Schema and stand there as they are. */
export function openApiDocument(routes: Routes, version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [operationId, route] of Object.entries(routes)) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(operationId, route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Guildhall', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    paths,
    components: {
      schemas: { Error: errorBody },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        authToken: { type: 'apiKey', in: 'header', name: 'x-auth-token' },
        oauth: { type: 'http', scheme: 'bearer' },
      },
    },
  }
}

function operation(operationId: string, route: Route) {
  const parameters = [
    ...parametersOf(route.params, 'path'),
    ...parametersOf(route.query, 'query'),
    ...(route.creates ? [headerParameter('Idempotency-Key', 'Repeat safely for 24 hours')] : []),
    ...(route.audience === 'public'
      ? []
      : [headerParameter('x-workspace-id', 'The workspace a session acts in for this request')]),
  ]
  return {
    operationId,
    summary: route.summary,
    tags: [route.tag],
    security: credentials[route.audience],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: !route.optionalBody,
            content: { 'application/json': { schema: route.body } },
          },
        }
      : {}),
    responses: responsesOf(route),
  }
}

function parametersOf(schema: Route['params'], place: 'path' | 'query') {
  const required = new Set<string>((schema?.required as string[] | undefined) ?? [])
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.has(name),
    schema: property,
  }))
}

function headerParameter(name: string, description: string) {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } }
}

function responsesOf(route: Route) {
  const answers: Record<string, unknown> = {}
  const mediaTypes = {
    text: 'text/plain',
    file: 'application/octet-stream',
    json: 'application/json',
    events: 'text/event-stream',
    redirect: '',
  }
  const mediaType = route.answers ? mediaTypes[route.answers] : 'application/json'
  for (const [status, schema] of Object.entries(route.responses)) {
    answers[status] =
      route.answers === 'redirect'
        ? { description: 'Redirect', headers: { location: { schema: { type: 'string' } } } }
        : {
            description: Number(status) < 400 ? 'Success' : 'Unavailable',
            content: { [mediaType]: { schema } },
          }
  }
  for (const code of edgeErrors(route)) {
    const { status, message } = errorTable[code]
    answers[status] ??= {
      description: message,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    }
  }
  return answers
}

/** What the edge itself may answer on top of what the route declares. */
function edgeErrors(route: Route) {
  const guarded = route.audience === 'public' ? [] : (['UNAUTHORIZED', 'FORBIDDEN'] as const)
  const limited = route.limits.length > 0 ? (['RATE_LIMITED', 'SERVICE_UNAVAILABLE'] as const) : []
  return [...route.errors, ...guarded, ...limited]
}
