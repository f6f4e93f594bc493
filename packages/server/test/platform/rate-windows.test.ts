import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createLogger } from '#platform/logger.ts'
import { RateWindows } from '#platform/rate-window.ts'
import { RedisLink } from '#platform/redis.ts'
import { nowhere } from '../support/house.ts'

const logger = createLogger('silent')
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
let unique = 0

/** The same rules whether Redis counts or, while it is away, this process does. */
describe.each(['redis', 'process'])('counted by %s', (counter) => {
  let redis: RedisLink
  let windows: RateWindows
  let localCounts = 0

  beforeAll(async () => {
    redis = new RedisLink({ url: counter === 'redis' ? inject('redisUrl') : `redis://${nowhere}`, logger })
    windows = new RateWindows({ redis, onLocal: () => localCounts++ })
    while (counter === 'redis' && !redis.available) await wait(5)
  })

  afterAll(() => {
    redis.close()
    expect(localCounts > 0).toBe(counter === 'process')
  })

  const window = (max: number, windowMs: number) => ({
    key: `t${process.pid}-${counter}-${++unique}`,
    max,
    windowMs,
  })

  test('lets exactly the maximum through, also all at once', async () => {
    const limit = window(50, 60_000)
    const states = (await Promise.all(Array.from({ length: 200 }, () => windows.count([limit])))).flat()
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
    const passed: number[] = []
    const end = Date.now() + 1500
    while (Date.now() < end) {
      const before = performance.now()
      const [state] = await windows.count([limit])
      // The counter's clock is read between these two moments; the later one keeps the check strict.
      if (state?.allowed) passed.push(before)
      await wait(7)
    }
    expect(passed.length).toBeGreaterThan(15)
    for (let i = 5; i < passed.length; i++) {
      expect((passed[i] ?? 0) - (passed[i - 5] ?? 0)).toBeGreaterThan(300 - 12)
    }
  })

  test('after the told reset there is room again', async () => {
    const limit = window(1, 200)
    await windows.count([limit])
    const [full] = await windows.count([limit])
    expect(full?.allowed).toBe(false)
    expect(full?.resetMs).toBeGreaterThan(0)
    expect(full?.resetMs).toBeLessThanOrEqual(200)
    await wait((full?.resetMs ?? 0) + 5)
    expect((await windows.count([limit]))[0]?.allowed).toBe(true)
  })

  test('a refusal by one window costs nothing in the others', async () => {
    const [wide, narrow] = [window(10, 60_000), window(1, 60_000)]
    await windows.count([wide, narrow])
    for (let i = 0; i < 20; i++) await windows.count([wide, narrow])
    const [state] = await windows.count([wide])
    expect(state?.remaining).toBe(8)
  })
})
