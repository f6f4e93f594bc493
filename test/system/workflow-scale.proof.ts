import { expect, test } from 'vitest'
import { measureWaitingRuns } from '../chaos/waiting-runs.ts'

/** The short form of `node test/chaos/workflow-scale.ts`; how fast it reads is for a quiet machine to tell. */
test('600 runs that wait are held by no worker, and any of them can be answered or canceled', {
  timeout: 180_000,
}, async () => {
  const { violations, figures } = await measureWaitingRuns({
    suspended: 300,
    sleeping: 300,
    ended: 60,
    looks: 200,
  })
  console.log(JSON.stringify(figures))
  expect(violations).toEqual([])
  const { before, after } = figures.workerMiB
  for (const [index, was] of before.entries()) expect((after[index] ?? 0) - was).toBeLessThan(100)
})
