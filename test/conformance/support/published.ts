import { must, newVisitor } from './actors.ts'
import type { Caller, SendOptions } from './client.ts'

export interface PublishedRoute {
  method: string
  /** As in the document, with `{name}` for parameters. */
  path: string
  isPublic: boolean
  /** Names of what stands in the path. */
  pathParameters: string[]
}

interface Schema {
  items?: Schema
  properties?: Record<string, { enum?: string[] }>
}

interface Operation {
  security: unknown[]
  parameters?: { name: string; in: string }[]
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}

interface Document {
  paths: Record<string, Record<string, Operation>>
}

async function publishedPaths(): Promise<Document['paths']> {
  return must(await newVisitor().get<Document>('root:/openapi.json'), 200).paths
}

/** Which values the members of an answer's items may have, where the document lists them. */
export async function publishedValues(method: string, path: string): Promise<Record<string, string[]>> {
  const answer = (await publishedPaths())[path]?.[method.toLowerCase()]?.responses['200']
  const members = answer?.content?.['application/json']?.schema.items?.properties ?? {}
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, member]) => (member.enum ? [[name, member.enum]] : [])),
  )
}

/** The routes the deployment says it has, so that a rule about all of them also meets those still to come. */
export async function publishedRoutes(): Promise<PublishedRoute[]> {
  return Object.entries(await publishedPaths()).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      isPublic: operation.security.length === 0,
      pathParameters: (operation.parameters ?? [])
        .filter((parameter) => parameter.in === 'path')
        .map((parameter) => parameter.name),
    })),
  )
}

/** Calls a route with made-up path parameters and, where it takes one, an empty body. */
export function callRoute(caller: Caller, route: PublishedRoute, options: SendOptions = {}) {
  const path = route.path.replace(/\{\w+\}/g, '999999999')
  const body = ['POST', 'PUT', 'PATCH'].includes(route.method) ? { body: {} } : {}
  return caller.send(route.method, `root:${path}`, { ...body, ...options })
}
