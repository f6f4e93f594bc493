import { expect, test } from 'vitest'
import { type Routes, routes } from './index.ts'

interface Schema {
  readonly [key: string]: unknown
}

/** Everything in the parts of a request that holds a number, with the path to it. */
function numbersIn(value: unknown, at: string): [string, Schema][] {
  if (typeof value !== 'object' || value === null) return []
  const schema = value as Schema
  const types = [schema['type']].flat()
  const inside = Object.entries(schema).flatMap(([key, child]) => numbersIn(child, `${at}.${key}`))
  return types.includes('integer') || types.includes('number') ? [[at, schema], ...inside] : inside
}

test('every number that comes from outside has a least and a most: no column holds all of them', () => {
  const numbers = Object.entries<Routes[string]>(routes).flatMap(([name, { params, query, body }]) =>
    numbersIn({ params, query, body }, name),
  )
  expect(numbers.length).toBeGreaterThan(10)
  const unbounded = numbers.filter(([, schema]) => {
    // What lies outside is refused, or taken for the nearest that does not.
    const bounds = (schema['x-clamped'] as Schema | undefined) ?? schema
    return (bounds['minimum'] ?? bounds['exclusiveMinimum']) === undefined || bounds['maximum'] === undefined
  })
  expect(unbounded.map(([at]) => at)).toEqual([])
})
