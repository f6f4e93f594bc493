import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mintUserCode, normalizeUserCode } from './user-code.ts'

test('codes have the right shape and use all 32 symbols about equally', () => {
  const counts = new Map<string, number>()
  const codes = Array.from({ length: 20_000 }, mintUserCode)
  for (const code of codes) {
    expect(code).toMatch(/^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/)
    for (const symbol of code.replace('-', '')) counts.set(symbol, (counts.get(symbol) ?? 0) + 1)
  }
  expect(counts.size).toBe(32)
  expect(new Set(codes).size).toBe(codes.length)
  // Chi-square with 31 degrees of freedom: above 75 happens once in about 30,000 runs.
  const expected = (20_000 * 8) / 32
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  expect(chiSquare).toBeLessThan(75)
})

test('blanks, hyphens and the case of a code do not matter', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[\s-]*$/), { minLength: 9, maxLength: 9 }), (between) => {
      const code = mintUserCode()
      const symbols = code.replace('-', '').toLowerCase()
      const typed = [...symbols].map((symbol, index) => between[index] + symbol).join('') + between[8]
      expect(normalizeUserCode(typed)).toBe(code)
    }),
  )
  for (const typed of ['ABCDEFGH', 'abcd efgh', 'ABCD\u2013EFGH', ' a b c d - e f g h ']) {
    expect(normalizeUserCode(typed)).toBe('ABCD-EFGH')
  }
  expect(normalizeUserCode('ABCD-EFG')).not.toBe('ABCD-EFGH')
})
