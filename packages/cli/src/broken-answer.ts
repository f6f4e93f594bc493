import contract from '../../../docs/api/openapi.json' with { type: 'json' }
import { type Answer, keptAnswers } from './answers.ts'
import { exit } from './exit-codes.ts'
import { Failure } from './failure.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

interface Response {
  readonly $ref?: string
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>>
  >
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Response>>
  }
}

const { paths, components } = contract as unknown as Document

/**
 * Asked when a command could not go on and nobody knows why: whether one of the answers is not what the contract
 * says. Answers are not checked before that: a newer server may say more, and an older one less, than we know.
 */
export async function brokenAnswer(cause: unknown): Promise<Failure | undefined> {
  for (const answer of keptAnswers()) {
    const problem = await problemOf(answer)
    if (!problem) continue
    return new Failure({
      exitCode: exit.failed,
      code: 'UNEXPECTED_ANSWER',
      message: `The server's answer to ${problem.route} is not what the contract says: ${problem.what}.`,
      next: ['guild doctor', 'guild upgrade --check', 'tell whoever runs the server'],
      ...(answer.requestId ? { requestId: answer.requestId } : {}),
      cause,
    })
  }
  return undefined
}

async function problemOf({ method, path, text }: Answer) {
  const route = routeOf(method.toLowerCase(), path)
  const said = await text
  if (!route || said === undefined) return undefined
  const value = parse(said)
  if (value === undefined) return { route: route.name, what: 'it is no JSON' }
  const possible = Object.entries(route.responses).filter(([status]) => status.startsWith('2'))
  const problems = possible.map(([, response]) => {
    const { content } = response.$ref ? (components.responses[nameOf(response.$ref)] ?? {}) : response
    const json = content?.['application/json']
    if (content && !json) return `it is to be ${Object.keys(content).join(' or ')}`
    return difference(json?.schema ?? {}, value, '')
  })
  const [what] = problems
  return problems.includes(undefined) || what === undefined ? undefined : { route: route.name, what }
}

/** No JSON is undefined. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The one that names more of the path is meant. */
function routeOf(method: string, path: string) {
  const asked = path.slice(Math.max(0, path.indexOf('/api/v1/'))).split('/')
  const [found] = Object.entries(paths)
    .map(([template, methods]) => ({ template, parts: template.split('/'), methods }))
    .filter(
      ({ parts, methods }) =>
        methods[method] &&
        parts.length === asked.length &&
        parts.every((part, at) => part.startsWith('{') || part === asked[at]),
    )
    .sort((a, b) => a.template.split('{').length - b.template.split('{').length)
  const responses = found?.methods[method]?.responses
  return found && responses && { name: `${method.toUpperCase()} ${found.template}`, responses }
}

/** What is missing, or of another kind; undefined where nothing is. Values are not looked at: a later server may know more. */
function difference(schema: Schema, value: unknown, at: string): string | undefined {
  const { $ref, anyOf, allOf, items = {}, properties = {}, required = [] } = schema
  if ($ref) return difference(components.schemas[nameOf($ref)] ?? {}, value, at)
  if (anyOf) {
    const found = anyOf.map((one) => difference(one, value, at))
    return found.includes(undefined) ? undefined : found[0]
  }
  if (allOf) return allOf.map((one) => difference(one, value, at)).find(Boolean)
  const kinds = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  const kind = kindOf(value)
  if (kinds.length > 0 && !kinds.includes(kind) && !(kind === 'number' && kinds.includes('integer')))
    return `${at || 'it'} is ${kind} and not ${kinds.join(' or ')}`
  if (Array.isArray(value))
    return value.map((one, index) => difference(items, one, within(at, index))).find(Boolean)
  if (kind !== 'object') return undefined
  const fields = value as Readonly<Record<string, unknown>>
  const missing = required.find((name) => !(name in fields))
  if (missing) return `${within(at, missing)} is missing`
  return Object.entries(properties)
    .map(([name, part]) => (name in fields ? difference(part, fields[name], within(at, name)) : undefined))
    .find(Boolean)
}

const within = (at: string, name: string | number) => (at ? `${at}.${name}` : `${name}`)

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

function nameOf(reference: string): string {
  return reference.split('/').at(-1) ?? ''
}
