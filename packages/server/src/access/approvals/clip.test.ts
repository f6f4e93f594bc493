import { expect, test } from 'vitest'
import { clipJson } from './clip.ts'

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

test.each([
  ['a text', 'x'.repeat(5000)],
  ['a text of which each letter is written with six', '\u0001'.repeat(5000)],
  ['pairs that must not be cut in two', '😀'.repeat(5000)],
  ['a list', Array.from({ length: 5000 }, (_, at) => at)],
  ['lists in lists', Array.from({ length: 500 }, () => [[['x'.repeat(100)]]])],
  ['a record', Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, at]))],
  ['records in a record', { a: { b: { c: 'x'.repeat(5000), d: 'y'.repeat(5000) } }, e: 1 }],
  ['names', { ['n'.repeat(5000)]: 1, b: 2 }],
  ['many that are empty', Array.from({ length: 5000 }, () => ({}))],
])('%s becomes as small as it has to be, and something of it is left', (_what, value) => {
  const clipped = clipJson(value, 1000)
  expect(bytesOf(clipped)).toBeLessThanOrEqual(1000)
  expect(bytesOf(clipped)).toBeGreaterThan(5)
  expect(JSON.stringify(clipped)).not.toMatch(/\\ud[89a-f]/)
})

test('what fits stays as it is', () => {
  const value = { kind: 'approval', action: 'send', details: [1, { to: 'a@example.test' }], none: null }
  expect(clipJson(value, 1000)).toEqual(value)
})

test('a long field does not hide the short ones', () => {
  const clipped = clipJson({ details: 'x'.repeat(5000), kind: 'approval', action: 'send' }, 1000)
  expect(clipped).toMatchObject({ kind: 'approval', action: 'send', details: expect.stringMatching(/^x+…$/) })
  expect(Object.keys(clipped as object)).toEqual(['details', 'kind', 'action'])
})
