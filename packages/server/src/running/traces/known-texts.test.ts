import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KnownTexts } from './known-texts.ts'

const texts = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }),
  fc.string({ unit: fc.constantFrom('\u0000', 'é', '\u{1F600}', '\ud83d', 'k', 'K'), minLength: 1 }),
)
const searches = fc.array(texts, { maxLength: 20 }).chain((known) =>
  fc.record({
    known: fc.constant(known),
    searched: fc.array(
      fc
        .array(fc.oneof(texts, fc.constantFrom('a', ...known)), { maxLength: 6 })
        .map((parts) => parts.join('')),
      { minLength: 1, maxLength: 5 },
    ),
  }),
)
const inside = (known: readonly string[], text: string) =>
  known.flatMap((each, index) => (text.includes(each) ? [index] : []))

test('of many texts those are found that each by itself would be', () => {
  fc.assert(
    fc.property(searches, ({ known, searched }) => {
      const automaton = new KnownTexts(known)
      for (const text of searched) expect(automaton.candidatesIn(text)).toEqual(inside(known, text))
    }),
    { numRuns: 1000 },
  )
})

test('where there is no room for all of them, more may be looked for, and none is missed', () => {
  fc.assert(
    fc.property(searches, fc.integer({ min: 1, max: 30 }), ({ known, searched }, room) => {
      const automaton = new KnownTexts(known, room)
      for (const text of searched)
        expect(automaton.candidatesIn(text)).toEqual(expect.arrayContaining(inside(known, text)))
    }),
    { numRuns: 1000 },
  )
})

test('long texts that begin alike are told apart by what is behind', () => {
  const known = ['1', '2'].map((last) => 'a'.repeat(1999) + last)
  const [first, second] = known as [string, string]
  const automaton = new KnownTexts(known)
  expect(automaton.candidatesIn('a'.repeat(10_000))).toEqual([])
  expect(automaton.candidatesIn(`aaa${second}`)).toEqual([1])
  expect(automaton.candidatesIn(`${second}${first}`)).toEqual([0, 1])
})
