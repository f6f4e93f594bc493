import { expect, test } from 'vitest'
import { runTraceMerge } from '../chaos/trace-merge.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { roughStack } from './support/shared-stacks.ts'

/** The short form of `npm run prove -- chaos-traces`. */
test('three logs, three agents and eight readers on one trace, while API processes are killed', async () => {
  const { violations, figures } = await runTraceMerge({
    seconds: atSize(4, 10),
    killEveryMs: atSize(1500, 3000),
    stack: await roughStack(),
  })
  tell(JSON.stringify(figures))
  expect(violations).toEqual([])
  expect(figures.kills).toBeGreaterThanOrEqual(atSize(1, 2))
  expect(figures.appended).toBeGreaterThan(atSize(0, 20))
  expect(figures.produced).toBeGreaterThan(atSize(0, 100))
  if (isProof) expect(figures.repeatsRefused).toBeGreaterThan(0)
})
