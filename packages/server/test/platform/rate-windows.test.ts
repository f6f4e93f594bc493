import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '#platform/logger.ts'
import { RateWindows } from '#platform/rate-window.ts'
import { RedisLink } from '#platform/redis.ts'
import { nowhere } from '../support/house.ts'
import { redisUrl } from '../support/redis.ts'

const logger = createLogger('silent')
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
let unique = 0

/** The same rules whether Redis counts or, while it is away, this process does. */
describe.each(['redis', 'process'])('counted by %s', (counter) => {
  let redis: RedisLink
  let windows: RateWindows
  let localCounts = 0
  let counts = 0

  beforeAll(async () => {
    redis = new RedisLink({ url: counter === 'redis' ? redisUrl() : `redis://${nowhere}`, logger })
    windows = new RateWindows({ redis, onLocal: () => localCounts++ })
    while (counter === 'redis' && !redis.available) await wait(5)
  })

  afterAll(() => {
    redis.close()
    if (counter === 'process') expect(localCounts).toBe(counts)
    // On a machine that is taken away for a moment an answer of Redis may come too late.
    else expect(localCounts).toBeLessThan(counts / 2)
  })

  const count = (limits: Parameters<RateWindows['count']>[0]) => {
    counts++
    return windows.count(limits)
  }
  const window = (max: number, windowMs: number) => ({
    key: `t${process.pid}-${counter}-${++unique}`,
    max,
    windowMs,
  })

  test('lets exactly the maximum through, also all at once', async () => {
    const limit = window(50, 60_000)
    const states = (await Promise.all(Array.from({ length: 200 }, () => count([limit])))).flat()
    expect(states.filter((state) => state.allowed)).toHaveLength(50)
    expect(
      states
        .filter((state) => state.allowed)
        .map((state) => state.remaining)
        .sort((a, b) => a - b),
    ).toEqual(Array.from({ length: 50 }, (_, i) => i))
    expect(states.filter((state) => !state.allowed).every((state) => state.remaining === 0)).toBe(true)
  })

  test('slides: no stretch of one window ever holds more than the maximum', async () => {
    const limit = window(5, 300)
    // The counter's clock is read between these two moments.
    const passed: { before: number; after: number }[] = []
    while (passed.length < 20) {
      const before = Date.now()
      const [state] = await count([limit])
      if (state?.allowed) passed.push({ before, after: Date.now() })
      await wait(7)
    }
    for (const [i, { after }] of passed.slice(5).entries()) {
      expect(after - (passed[i]?.before ?? 0)).toBeGreaterThanOrEqual(300 - 1)
    }
  })

  test('after the told reset there is room again', async () => {
    const limit = window(1, 200)
    await count([limit])
    const [full] = await count([limit])
    expect(full?.allowed).toBe(false)
    expect(full?.resetMs).toBeGreaterThan(0)
    expect(full?.resetMs).toBeLessThanOrEqual(200)
    await wait((full?.resetMs ?? 0) + 5)
    expect((await count([limit]))[0]?.allowed).toBe(true)
  })

  test('a refusal by one window costs nothing in the others', async () => {
    const [wide, narrow] = [window(10, 60_000), window(1, 60_000)]
    await count([wide, narrow])
    for (let i = 0; i < 20; i++) await count([wide, narrow])
    const [state] = await count([wide])
    expect(state?.remaining).toBe(8)
  })
})
