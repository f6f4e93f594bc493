import { expect, test } from 'vitest'
import { patternsInContract, patternsInSources } from './find-patterns.ts'
import { findSlowAttack } from './timing.ts'
import { worstInputs } from './worst-inputs.ts'

const { found, built } = await patternsInSources()
const placeOf = new Map([...found, ...patternsInContract()].map(({ pattern, at }) => [String(pattern), at]))
const worstOf = new Map(worstInputs.map(([pattern, ...attacks]) => [String(pattern), attacks]))
const patterns = new Map([...found, ...patternsInContract()].map(({ pattern }) => [String(pattern), pattern]))

test('patterns stand in the source as they are, so that this test can see them', () => {
  expect(found.length).toBeGreaterThan(80)
  // Pruning builds those of the contract's own records, which are looked at as they stand there.
  expect(built.map((place) => place.split(':')[0])).toEqual(['packages/server/src/operations/prune.ts'])
})

test('somebody has thought about the worst input of every pattern, and of none that is gone', () => {
  expect([...placeOf].filter(([text]) => !worstOf.has(text))).toEqual([])
  expect([...worstOf.keys()].filter((text) => !placeOf.has(text))).toEqual([])
})

test.each([...patterns])('%s takes time in proportion to its input', (text, pattern) => {
  expect(findSlowAttack(pattern, worstOf.get(text) ?? []), placeOf.get(text)).toBeUndefined()
})

test.each([
  ['blanks as base64', /^[A-Za-z0-9+/\s]*={0,2}\s*$/],
  ['an address with a password', /(\w+:\/\/[^\s:/@"]+:)[^\s@"]+@/g],
  ['slashes at the end', /\/+$/],
  ['words of words', /^(\w+\s?)*$/],
])('the measure tells a pattern that is not linear: %s', (_what, pattern) => {
  expect(findSlowAttack(pattern, [])).toBeDefined()
})
