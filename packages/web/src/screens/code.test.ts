import { expect, test } from 'vitest'
import { codeOf, symbolsOf } from './code.ts'

test.each([
  ['k7qf 3mxp', 'K7QF-3MXP'],
  ['K7QF-3MXP', 'K7QF-3MXP'],
  [' k7qf–3mxp\n', 'K7QF-3MXP'],
  ['K7QF3MXPZZZ', 'K7QF-3MXP'],
])('%j is a code', (typed, code) => {
  expect(codeOf(symbolsOf(typed))).toBe(code)
})

test.each(['', 'K7QF', 'IO01IO01'])('%j is none', (typed) => {
  expect(codeOf(symbolsOf(typed))).toBeUndefined()
})
