import type { Clamped, Route } from '@guildhall/contract'
import { compilePrune, Ignored } from './prune.ts'
import { validatorFor } from './validators.ts'

export interface RequestParts {
  readonly query: unknown
  readonly body: unknown
  /** Names what was left out, for a header. */
  readonly ignored: string | undefined
}

/**
 * What a handler gets to see of a validated request: the fields that the contract names, and no others. The request
 * keeps what came, for who compares it: the hash of a repeatable request and of a bound grant are of what was sent.
 */
export function compileParts({
  query,
  body,
}: Route): (request: { query: unknown; body: unknown }) => RequestParts {
  const pruneQuery = compilePrune(query, (schema) => validatorFor('querystring').compile(schema), {
    namedAfter: '?',
  })
  const pruneBody = compilePrune(body, (schema) => validatorFor('body').compile(schema))
  const clamps = clampsOf(query)
  return (request) => {
    const ignored = new Ignored()
    const seen = { query: pruneQuery(request.query, ignored), body: pruneBody(request.body, ignored) }
    return {
      query: query ? clamp(seen.query as Record<string, unknown>, clamps) : undefined,
      body: body ? seen.body : undefined,
      ignored: ignored.text,
    }
  }
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
    if (typeof given === 'number') parameters[name] = Math.min(Math.max(given, minimum), maximum)
  }
  return parameters
}
