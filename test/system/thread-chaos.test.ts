import { expect, test } from 'vitest'
import { runThreadChaos, type ThreadChaosOptions } from '../chaos/thread-chaos.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { roughStack } from './support/shared-stacks.ts'

/** `npm run prove -- chaos-threads` is the full size, with a worker that stands still and parts that are killed. */
const short: ThreadChaosOptions = {
  senders: atSize(4, 6),
  messagesEach: atSize(3, 6),
  seconds: atSize(4, 10),
  threads: atSize(2, 3),
  apis: 2,
  workers: 2,
  killWorkerEveryMs: atSize(1500, 2500),
  killApiEveryMs: atSize(2500, 4000),
  mostKills: atSize(1, 3),
  once: [],
  freezeMs: 0,
  freezes: 0,
  interrupts: 0.3,
}

test('while workers and API processes are killed no message is lost and none answered twice', async () => {
  const { violations, figures } = await runThreadChaos({ ...short, stack: await roughStack() })
  tell(JSON.stringify(figures))
  expect(violations).toEqual([])
  expect(figures.messages).toBe(short.senders * short.messagesEach)
  expect(figures.kills).toBeGreaterThan(0)
  if (isProof) expect(figures.interrupted).toBeGreaterThan(0)
  // Longer than it waits for all runs to end, so that it says which did not.
}, 240_000)
