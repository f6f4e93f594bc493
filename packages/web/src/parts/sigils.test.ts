import { expect, test } from 'vitest'
import { sigilOf } from './sigils.ts'

test('a key has one sign, and forty keys share few', () => {
  expect(sigilOf(17)).toEqual(sigilOf(17))
  const signs = Array.from({ length: 40 }, (_, id) => JSON.stringify(sigilOf(id + 1)))
  expect(new Set(signs).size).toBeGreaterThan(20)
})
