import { expect, test } from 'vitest'
import { ago, amountOf, leftIn } from './time.ts'

test.each([
  [0, '0:00'],
  [-5000, '0:00'],
  [48_000, '0:48'],
  [47_001, '0:48'],
  [438_000, '7:18'],
  [3_600_000, '60:00'],
  [3_600_001, '1 h'],
  [200_000_000, '2 days'],
])('%i ms are left as %s', (ms, told) => {
  expect(leftIn(ms)).toBe(told)
})

test('amounts are exact', () => {
  expect([0, 20, 12.4, 1184.605].map(amountOf)).toEqual(['0 Ds', '20 Ds', '12.4 Ds', '1,184.605 Ds'])
})

test('the past is told in words', () => {
  const now = Date.parse('2026-11-16T12:00:00Z')
  expect(ago('2026-11-16T11:59:50Z', now)).toBe('just now')
  expect(ago('2026-11-16T11:51:00Z', now)).toBe('9 minutes ago')
  expect(ago('2026-11-14T11:51:00Z', now)).toBe('2 days ago')
})
