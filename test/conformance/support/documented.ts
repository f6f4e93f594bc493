import document from '../../../docs/api/openapi.json' with { type: 'json' }

interface Operation {
  method: string
  /** Fixed parts of the path as they are, parameters as undefined. */
  parts: (string | undefined)[]
  responses: Record<string, { $ref?: string }>
}

const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { responses }]) => ({
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

/** Every answer that the suite sees must be one that the OpenAPI document tells of: its status, and how errors look. */
export function requireDocumented(
  method: string,
  url: string,
  { status, body }: { status: number; body: unknown },
): void {
  const path = new URL(url).pathname
  const operation = operationFor(method, path)
  if (!operation || status === 405) return
  const response = operation.responses[status]
  if (!response) throw new Error(`openapi.json does not tell that ${method} ${path} may answer ${status}`)
  const error = (body as { error?: unknown } | null)?.error
  if (status < 400 || error === undefined || !path.startsWith('/api/')) return
  const isFlat = typeof error === 'string'
  const told = response.$ref?.split('/').at(-1)
  const fits = told === 'EitherError' || told === (isFlat ? 'FlatError' : 'Error') || told === undefined
  if (!fits) throw new Error(`openapi.json tells of another shape of ${method} ${path} ${status}: ${told}`)
}
