import { expect, test } from 'vitest'
import { fuzz } from '../fuzz/fuzz.ts'

/** The short form of `npm run fuzz`: the same requests every time, as many as there is time for. */
test('odd requests to every route find no fault and no slow answer', async () => {
  const report = await fuzz({ seed: 1, requests: 1500, withinMs: 25_000 })
  console.log(JSON.stringify({ ...report, findings: report.findings.length }))
  expect(report.findings).toEqual([])
  expect(report.requests).toBeGreaterThan(300)
  // They get past the door: not everything is refused before a handler sees it.
  expect(report.statuses['200'] ?? 0).toBeGreaterThan(report.requests / 20)
})
