import type { Route } from '@guildhall/contract'
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
  return (request) => {
    const ignored = new Ignored()
    const seen = { query: pruneQuery(request.query, ignored), body: pruneBody(request.body, ignored) }
    return {
      query: query ? seen.query : undefined,
      body: body ? seen.body : undefined,
      ignored: ignored.text,
    }
  }
}
