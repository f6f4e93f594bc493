import { expect, test } from 'vitest'
import { fuzz } from '../fuzz/fuzz.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { calmStack } from './support/shared-stacks.ts'

/** The short form of `npm run prove -- fuzz`: the same requests every time, in a proof as many as there is time for. */
test('odd requests to every route find no fault, and in a proof no slow answer', async () => {
  const report = await fuzz({
    stack: await calmStack(),
    seed: 1,
    requests: atSize(300, 1500),
    ...(isProof ? { withinMs: 25_000 } : {}),
    slowMs: atSize(Number.POSITIVE_INFINITY, 250),
  })
  tell(JSON.stringify({ ...report, findings: report.findings.length }))
  expect(report.findings).toEqual([])
  expect(report.requests).toBeGreaterThan(atSize(299, 300))
  // They get past the door: not everything is refused before a handler sees it.
  expect(report.statuses['200'] ?? 0).toBeGreaterThan(report.requests / 20)
})
