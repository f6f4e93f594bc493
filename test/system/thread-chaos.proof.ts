import { expect, test } from 'vitest'
import { runThreadChaos, type ThreadChaosOptions } from '../chaos/thread-chaos.ts'

/** `npm run chaos:threads` is the full size, with a worker that stands still and parts that are killed. */
const short: ThreadChaosOptions = {
  senders: 6,
  messagesEach: 6,
  seconds: 10,
  threads: 3,
  apis: 2,
  workers: 2,
  killWorkerEveryMs: 2500,
  killApiEveryMs: 4000,
  mostKills: 3,
  once: [],
  freezeMs: 0,
  freezes: 0,
  interrupts: 0.3,
}

test('while workers and API processes are killed no message is lost and none answered twice', async () => {
  const { violations, figures } = await runThreadChaos(short)
  expect(violations).toEqual([])
  expect(figures.messages).toBe(36)
  expect(figures.kills).toBeGreaterThan(0)
  expect(figures.interrupted).toBeGreaterThan(0)
  // Longer than it waits for all runs to end, so that it says which did not.
}, 240_000)
