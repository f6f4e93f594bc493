import type { TObject, TSchema } from 'typebox'
import type { Audience, Route } from '../route.ts'
import type { Clamped } from '../shapes.ts'
import { slugPattern } from '../slug.ts'
import type { Components } from './components.ts'
import { printRefusals } from './refusals.ts'

/** Which credentials an audience has. */
export function securityOf(audience: Audience): object[] {
  const [apiKey, authToken, oauth] = [{ apiKey: [] }, { authToken: [] }, { oauth: [] }]
  return {
    credential: [apiKey, authToken, oauth],
    session: [authToken],
    key: [apiKey],
    agent: [apiKey, oauth],
    operator: [{ operatorToken: [] }],
    signed: [],
    public: [],
  }[audience]
}

export function printOperation(components: Components, operationId: string, route: Route) {
  const { audience, scopes, scopesBeyondOwn, limits, page, socket } = route
  const parameters = [
    ...parametersOf(components, route.params, 'path'),
    ...parametersOf(components, route.query, 'query'),
    ...(route.creates ? [idempotencyKey(components)] : []),
    ...(route.namesAgent ? [agentSlug(components)] : []),
  ]
  return {
    operationId,
    summary: route.summary,
    description: route.description,
    tags: [route.tag],
    // Whoever says nothing takes any credential: so says the document.
    ...(audience !== 'credential' && { security: securityOf(audience), 'x-audience': audience }),
    ...(scopes && { 'x-scopes': scopes }),
    ...(scopesBeyondOwn && { 'x-scopes-beyond-own': scopesBeyondOwn }),
    ...(route.scopesFrom && { 'x-scopes-from': route.scopesFrom }),
    ...(page && { 'x-page': page }),
    ...(limits.join() !== 'rest' && { 'x-limits': limits }),
    ...(socket && { 'x-socket': components.print(socket) }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        ...(!route.optionalBody && { required: true }),
        content: bodiesOf(components, route),
      },
    }),
    responses: { ...answersOf(components, route), ...printRefusals(components, route) },
  }
}

function parametersOf(components: Components, schema: Route['params'], place: 'path' | 'query') {
  const required = new Set<string>((schema?.required as string[] | undefined) ?? [])
  return Object.entries<TSchema>(schema?.properties ?? {}).map(([name, property]) => {
    const parameter = {
      name,
      in: place,
      ...((place === 'path' || required.has(name)) && { required: true }),
      schema: components.print(property),
    }
    return components.share('parameters', nameOfParameter(name, property), parameter)
  })
}

/** Lists differ in how much they give at a time. */
function nameOfParameter(name: string, schema: TSchema & Partial<Clamped>): string {
  const range = schema['x-clamped']
  return name === 'limit' && range ? `limit-${range.maximum}` : name
}

function idempotencyKey(components: Components) {
  const description = 'The same key within 24 hours gives the first answer again, and nothing is made twice'
  const parameter = { name: 'Idempotency-Key', in: 'header', description, schema: { type: 'string' } }
  return components.refer('parameters', 'Idempotency-Key', parameter)
}

function agentSlug(components: Components) {
  const description =
    'What the agent calls itself; recorded and nothing else. What is no slug is taken as none'
  const schema = { type: 'string', pattern: slugPattern.source }
  return components.refer('parameters', 'x-agent-slug', {
    name: 'x-agent-slug',
    in: 'header',
    description,
    schema,
  })
}

const mediaTypes = {
  text: 'text/plain',
  file: 'application/octet-stream',
  json: 'application/json',
  events: 'text/event-stream',
  redirect: '',
  either: 'application/json',
}

function answersOf(components: Components, route: Route) {
  const answers = Object.entries(route.responses).map(([status, schema]) => {
    const answer = answerOf(components, route, Number(status), schema)
    const { title } = schema as { title?: string }
    return [status, title === undefined ? answer : components.share('responses', title, answer)]
  })
  if (route.revalidates) answers.push(['304', { description: 'Nothing has changed' }])
  return Object.fromEntries(answers)
}

function answerOf(components: Components, route: Route, status: number, schema: TSchema) {
  if (route.answers === 'redirect') {
    return { description: 'Redirect', headers: { location: { schema: { type: 'string' } } } }
  }
  const mediaType = route.answers ? mediaTypes[route.answers] : 'application/json'
  const example = route.example?.answers?.[status]
  return {
    description: status < 400 ? 'OK' : 'Unavailable',
    content: {
      [mediaType]: { schema: components.print(schema), ...(example !== undefined && { example }) },
      // The schema is that of what each event carries.
      ...(route.stream && { 'text/event-stream': { schema: components.print(route.stream) } }),
    },
  }
}

/** A form has the text fields of the JSON body, and its files instead of their contents. */
function bodiesOf(components: Components, { body, uploads, example }: Route) {
  const schema = components.print(body as TSchema)
  const asJson = { 'application/json': { schema, example: example?.body } }
  if (!uploads) return asJson
  const { required, properties: fields } = schema as TObject
  const { files: _files, ...texts } = fields
  const binary = { type: 'string', format: 'binary' }
  const properties = { ...texts, 'files[]': { type: 'array', items: binary }, bundle: binary }
  return { ...asJson, 'multipart/form-data': { schema: { type: 'object', required, properties } } }
}
