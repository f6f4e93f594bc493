import { expect, test } from 'vitest'
import { diffLines, textLines, valueLines } from './lines.ts'

test('a change is told line by line', () => {
  expect(diffLines('@@ -1 +1 @@\n same\n-old\n+new').map(({ kind, text }) => [kind, text])).toEqual([
    ['head', '@@ -1 +1 @@'],
    ['plain', 'same'],
    ['removed', 'old'],
    ['added', 'new'],
  ])
})

test('values keep their names, and long ones their lines', () => {
  expect(valueLines({ repo: 'acme/shop', draft: false, body: 'a\nb' })).toEqual([
    { kind: 'pair', name: 'repo', text: 'acme/shop' },
    { kind: 'pair', name: 'draft', text: 'false' },
    { kind: 'pair', name: 'body', text: 'a' },
    { kind: 'pair', name: '', text: 'b' },
  ])
  expect(valueLines([1])).toHaveLength(3)
})

test('one word without end counts as many lines', () => {
  expect(textLines('x'.repeat(100_000))).toHaveLength(250)
})
