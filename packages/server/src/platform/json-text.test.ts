import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fieldsOf, JsonText, textsOf } from './json-text.ts'

const spaces = fc.constantFrom(undefined, 1, '\t', '  ')
const hostile = fc.constantFrom(
  '"',
  '\\',
  '\\"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\u0000',
  '\ud800',
  '😀',
  '\n',
)
const names = fc.oneof(
  fc.string(),
  fc.array(hostile, { maxLength: 6 }).map((parts) => parts.join('')),
)
const values = fc.oneof(fc.jsonValue(), names)

test('the fields of an object are those that reading it whole gives', () => {
  fc.assert(
    fc.property(fc.dictionary(names, values), spaces, (record, space) => {
      const text = JSON.stringify(record, null, space)
      const fields = [...fieldsOf(text)].map(([name, value]) => [name, JSON.parse(value)])
      expect(fields).toEqual(Object.entries(JSON.parse(text)))
    }),
  )
})

test('what is put together from texts is the object, letter by letter as they were', () => {
  fc.assert(
    fc.property(fc.dictionary(names, values), (record) => {
      const inner = new JsonText(fieldsOf(JSON.stringify(record)))
      expect(String(inner)).toBe(JSON.stringify(record))
      expect(
        JSON.parse(String(new JsonText([['inner', inner], ...textsOf({ one: 1, none: undefined })]))),
      ).toEqual(JSON.parse(JSON.stringify({ inner: record, one: 1 })))
    }),
  )
})

test.each(['null', '[]', '"{}"', '', '{"a":1', '{"a":"', '{"a', '{"a":[1}', '{"a":1]'])(
  '%s is no object',
  (text) => {
    expect(() => fieldsOf(text)).toThrow(SyntaxError)
  },
)
