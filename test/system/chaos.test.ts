import { expect, test } from 'vitest'
import { faultKinds } from '../chaos/faults/kinds.ts'
import { usualDemands } from '../chaos/mixed/check.ts'
import { runMixedChaos } from '../chaos/mixed-chaos.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof, patienceFor } from '../support/sizes.ts'

/** In the gate each part is lost once. */
const parts = ['postgres-kill', 'redis-kill', 'restate-kill', 'api-kill', 'worker-kill', 'sandbox-kill']
/** One of each kind that is over soon; `npm run prove -- chaos` has them all, and the long ones. */
const soonOver = [
  ...parts,
  'postgres-pause-3',
  'connections-cut',
  'redis-flush',
  'api-pause-2.5',
  'worker-pause-2.5',
  'worker-paused-at-engine-restart',
  'storage-full',
]
const kinds = faultKinds.filter(({ name }) => (isProof ? soonOver : parts).includes(name))
/** With it the worker is killed first, so that its lease of 20 s runs out while the other faults happen. */
const gateSeed = 14

test(
  'a mixed load under one fault of each short kind: nothing is lost, doubled or left behind',
  async () => {
    const { violations, figures } = await runMixedChaos({
      kinds,
      faults: kinds.length,
      operations: atSize(120, 400),
      lanes: atSize(4, 8),
      seed: atSize(gateSeed, Date.now() % 1_000_000),
      withinSeconds: atSize(240, 180),
      longSeconds: atSize(8, 25),
      demands: isProof ? usualDemands : { succeededShare: 0, endedWithinMs: patienceFor(60_000) },
    })
    tell(JSON.stringify(figures))
    expect(violations).toEqual([])
    expect(kinds).toHaveLength(atSize(6, 13))
    expect(figures.faults).toBe(kinds.length)
  },
  atSize(420_000, 300_000),
)
