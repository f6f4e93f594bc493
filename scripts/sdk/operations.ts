import type { Route } from '@guildhall/contract'
import { nameOf, type Records, type Schema } from './types.ts'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Schema
}

interface Media {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

/** Of the OpenAPI document, what the library is printed from. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: {
    readonly schemas: Records
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly responses: Readonly<Record<string, Media>>
  }
}

interface DocumentedOperation {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: Media
  readonly responses: Readonly<Record<string, Media | { readonly $ref: string }>>
}

/** One operation with its schemas, as the document has them: named parts are references. */
export interface Described {
  readonly name: string
  readonly route: Route
  readonly params: readonly Parameter[]
  readonly query: Schema | undefined
  readonly body: Schema | undefined
  readonly answers: readonly Schema[]
}

export function describe(name: string, route: Route, document: Document): Described {
  const { parameters, responses } = document.components
  const path = route.path.replace(/:(\w+)/g, '{$1}')
  const operation = document.paths[path]?.[route.method.toLowerCase()] as DocumentedOperation
  const all = (operation.parameters ?? []).map((one) =>
    '$ref' in one ? (parameters[nameOf(one.$ref)] as Parameter) : one,
  )
  const query = all.filter((one) => one.in === 'query')
  const answers = Object.keys(route.responses).map((status) => {
    const response = operation.responses[status] as Media | { readonly $ref: string }
    const media = '$ref' in response ? responses[nameOf(response.$ref)] : response
    return Object.values(media?.content ?? {})[0]?.schema ?? {}
  })
  return {
    name,
    route,
    params: all.filter((one) => one.in === 'path'),
    query: query.length > 0 ? objectOf(query) : undefined,
    body: operation.requestBody?.content?.['application/json']?.schema,
    answers,
  }
}

function objectOf(parameters: readonly Parameter[]): Schema {
  return {
    type: 'object',
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
  }
}
