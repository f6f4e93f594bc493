import { type Clamped, namePattern, type Route } from '@guildhall/contract'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { ApiError } from './errors.ts'
import { compilePrune, Ignored } from './prune.ts'
import { addressValidator, bodyValidator } from './validators.ts'

/** What came, whatever it is. What an address carries is text or already of its type. */
export interface Input {
  readonly params: unknown
  /** Numbers and booleans are made of its texts in place. */
  readonly query: unknown
  readonly body: unknown
}

export interface Parts {
  readonly query: unknown
  readonly body: unknown
  /** Names what was left out, for whoever made a typing error. */
  readonly ignored: string | undefined
}

/**
 * Refuses what the contract does not allow, and gives the fields that it names and no others. The input keeps what came:
 * the hashes of a repeatable request and of a bound grant are of what was sent.
 */
export function compileInput(route: Route): (input: Input) => Parts {
  const { params, query, body } = route
  const checkParams = params && bodyValidator.compile(params)
  const checkQuery = query && addressValidator.compile(query)
  const checkBody = body && bodyValidator.compile(body)
  const compileWith = (validator: typeof bodyValidator) => (schema: object) => validator.compile(schema)
  const pruneQuery = compilePrune(query, compileWith(addressValidator), { namedAfter: '?' })
  const pruneBody = compilePrune(body, compileWith(bodyValidator))
  const clamps = clampsOf(query)
  return (input) => {
    const sent = input.body ?? (route.optionalBody ? {} : undefined)
    if (checkParams) check('params', checkParams, input.params)
    if (checkBody) check('body', checkBody, sent ?? null)
    if (checkQuery) check('querystring', checkQuery, input.query)
    const ignored = new Ignored()
    const seen = { query: pruneQuery(input.query, ignored), body: pruneBody(sent, ignored) }
    return {
      query: query ? clamp(seen.query as Record<string, unknown>, clamps) : undefined,
      body: body ? seen.body : undefined,
      ignored: ignored.text,
    }
  }
}

function check(place: string, validate: ValidateFunction, value: unknown): void {
  if (!validate(value)) throw invalidInput(place, validate.errors ?? [])
}

function invalidInput(place: string, errors: readonly ErrorObject[]): ApiError {
  const issues = errors.map((issue) => {
    const missing = issue.params['missingProperty']
    const path = [issue.instancePath.slice(1).replaceAll('/', '.'), missing].filter(Boolean).join('.')
    return { path, message: reasonOf(issue) }
  })
  const first = issues[0]
  return new ApiError('INVALID_INPUT', {
    message: first ? `${first.path || place}: ${first.message}` : 'The request is malformed',
    details: { in: place, issues },
  })
}

/** Nobody reads a pattern of classes of characters. */
function reasonOf({ keyword, params, message }: ErrorObject): string {
  if (keyword !== 'pattern' || !String(params['pattern']).endsWith(namePattern.source))
    return message ?? 'is not valid'
  return 'must have something to read, on one line, without characters that are not seen or turn the direction'
}

type Clamps = readonly (Clamped['x-clamped'] & { readonly name: string })[]

function clampsOf(query: Route['query']): Clamps {
  const fields = Object.entries<Partial<Clamped>>(query?.properties ?? {})
  return fields.flatMap(([name, { 'x-clamped': range }]) => (range ? [{ name, ...range }] : []))
}

/** In place, as the text of the address was made numbers. */
function clamp(parameters: Record<string, unknown>, clamps: Clamps): Record<string, unknown> {
  for (const { name, minimum, maximum } of clamps) {
    const given = parameters[name]
    if (typeof given === 'number') parameters[name] = Math.min(Math.max(Math.floor(given), minimum), maximum)
  }
  return parameters
}
