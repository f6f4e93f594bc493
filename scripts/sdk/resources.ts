import type { Described } from './operations.ts'
import { doc, type Records, type Schema, type TypePrinter } from './types.ts'

/** POSTs that change nothing, or nothing that anybody sees: they are repeated as a GET is. */
const repeatable: ReadonlySet<string> = new Set([
  'validateWorkflow',
  'findConsentByCode',
  'challengeApproval',
  'preparePasskey',
  'continueTrace',
  // Equal questions that wait share an id.
  'connectAgent',
  'requestPermission',
  'askPerson',
  // What has ended stays so, and is told as ended again.
  'revokeKeys',
])

/** Printed as operations alone: the library has methods for them that do more than send. */
const byHand: ReadonlySet<string> = new Set([
  'runSkill',
  'rerunExecution',
  'streamWorkflowRun',
  'launchWorkflow',
  'rerunWorkflowRun',
  'subscribeThread',
])

/** The file of one resource: its types, its operations, and a class with a method for each. */
export function printResource(
  className: string,
  operations: readonly Described[],
  types: TypePrinter,
): string {
  types.named.clear()
  const declarations = operations.map((one) => printOperation(one, types))
  const methods = operations.filter(({ name }) => !byHand.has(name)).map((one) => printMethod(one, types))
  const pages = methods.some((method) => method.includes('Pager<'))
  return [
    `// Printed from the contract by "npm run sdk". Do not edit.`,
    `import type { CallOptions } from '../client.ts'`,
    `import type { Operation } from '../operation.ts'`,
    ...(pages ? [`import { list, type Pager } from '../pager.ts'`] : []),
    `import { Resource } from '../resource.ts'`,
    `import type { ${[...types.named].sort().join(', ')} } from './records.ts'`,
    '',
    ...declarations,
    '/** One method for each of these operations. */',
    `export class ${className} extends Resource {\n${methods.join('\n')}\n}`,
    '',
  ].join('\n')
}

/** The class of a resource is called as that is, unless a record has the name. */
export function classOf(resource: string, records: Records): string {
  const name = capital(resource)
  return name in records ? `${name}Resource` : name
}
export const fileOf = (resource: string): string =>
  resource.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** The types of an operation, and the operation as data. */
function printOperation(operation: Described, types: TypePrinter): string {
  const { name, route, query, body, params } = operation
  const parts = [
    ...(params.length > 0
      ? [`params: { ${params.map((one) => `${one.name}: ${paramType(one.schema)}`).join('; ')} }`]
      : []),
    ...(query
      ? [isOptional(query) ? `query?: ${capital(name)}Query | undefined` : `query: ${capital(name)}Query`]
      : []),
    ...(body
      ? [
          `body${route.optionalBody ? '?' : ''}: ${bodyType(operation)}${route.optionalBody ? ' | undefined' : ''}`,
        ]
      : []),
  ]
  return [
    ...(query
      ? [
          `/** What {@link ${name}} can be asked for. */`,
          declare(`${capital(name)}Query`, query, types, 'sent'),
        ]
      : []),
    ...(body
      ? [`/** What is sent to {@link ${name}}. */`, declare(`${capital(name)}Body`, body, types, 'sent')]
      : []),
    ...(ownAnswer(operation)
      ? [`/** What {@link ${name}} answers. */`, answerDeclaration(operation, types)]
      : []),
    `${doc([`${route.summary}.`, route.description])}export const ${name}: Operation<${parts.length > 0 ? `{ ${parts.join('; ')} }` : 'object'}, ${answerType(operation, types)}> = ${asData(operation)}`,
    '',
  ].join('\n')
}

/** Printed into its method once more: a bundle of the whole library is smaller by 5 % without the names between them. */
const asData = (operation: Described): string =>
  `{ ${Object.entries(flagsOf(operation))
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    .join(', ')} }`

function declare(name: string, schema: Schema, types: TypePrinter, direction: 'sent' | 'answered'): string {
  const printed = types.print(schema, direction)
  return printed.startsWith('{')
    ? `export interface ${name} ${printed}\n`
    : `export type ${name} = ${printed}\n`
}

function flagsOf({ name, route, answers }: Described): Record<string, unknown> {
  const window = route.limits[0] ?? 'rest'
  const list = route.page === 'cursor' || route.page === 'offset' ? listOf(answers[0] ?? {}) : undefined
  return {
    // In this order they are smallest when compressed: the common ends of paths stand beside the common methods.
    name,
    path: route.path,
    ...(route.method !== 'GET' && { method: route.method }),
    ...(route.creates && { creates: true }),
    ...(route.answersSecret && { secret: true }),
    ...(route.uploads && { uploads: true }),
    ...(repeatable.has(name) && { repeatable: true }),
    ...((route.audience === 'public' || route.audience === 'signed') && { public: true }),
    ...(route.namesAgent && { namesAgent: true }),
    ...(route.answers && route.answers !== 'json' && { answers: route.answers }),
    ...(window !== 'rest' && { window }),
    ...(list && { page: route.page, ...(list.field !== 'items' && { items: list.field }) }),
  }
}

function printMethod(operation: Described, types: TypePrinter): string {
  const { name, route, params, query, body } = operation
  const parameters = params.map((one) => `${one.name}: ${paramType(one.schema)}`)
  if (body) parameters.push(`body${route.optionalBody ? '?' : ''}: ${bodyType(operation)}`)
  if (query) parameters.push(`query${isOptional(query) ? '?' : ''}: ${capital(name)}Query`)
  const call = [
    ...(params.length > 0 ? [`params: { ${params.map((one) => one.name).join(', ')} }`] : []),
    ...(query ? ['query'] : []),
    ...(body ? ['body'] : []),
  ]
  const isList = route.page === 'cursor' || route.page === 'offset'
  const item = isList ? types.print(listOf(operation.answers[0] ?? {}).items, 'answered') : ''
  const returns = isList ? `Pager<${item}>` : `Promise<${answerType(operation, types)}>`
  return `${doc([`${route.summary}.`, route.description])}${route.verb}(${[...parameters, 'options?: CallOptions'].join(', ')}): ${returns} {
    return ${isList ? 'list(this.client, ' : 'this.client.call('}${asData(operation)}, { ${call.join(', ')} }, options)
  }`
}

/** What is a record, or nothing that can be typed, needs no name of its own. */
function ownAnswer({ route, answers }: Described): boolean {
  if (route.answers === 'file' || route.answers === 'events' || route.answers === 'text') return false
  return answers.length > 1 || !(answers[0]?.$ref || answers[0]?.items?.$ref)
}

function answerDeclaration(operation: Described, types: TypePrinter): string {
  const name = `${capital(operation.name)}Answer`
  const [only, ...others] = operation.answers
  if (only && others.length === 0) return declare(name, only, types, 'answered')
  const all = operation.answers.map((one) => types.print(one, 'answered'))
  return `export type ${name} = ${[...new Set(all)].join(' | ')}\n`
}

function answerType(operation: Described, types: TypePrinter): string {
  if (operation.route.answers === 'file' || operation.route.answers === 'events') return 'Response'
  if (operation.route.answers === 'text') return 'string'
  if (ownAnswer(operation)) return `${capital(operation.name)}Answer`
  return types.print(operation.answers[0] ?? {}, 'answered')
}

/** The one list of a page: the page itself, or the one field that holds items. */
function listOf(schema: Schema): { readonly field: string; readonly items: Schema } {
  const page = schema.anyOf?.find((one) => one.properties) ?? schema
  if (page.items) return { field: '', items: page.items }
  const lists = Object.entries(page.properties ?? {}).filter(([, property]) => property.items)
  const [field, list] = lists[0] ?? []
  if (lists.length !== 1 || !field || !list?.items) throw new Error('a page must have one list')
  return { field, items: list.items }
}

const bodyType = ({ name, route }: Described): string =>
  `${capital(name)}Body${route.uploads ? ' | FormData' : ''}`
const paramType = (schema: Schema): string => (schema.type === 'string' ? 'string' : 'string | number')
const isOptional = (schema: Schema): boolean => (schema.required ?? []).length === 0
const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)
