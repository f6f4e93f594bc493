import { expect, test } from 'vitest'
import { delayMs } from './retry.ts'

const policy = { attempts: 5, firstDelayMs: 100, maxDelayMs: 1000 }

test('each wait is twice the last, up to a limit, and spread over its upper half', () => {
  const waits = (random: number) =>
    [1, 2, 3, 4, 5, 60].map((attempt) => delayMs(policy, attempt, undefined, random))
  expect(waits(1)).toEqual([100, 200, 400, 800, 1000, 1000])
  expect(waits(0)).toEqual([50, 100, 200, 400, 500, 500])
})

test('what the provider asks for is the least, and more than the limit is not waited for', () => {
  expect(delayMs(policy, 1, 700, 0.5)).toBe(700)
  expect(delayMs(policy, 5, 10, 1)).toBe(1000)
  expect(delayMs(policy, 1, 1001)).toBeUndefined()
})
