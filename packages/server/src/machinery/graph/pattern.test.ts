import fc from 'fast-check'
import { RE2JS } from 're2js'
import { expect, test } from 'vitest'
import { compilePattern, estimateProgram } from './pattern.ts'

const atom = fc.constantFrom('a', '.', '\\d', '[a-z]', '[^\\]x]', '\\pL', '\\p{Greek}', '^', '$')
const source = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    atom,
    fc
      .tuple(tie('any'), fc.constantFrom('*', '+', '?', '{3}', '{2,}', '{0,7}'))
      .map(([one, times]) => `(?:${one})${times}`),
    fc.tuple(tie('any'), tie('any')).map(([one, two]) => `(${one}|${two})`),
    fc.array(tie('any'), { maxLength: 4 }).map((parts) => parts.join('')),
  ),
})).any

function sizeOf(text: string): number | undefined {
  try {
    return RE2JS.compile(text).programSize()
  } catch (error) {
    if (String(error).includes('invalid repeat count')) return undefined
    throw error
  }
}

test('the estimate is never far below what the program comes to', () => {
  fc.assert(
    fc.property(source, (text) => {
      const size = sizeOf(text)
      // Repeats within repeats that come to more than a thousand are refused.
      fc.pre(size !== undefined)
      expect(size).toBeLessThanOrEqual(3 * estimateProgram(text) + 10)
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$', true],
  ['^[^@\\s]{1,64}@[^@\\s]{1,255}$', true],
  ['^.{1,1000}$', true],
  ['(a)\\1', false],
  ['(?=a)b', false],
  ['(?:a{100}){100}', false],
  ['(?i)^[a-z0-9]+(?:-[a-z0-9]+)*$', true],
  ['^[\\p{L}\\p{N} ]+$', true],
  [`(?i)[${'!-\uffff'.repeat(63)}]`, false],
  ['(?i:[!-\\x{ffff}])'.repeat(15), false],
  [`(?s-i)(?mi)${'[!-\uffff]'.repeat(48)}`, false],
  ['\\pL|'.repeat(64), false],
  ['(', false],
])('%s can be used: %s', (text, usable) => {
  expect(compilePattern(text) !== undefined).toBe(usable)
})
