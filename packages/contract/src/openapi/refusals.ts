import type { TSchema } from 'typebox'
import { type ErrorCode, errorTable, FlatProblem, Problem } from '../errors.ts'
import type { Audience, Route } from '../route.ts'
import type { Components } from './components.ts'

const headers = {
  'retry-after': 'Seconds to wait before the same request is worth sending again',
  'x-ratelimit-limit': 'Requests that the window takes',
  'x-ratelimit-remaining': 'Requests that it still takes',
  'x-ratelimit-reset': 'Seconds until it takes more',
} as const
type HeaderName = keyof typeof headers

function printHeaders(components: Components, names: readonly HeaderName[]) {
  return Object.fromEntries(
    names.map((name) => {
      const type = name.startsWith('x-ratelimit') || name === 'retry-after' ? 'integer' : 'string'
      const header = { description: headers[name], schema: { type } }
      return [name, components.refer('headers', name, header)]
    }),
  )
}

/**
 * What a route itself refuses with, by status, and as `default` what may be answered before and around every handler.
 * That one lists its statuses too (`x-statuses`), so that the document tells of each status an operation can answer.
 */
export function printRefusals(components: Components, route: Route): Record<string, object> {
  const answers: Record<string, object> = {}
  for (const [status, codes] of refusalsOf(route)) {
    if (route.responses[status]) continue
    const odd = route.oddRefusals?.[status]
    const flat = codes.filter((code) => route.flatErrors?.includes(code))
    const usual = flat.length === 0 ? [Problem] : flat.length === codes.length ? [FlatProblem] : bothShapes
    const refusal = printRefusal(components, status, codes, odd ? [...usual, odd] : usual)
    const name = nameOf(status, codes, usual)
    answers[status] = odd ? refusal : components.refer('responses', name, refusal)
  }
  return route.limits.length === 0 ? answers : { ...answers, default: printDefault(components, route) }
}

function printDefault(components: Components, { audience }: Route) {
  const { codes, name } = aroundOf(audience)
  const statuses = codes.map((code) => [errorTable[code].status, code])
  const refusal = {
    description: codes
      .map((code) => `${errorTable[code].status} ${code}: ${errorTable[code].message}`)
      .join('. '),
    headers: printHeaders(components, windowHeaders),
    content: { 'application/json': { schema: components.print(Problem) } },
    'x-statuses': Object.fromEntries(statuses),
  }
  return components.refer('responses', name, refusal)
}

/** A refusal that routes outside the contract share with those within. */
export function referToRefusal(components: Components, code: ErrorCode) {
  const { status } = errorTable[code]
  const refusal = printRefusal(components, status, [code], [Problem])
  return components.refer('responses', nameOf(status, [code], [Problem]), refusal)
}

const windowHeaders = [
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
] as const
const bothShapes = [Problem, FlatProblem]

function printRefusal(
  components: Components,
  status: number,
  codes: readonly ErrorCode[],
  shapes: readonly TSchema[],
) {
  const [schema, ...others] = shapes.map((shape) => components.print(shape))
  const named = status === 429 ? windowHeaders : status === 503 ? (['retry-after'] as const) : []
  return {
    description: codes.join(', '),
    ...(named.length > 0 && { headers: printHeaders(components, named) }),
    content: {
      'application/json': {
        schema: others.length === 0 ? schema : { anyOf: [schema, ...others] },
        example: exampleOf(codes[0], shapes[0] === FlatProblem),
      },
    },
    'x-codes': codes,
  }
}

function exampleOf(code: ErrorCode = 'INTERNAL_ERROR', isFlat: boolean) {
  const { message } = errorTable[code]
  if (isFlat) return { error: code, message }
  return { error: { ...(code === 'RATE_LIMITED' && { type: 'rate_limit_error' }), code, message } }
}

/** What a status means nearly everywhere. Its name is the status alone: it stands in the document hundreds of times. */
const usualCodes: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_INPUT',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  408: 'INVALID_INPUT',
  409: 'CONFLICT',
  410: 'EXPIRED',
  429: 'RATE_LIMITED',
  500: 'INTERNAL_ERROR',
  503: 'SERVICE_UNAVAILABLE',
}

function nameOf(status: number, codes: readonly ErrorCode[], shapes: readonly TSchema[]): string {
  if (codes.length === 1 && codes[0] === usualCodes[status] && shapes[0] === Problem) return String(status)
  const words = codes.map((code) =>
    code.toLowerCase().replace(/(?:^|_)(\w)/g, (_all, letter: string) => letter.toUpperCase()),
  )
  const shape = shapes === bothShapes ? 'Either' : shapes[0] === FlatProblem ? 'Flat' : ''
  return `${status}${words.join('Or')}${shape}`
}

/** The codes a route may answer, by status, in a fixed order, with what else has the same status around it. */
function refusalsOf(route: Route): [number, ErrorCode[]][] {
  const byStatus = new Map<number, Set<ErrorCode>>()
  const add = (status: number, code: ErrorCode) =>
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code))
  for (const code of [...route.errors, ...(route.creates ? (['CONFLICT'] as const) : [])]) {
    add(errorTable[code].status, code)
    const other = route.alsoStatus?.[code]
    if (other !== undefined) add(other, code)
  }
  // A body that does not come in time.
  if (route.body) add(408, 'INVALID_INPUT')
  if (route.limits.length > 0) {
    for (const code of aroundOf(route.audience).codes) {
      if (byStatus.has(errorTable[code].status)) add(errorTable[code].status, code)
    }
  }
  return [...byStatus].map(([status, codes]) => [status, [...codes].sort()])
}

/** What may be answered before or around a handler, on top of what the route declares. */
const aroundPublic: readonly ErrorCode[] = [
  'INVALID_INPUT',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
]
const aroundAll: readonly ErrorCode[] = ['UNAUTHORIZED', 'FORBIDDEN', ...aroundPublic]
/** A token of the configuration and a signed address are good or not; there is nothing that they lack. */
const aroundTokens: readonly ErrorCode[] = ['UNAUTHORIZED', ...aroundPublic]

function aroundOf(audience: Audience): { readonly codes: readonly ErrorCode[]; readonly name: string } {
  if (audience === 'public') return { codes: aroundPublic, name: 'RefusedToAnybody' }
  if (audience === 'operator' || audience === 'signed')
    return { codes: aroundTokens, name: 'RefusedToTokens' }
  return { codes: aroundAll, name: 'Refused' }
}
