import { appendFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { inject } from 'vitest'
import document from '../../../docs/api/openapi.json' with { type: 'json' }

interface Operation {
  operationId: string
  method: string
  /** Fixed parts of the path as they are, parameters as undefined. */
  parts: (string | undefined)[]
  responses: Record<string, { $ref?: string }>
}

interface Response {
  content?: Record<string, { schema: object }>
  'x-codes'?: string[]
}

const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId, responses }]) => ({
    operationId,
    method: method.toUpperCase(),
    parts: path.split('/').map((part) => (part.startsWith('{') ? undefined : part)),
    responses: responses as Operation['responses'],
  })),
)

/** Where two paths fit, the one whose fixed parts come first, as the router has it. */
function operationFor(method: string, path: string): Operation | undefined {
  const parts = path.split('?')[0]?.split('/') ?? []
  const fitting = operations.filter(
    (one) =>
      one.method === method &&
      one.parts.length === parts.length &&
      one.parts.every((part, index) => part === undefined || part === parts[index]),
  )
  const shape = ({ parts }: Operation) => parts.map((part) => (part === undefined ? 1 : 0)).join('')
  return fitting.toSorted((a, b) => (shape(a) < shape(b) ? -1 : 1))[0]
}

// Formats are not looked at: what they mean to the service stands in its own tests.
const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema({ ...document, $id: 'openapi' })
const validators = new Map<object, ValidateFunction>()

/** What stands at a reference within the document. */
function resolve(reference: { $ref?: string }): Response {
  if (reference.$ref === undefined) return reference as Response
  let found: unknown = document
  for (const part of reference.$ref.slice(2).split('/')) found = (found as Record<string, unknown>)[part]
  return found as Response
}

/** With its references as the whole document has them. */
function validatorOf(schema: object): ValidateFunction {
  const known = validators.get(schema)
  if (known) return known
  const made = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')))
  validators.set(schema, made)
  return made
}

/**
 * Every answer that the suite sees must be one that the OpenAPI document tells of: its status, the code of a refusal, and
 * the shape of what is JSON.
 */
export function requireDocumented(
  method: string,
  url: string,
  { status, body, headers }: { status: number; body: unknown; headers: Record<string, unknown> },
): void {
  const path = new URL(url).pathname
  const operation = operationFor(method, path)
  if (!operation || status === 405) return
  const called = inject('calledOperations')
  if (called !== null) appendFileSync(called, `${operation.operationId}\n`)
  const where = `${method} ${path} ${status}`
  const given = operation.responses[status]
  if (!given) throw new Error(`openapi.json does not tell of ${where}`)
  const response = resolve(given)
  const schema = response.content?.['application/json']?.schema
  if (!String(headers['content-type']).startsWith('application/json') || !schema) return
  requireShape(schema, body, where)
  const { error, code: beside } = (body ?? {}) as { error?: string | { code?: string }; code?: string }
  const code = beside ?? (typeof error === 'string' ? error : error?.code)
  const codes = response['x-codes']
  if (codes && code !== undefined && !codes.includes(code)) {
    throw new Error(`openapi.json does not tell of the code ${code} of ${where}`)
  }
}

function requireShape(schema: object, value: unknown, where: string): void {
  const isValid = validatorOf(schema)
  if (isValid(value)) return
  const shown = JSON.stringify(value)?.slice(0, 500)
  throw new Error(
    `openapi.json tells of another shape of ${where}: ${ajv.errorsText(isValid.errors)} in ${shown}`,
  )
}
