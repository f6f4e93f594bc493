import { describe, expect, test } from 'vitest'
import { decideAllowance, narrowAllowance } from './amount.ts'

const input = { availableMilliDs: 80_000, minimumMilliDs: 50_000, maxCostMilliDs: 500_000, key: undefined }
const key = (limitMilliDs: number | null, spentMilliDs = 0, reservedMilliDs = 0) => ({
  limitMilliDs,
  spentMilliDs,
  reservedMilliDs,
})

describe('what a start sets aside', () => {
  test.each([
    ['all that is available', input, 80_000, 'balance'],
    ['its own maximum', { ...input, maxCostMilliDs: 60_000 }, 60_000, 'max_cost'],
    ['a maximum below the minimum', { ...input, maxCostMilliDs: 1 }, 1, 'max_cost'],
    ['nothing, if it may cost nothing', { ...input, maxCostMilliDs: 0 }, 0, 'max_cost'],
    ['exactly the minimum', { ...input, availableMilliDs: 50_000 }, 50_000, 'balance'],
    ['what is left of its key', { ...input, key: key(10_000, 4_000, 5_000) }, 1_000, 'key_limit'],
    ['no less for a key without a limit', { ...input, key: key(null, 4_000) }, 80_000, 'balance'],
    ['the balance where the key allows as much', { ...input, key: key(80_000) }, 80_000, 'balance'],
  ])('%s', (_name, input, amountMilliDs, limitedBy) => {
    expect(decideAllowance(input)).toEqual({ amountMilliDs, limitedBy })
  })

  test.each([
    ['too little available', { ...input, availableMilliDs: 49_999 }, 'credits'],
    ['a key that has spent its limit', { ...input, key: key(10_000, 6_000, 4_000) }, 'key_limit'],
    ['a key whose limit was lowered below its spending', { ...input, key: key(10, 6_000) }, 'key_limit'],
    ['both', { ...input, availableMilliDs: 0, key: key(0) }, 'credits'],
  ])('is refused for %s', (_name, input, reason) => {
    expect(decideAllowance(input)).toBe(reason)
  })
})

describe('what a run may still use', () => {
  const reserved = { amountMilliDs: 1_000, limitedBy: 'max_cost' as const }
  test.each([
    ['all of it without a key', undefined, reserved],
    ['all of it without a limit', key(null, 9_000, 1_000), reserved],
    ['all of it within the limit', key(10_000, 9_000, 1_000), reserved],
    ['less under a lowered limit', key(9_400, 9_000, 1_000), { amountMilliDs: 400, limitedBy: 'key_limit' }],
    ['less beside another run', key(2_000, 0, 2_500), { amountMilliDs: 500, limitedBy: 'key_limit' }],
    [
      'nothing under a limit already spent',
      key(0, 9_000, 1_000),
      { amountMilliDs: 0, limitedBy: 'key_limit' },
    ],
  ])('%s', (_name, budget, expected) => {
    expect(narrowAllowance(reserved, budget)).toEqual(expected)
  })
})
