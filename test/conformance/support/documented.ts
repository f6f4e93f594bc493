import { appendFileSync } from 'node:fs'
import { inject } from 'vitest'
import document from '../../../docs/api/openapi.json' with { type: 'json' }
import { requireShape } from '../../support/documented-shapes.ts'

interface Operation {
  operationId: string
  method: string
  /** Fixed parts of the path as they are, parameters as undefined. */
  parts: (string | undefined)[]
  responses: Record<string, { $ref?: string }>
}

interface Response {
  content?: Record<string, { schema: object }>
  /** The codes that come with this status. */
  'x-codes'?: string[]
  /** Of a response that stands for several: the code of each status. */
  'x-statuses'?: Record<string, string>
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

function resolve(reference: { $ref?: string } | undefined): Response | undefined {
  if (reference?.$ref === undefined) return reference as Response | undefined
  const { responses } = document.components as { responses: Record<string, Response> }
  return responses[reference.$ref.split('/').at(-1) ?? '']
}

/** What the document tells of a status: by itself, or among those that every operation of its kind may answer. */
function responseOf({ responses }: Operation, status: number): Response | undefined {
  const own = resolve(responses[status])
  if (own) return own
  const shared = resolve(responses['default'])
  const code = shared?.['x-statuses']?.[status]
  return code === undefined ? undefined : { ...shared, 'x-codes': [code] }
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
  const response = responseOf(operation, status)
  if (!response) throw new Error(`openapi.json does not tell of ${where}`)
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
