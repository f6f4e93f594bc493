import { expect, test } from 'vitest'
import * as judges from '../../test/support/proof.ts'
import { isOfPatience } from './failures.ts'

/** As vitest writes it for `expectWithin`, and as those say it who wait for something. */
test.each([
  `${judges.lateWord}the poll: expected 12000 to be less than 10000`,
  'not so after 20000 ms: () => heard.length > 0',
  'Test timed out in 5000ms.',
])('what only came late has a second chance everywhere: %s', (message) => {
  expect(isOfPatience({ message })).toBe(true)
  expect(isOfPatience({ message: 'it failed', cause: { message } })).toBe(true)
})

test.each([
  'expected 2 to be 1',
  'the slowest: expected 12000 to be less than 10000',
  'expected [ late: it ] to equal []',
])('a wrong value has none where something must hold every time: %s', (message) => {
  expect(isOfPatience({ message })).toBe(false)
})

test('what should have been told must come before it comes by itself', () => {
  judges.expectWithin(6000, 500)
  judges.expectWithin(4000, 500, 'the word', 5000)
  expect(() => judges.expectWithin(6000, 500, 'the word', 5000)).toThrow(/^late: the word/)
  expect(() => judges.expectWithin(11_000, 500)).toThrow(/^late: it/)
})
