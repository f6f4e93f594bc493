import { expect, test } from 'vitest'
import { faultKinds } from '../chaos/faults/kinds.ts'
import { runMixedChaos } from '../chaos/mixed-chaos.ts'

/** One of each kind that is over soon; `npm run chaos` has them all, and the long ones. */
const kinds = faultKinds.filter(({ name }) =>
  [
    'postgres-kill',
    'postgres-pause-3',
    'connections-cut',
    'redis-kill',
    'redis-flush',
    'restate-kill',
    'api-kill',
    'api-pause-2.5',
    'worker-kill',
    'worker-pause-2.5',
    'worker-paused-at-engine-restart',
    'sandbox-kill',
    'storage-full',
  ].includes(name),
)

test('a mixed load under one fault of each short kind: nothing is lost, doubled or left behind', async () => {
  const { violations, figures } = await runMixedChaos({
    kinds,
    faults: kinds.length,
    operations: 400,
    lanes: 8,
    seed: Date.now() % 1_000_000,
    withinSeconds: 180,
  })
  console.log(JSON.stringify(figures))
  expect(violations).toEqual([])
  expect(figures.faults).toBe(kinds.length)
})
