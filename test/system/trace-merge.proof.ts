import { expect, test } from 'vitest'
import { runTraceMerge } from '../chaos/trace-merge.ts'

/** The short form of `npm run chaos:traces`. */
test('three logs, three agents and eight readers on one trace, while API processes are killed', async () => {
  const { violations, figures } = await runTraceMerge({ seconds: 10, killEveryMs: 3000 })
  console.log(JSON.stringify(figures))
  expect(violations).toEqual([])
  expect(figures.kills).toBeGreaterThanOrEqual(2)
  expect(figures.appended).toBeGreaterThan(20)
  expect(figures.repeatsRefused).toBeGreaterThan(0)
  expect(figures.produced).toBeGreaterThan(100)
})
