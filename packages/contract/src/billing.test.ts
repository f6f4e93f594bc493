import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromDs, toDs } from './billing.ts'

test('an amount is the same after it was told and heard again', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1_000_000_000_000, max: 1_000_000_000_000 }), (milliDs) => {
      expect(fromDs(toDs(milliDs))).toBe(milliDs)
      expect(fromDs(Number(toDs(milliDs).toFixed(3)))).toBe(milliDs)
    }),
  )
  expect([toDs(null), fromDs(null)]).toEqual([null, null])
})
