import { expect, test } from 'vitest'
import { ServerClock } from './server-clock.ts'

const start = Date.parse('2026-11-16T12:00:00Z')
const dateAt = (serverMs: number) => new Date(serverMs).toUTCString()

test.each([-3_600_000, -301_000, 0, 999, 301_000, 3_600_000])(
  'a device that is %i ms ahead tells the server by its answers',
  (ahead) => {
    const clock = new ServerClock()
    for (let i = 0; i < 20; i++) {
      const serverMs = start + i * 1370
      clock.learn(dateAt(serverMs), serverMs + ahead)
    }
    const now = start + 60_000
    expect(Math.abs(clock.at(now + ahead) - now)).toBeLessThan(500)
  },
)

test('a clock that is set meanwhile is learned anew', () => {
  const clock = new ServerClock()
  clock.learn(dateAt(start), start)
  clock.learn(dateAt(start + 5000), start + 5000 + 3_600_000)
  expect(Math.abs(clock.at(start + 6000 + 3_600_000) - (start + 6000))).toBeLessThanOrEqual(1000)
})

test('without an answer, or with one that names no date, the device is believed', () => {
  const clock = new ServerClock()
  clock.learn(null, start)
  clock.learn('soon', start)
  expect(clock.at(start)).toBe(start)
})
