import { expect, test } from 'vitest'
import { runThreadCrashes } from '../chaos/thread-crashes.ts'

/** `npm run chaos:thread-crashes` is the full size. */
const tries = Number(process.env['CRASH_TRIES'] ?? 1)

test('wherever in a step a worker is killed, what a chat does is done once or said to be unknown', async () => {
  const { violations, crashes, points } = await runThreadCrashes({ tries })
  console.log(`${crashes} crashes at ${points} places, ${violations.length} violations`)
  expect(violations).toEqual([])
  expect(points).toBe(12)
  expect(crashes).toBeGreaterThanOrEqual(points)
}, 1_800_000)
