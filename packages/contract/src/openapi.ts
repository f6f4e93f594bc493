import type { TObject, TSchema } from 'typebox'
import { type ErrorCode, errorTable } from './errors.ts'
import { protocolPaths } from './openapi-protocols.ts'
import type { Route, Routes } from './route.ts'

const errorBody = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        type: { type: 'string', description: 'rate_limit_error, with RATE_LIMITED' },
        code: { type: 'string', enum: Object.keys(errorTable) },
        message: { type: 'string' },
        details: { type: 'object' },
      },
    },
  },
}

/** What the routes that start skills answer for failures of the start itself. */
const flatErrorBody = {
  type: 'object',
  required: ['error', 'message'],
  properties: { error: { type: 'string', enum: Object.keys(errorTable) }, message: { type: 'string' } },
}

const answerOf = (...names: string[]) => {
  const [only, ...more] = names.map((name) => ({ $ref: `#/components/schemas/${name}` }))
  const schema = more.length === 0 ? only : { anyOf: [only, ...more] }
  return { description: 'Refused', content: { 'application/json': { schema } } }
}

/** How a refusal is written: in the envelope, flat, or, where codes of one status differ, either way. */
const refusals = {
  Error: answerOf('Error'),
  FlatError: answerOf('FlatError'),
  EitherError: answerOf('Error', 'FlatError'),
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
    paths: { ...paths, ...protocolPaths },
    components: {
      schemas: { Error: errorBody, FlatError: flatErrorBody },
      responses: refusals,
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
            content: bodiesOf(route),
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
  for (const [status, codes] of refusalsOf(route)) {
    if (answers[status]) continue
    const flat = codes.filter((code) => route.flatErrors?.includes(code))
    const shape = flat.length === 0 ? 'Error' : flat.length === codes.length ? 'FlatError' : 'EitherError'
    const odd = route.oddRefusals?.[status]
    const usual = { $ref: `#/components/responses/${shape}`, description: codes.join(', ') }
    answers[status] = odd ? eitherOf(odd, codes) : usual
  }
  return answers
}

function eitherOf(odd: TSchema, codes: readonly ErrorCode[]) {
  const schema = { anyOf: [{ $ref: '#/components/schemas/Error' }, odd] }
  return { description: codes.join(', '), content: { 'application/json': { schema } } }
}

/** The codes a route may answer, by status. */
function refusalsOf(route: Route): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>()
  const add = (status: number, code: ErrorCode) => {
    const codes = byStatus.get(status) ?? []
    if (!codes.includes(code)) byStatus.set(status, [...codes, code])
  }
  for (const code of [...route.errors, ...edgeErrors(route)]) {
    add(errorTable[code].status, code)
    const other = route.alsoStatus?.[code]
    if (other !== undefined) add(other, code)
  }
  return byStatus
}

/** What may be answered before or around a handler, on top of what the route declares. */
function edgeErrors(route: Route): ErrorCode[] {
  if (route.limits.length === 0) return []
  return [
    'INVALID_INPUT',
    ...(route.audience === 'public' ? [] : (['UNAUTHORIZED', 'FORBIDDEN'] as const)),
    ...(route.creates ? (['CONFLICT'] as const) : []),
    'RATE_LIMITED',
    'INTERNAL_ERROR',
    'SERVICE_UNAVAILABLE',
  ]
}

/** A form has the text fields of the JSON body, and its files instead of their contents. */
function bodiesOf({ body, uploads }: Route) {
  const asJson = { 'application/json': { schema: body } }
  if (!uploads) return asJson
  const { files: _files, ...fields } = (body as TObject).properties
  const binary = { type: 'string', format: 'binary' }
  const properties = { ...fields, 'files[]': { type: 'array', items: binary }, bundle: binary }
  const { required } = body as TObject
  return { ...asJson, 'multipart/form-data': { schema: { type: 'object', required, properties } } }
}
