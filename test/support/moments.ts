import { expect } from 'vitest'

/**
 * That a time lies so far ahead of the moment at which somebody gave it. That moment is not known, only that it came
 * after the question and before now, however long the answer took; a second is for what was rounded.
 */
export function expectAhead(time: number, askedMs: number, aheadMs: number): void {
  expect(time).toBeGreaterThanOrEqual(askedMs + aheadMs - 1000)
  expect(time).toBeLessThanOrEqual(Date.now() + aheadMs + 1000)
}
