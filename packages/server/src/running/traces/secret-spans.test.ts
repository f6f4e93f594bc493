import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Covered } from './covered.ts'
import { insertSpan, mergeSpans, type Span } from './secret-shapes.ts'

const length = 30
const spansOf = (least: number) =>
  fc.array(
    fc
      .record({
        start: fc.nat(length - least),
        size: fc.integer({ min: least, max: 9 }),
        kind: fc.constantFrom('profile', 'jwt', 'pem'),
      })
      .map(({ start, size, kind }): Span => ({ start, end: Math.min(length, start + size), kind })),
    { maxLength: 12 },
  )

test('a span that is put among others gives what merging all of them gives', () => {
  fc.assert(
    fc.property(spansOf(0), spansOf(0), (some, more) => {
      const spans = mergeSpans(some)
      for (const span of more) {
        const expected = mergeSpans([...spans, span])
        insertSpan(spans, span)
        expect(spans).toEqual(expected)
      }
    }),
    { numRuns: 2000 },
  )
})

test('what covers a text tells as much as all the spans that it is made of', () => {
  fc.assert(
    fc.property(spansOf(2), spansOf(2), (others, found) => {
      const known = found.map((span) => ({ ...span, kind: 'profile' as const }))
      const covered = new Covered(length)
      for (const { start, end } of known) covered.add(start, end)
      const told = [...covered.spans()].map((span) => ({ ...span, kind: 'profile' as const }))
      expect(mergeSpans([...others, ...told])).toEqual(mergeSpans([...others, ...known]))
    }),
    { numRuns: 2000 },
  )
})
