import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly format?: string
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Route>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface Route {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >
}

const contract: Document = JSON.parse(
  readFileSync(new URL('../../../../docs/api/openapi.json', import.meta.url), 'utf8'),
)

/** One that fits the schema, with all that may be there; this is in its every text. */
function made(schema: Schema, text: string, depth = 0): unknown {
  if (schema.$ref)
    return made(contract.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, text, depth)
  if (schema.const !== undefined) return schema.const
  const [first] = schema.enum ?? []
  if (first !== undefined) return first
  const { anyOf, oneOf, allOf, properties, items } = schema
  const of = (anyOf ?? oneOf)?.find(({ type }) => type !== 'null')
  if (of) return made(of, text, depth)
  if (allOf) return Object.assign({}, ...allOf.map((part) => made(part, text, depth)))
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.find((one) => one !== 'null')
  if (schema.type === 'null') return null
  if (type === 'array')
    return items && depth < 6 ? [made(items, text, depth + 1), made(items, text, depth + 1)] : []
  if (type === 'number' || type === 'integer') return 1
  if (type === 'boolean') return true
  if (type === 'string') return schema.format === 'date-time' ? '2026-11-16T10:00:00.000Z' : text
  if (depth > 6) return {}
  return Object.fromEntries(
    Object.entries(properties ?? { any: { type: 'string' } }).map(([name, part]) => [
      name,
      made(part, text, depth + 1),
    ]),
  )
}

/** Every operation. */
export const routes = Object.entries(contract.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, route]) => ({ method, parts: path.split('/'), route })),
)

/** What a server answers that keeps to the contract. */
export function answerTo(method: string, path: string, text: string): unknown {
  const asked = path.split('/')
  const fits = ({ method: own, parts }: (typeof routes)[number]) =>
    own === method &&
    parts.length === asked.length &&
    parts.every((part, at) => part.startsWith('{') || part === asked[at])
  // The one that names more of it is meant.
  const [found] = routes
    .filter(fits)
    .sort((a, b) => a.parts.join().split('{').length - b.parts.join().split('{').length)
  const [good] = Object.entries(found?.route.responses ?? {}).filter(([status]) => status.startsWith('2'))
  const schema = good?.[1].content?.['application/json']?.schema
  return schema ? made(schema, text) : { any: text }
}

export interface Impostor {
  url: string
  close(): void
}

/** A server that gives this to whatever it is asked, in lower case and without the query. */
export async function openImpostor(answer: (method: string, path: string) => unknown): Promise<Impostor> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x')
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answer((request.method ?? '').toLowerCase(), pathname)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
