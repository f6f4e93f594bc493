import { expect, test } from 'vitest'
import { runThreadCrashes } from '../chaos/thread-crashes.ts'
import { tell } from '../support/proof.ts'

test('wherever in a step a worker is killed, what a chat does is done once or said to be unknown', async () => {
  const { violations, crashes, points } = await runThreadCrashes({ tries: 20 })
  tell(`${crashes} crashes at ${points} places, ${violations.length} violations`)
  expect(violations).toEqual([])
  expect(points).toBe(12)
  expect(crashes).toBeGreaterThanOrEqual(points)
}, 1_800_000)
