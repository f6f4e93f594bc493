import { expect, test } from 'vitest'
import { hasStrange, piecesOf, plainLine } from './text.ts'

test.each([
  ['\u202Egnp.exe', '[U+202E]gnp.exe'],
  ['a\u200Bb', 'a[U+200B]b'],
  ['\u0007bell\u001b[31m', '[U+0007]bell[U+001B][31m'],
  ['\u2066isolated\u2069', '[U+2066]isolated[U+2069]'],
  ['tag\u{E0041}', 'tag[U+E0041]'],
  ['half \ud800', 'half [U+D800]'],
  ['a\u{1D173}b\u{1BCA0}', 'a[U+1D173]b[U+1BCA0]'],
  ['\u2800\u3164', '[U+2800][U+3164]'],
  ['a\u{E0100}\u206A', 'a[U+E0100][U+206A]'],
  ['one\r\ntwo', 'one[U+000D]\ntwo'],
])('what cannot be seen is named: %j', (text, shown) => {
  expect(plainLine(text)).toBe(shown)
  expect(hasStrange(text)).toBe(true)
})

test.each(['Zoë – “naïve”, 東京, العربية, 🙂', 'two\nlines\tand a tab', ''])(
  'what can be seen stays: %j',
  (text) => {
    expect(plainLine(text)).toBe(text)
    expect(hasStrange(text)).toBe(false)
  },
)

test('a pile of marks is counted', () => {
  expect(piecesOf(`a${'\u0301'.repeat(500)}b`)).toEqual([
    { text: `a${'\u0301'.repeat(4)}` },
    { strange: '+496' },
    { text: 'b' },
  ])
})
