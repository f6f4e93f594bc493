import type { Route } from '@guildhall/contract'
import { Ajv } from 'ajv'
import addFormatsModule from 'ajv-formats'
import { compilePrune, Ignored } from './prune.ts'

// The package is CommonJS; its callable stands behind `default` for the types and at run time alike.
const addFormats = addFormatsModule as unknown as (ajv: Ajv, formats: string[]) => Ajv
const formats = ['date-time', 'uuid']
const bodyValidator = addFormats(new Ajv({ allErrors: false, strict: false }), formats)
const addressValidator = addFormats(new Ajv({ allErrors: false, strict: false, coerceTypes: true }), formats)

/**
 * Nothing in a body is coerced or filled in. Only what had to travel as text in an address may be read as a number or
 * a boolean.
 */
export function validatorFor(httpPart: string | undefined): Ajv {
  return httpPart === 'querystring' ? addressValidator : bodyValidator
}

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
  const pruneQuery = compilePrune(query, (schema) => addressValidator.compile(schema), { namedAfter: '?' })
  const pruneBody = compilePrune(body, (schema) => bodyValidator.compile(schema))
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
