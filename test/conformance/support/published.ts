import { must, newVisitor } from './actors.ts'
import type { Caller, SendOptions } from './client.ts'

export interface PublishedRoute {
  method: string
  /** As in the document, with `{name}` for parameters. */
  path: string
  isPublic: boolean
  /** Names of what stands in the path. */
  pathParameters: string[]
  queryParameters: string[]
}

interface Schema {
  items?: Schema
  properties?: Record<string, { enum?: string[] }>
}

interface Operation {
  security?: object[]
  parameters?: { name: string; in: string }[]
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  security: object[]
}

/** With what stands at each reference in its place. */
async function publishedDocument(): Promise<Document> {
  const document = must(await newVisitor().get<Document>('root:/openapi.json'), 200)
  const whole = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(whole)
    const { $ref } = value as { $ref?: unknown }
    if (typeof $ref === 'string') return whole(at(document, $ref))
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, whole(part)]))
  }
  return { ...document, paths: whole(document.paths) as Document['paths'] }
}

function at(document: Document, reference: string): unknown {
  const parts = reference.slice('#/'.length).split('/')
  return parts.reduce<unknown>((found, part) => (found as Record<string, unknown>)[part], document)
}

/** Which values the members of an answer's items may have, where the document lists them. */
export async function publishedValues(method: string, path: string): Promise<Record<string, string[]>> {
  const { paths } = await publishedDocument()
  const answer = paths[path]?.[method.toLowerCase()]?.responses['200']
  const members = answer?.content?.['application/json']?.schema.items?.properties ?? {}
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, member]) => (member.enum ? [[name, member.enum]] : [])),
  )
}

/** The routes the deployment says it has, so that a rule about all of them also meets those still to come. */
export async function publishedRoutes(): Promise<PublishedRoute[]> {
  const { paths, security } = await publishedDocument()
  const namesOf = ({ parameters = [] }: Operation, place: string) =>
    parameters.filter((parameter) => parameter.in === place).map(({ name }) => name)
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      // A token of the configuration is no credential of a caller's.
      isPublic: (operation.security ?? security).every((scheme) => 'operatorToken' in scheme),
      pathParameters: namesOf(operation, 'path'),
      queryParameters: namesOf(operation, 'query'),
    })),
  )
}

/** Calls a route with made-up path parameters and, where it takes one, an empty body. */
export function callRoute(caller: Caller, route: PublishedRoute, options: SendOptions = {}) {
  const path = route.path.replace(/\{\w+\}/g, '999999999')
  const body = ['POST', 'PUT', 'PATCH'].includes(route.method) ? { body: {} } : {}
  return caller.send(route.method, `root:${path}`, { ...body, ...options })
}
