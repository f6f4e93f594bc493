import { expect, test } from 'vitest'
import { crashPoints } from '../chaos/planted-mistakes.ts'
import { runThreadCrashes } from '../chaos/thread-crashes.ts'
import { tell } from '../support/proof.ts'
import { atSize } from '../support/sizes.ts'

test('wherever in a step a worker is killed, what a chat does is done once or said to be unknown', {
  timeout: atSize(300_000, 1_800_000),
}, async () => {
  expect(crashPoints).toHaveLength(12)
  const { violations, crashes, points } = await runThreadCrashes({
    tries: atSize(1, 20),
    points: crashPoints.filter((_, nth) => nth % atSize(4, 1) === 0),
  })
  tell(`${crashes} crashes at ${points} places, ${violations.length} violations`)
  expect(violations).toEqual([])
  expect(points).toBe(atSize(3, 12))
  expect(crashes).toBeGreaterThanOrEqual(points)
})
