import { describe, expect, test } from 'vitest'
import { said, shown } from './tool.ts'

const tags = '\u{e0049}\u{e0067}'

describe('what a tool says', () => {
  test.each([
    ['tags', `a${tags}b`, 'a‹U+E0049›‹U+E0067›b'],
    ['directions', 'a\u202eb\u2066c', 'a‹U+202E›b‹U+2066›c'],
    [
      'escapes of a terminal',
      'a\u001b[31m\u009b1m\u0007\b\f',
      'a‹U+001B›[31m‹U+009B›1m‹U+0007›‹U+0008›‹U+000C›',
    ],
    ['lines that JSON does not know', 'a\u2028b', 'a‹U+2028›b'],
    ['rows of selectors', 'a\ufe01\u{e0100}b', 'a‹U+FE01›‹U+E0100›b'],
    ['what only looks like an escape', String.raw`C:\u001b \\b \f`, String.raw`C:\u001b \\b \f`],
    ['lines, tabs and joiners', 'a\n\tb 👩‍💻 ❤️ می‌خواهم "q" \\', 'a\n\tb 👩‍💻 ❤️ می‌خواهم "q" \\'],
  ])('%s', (_name, text, expected) => {
    const { structuredContent, content } = said({ text, [text]: [text] })
    expect(structuredContent).toEqual({ text: expected, [expected]: [expected] })
    expect(content).toEqual([{ type: 'text', text: JSON.stringify(structuredContent) }])
  })

  test('half a character stays what it is', () => {
    expect(said({ text: '\ud800\u0001' }).structuredContent).toEqual({ text: '\ud800‹U+0001›' })
  })
})

test('of what a catalog says every character is seen', () => {
  expect(shown('a\u200db\u00ad')).toBe('a‹U+200D›b‹U+00AD›')
})
