import assert from 'node:assert/strict'

/**
 * One test for two questions. The gate asks whether it is right: at the smallest size that can fail, and by no clock,
 * because the machine may be half taken away. A proof (`PROOF=1`) asks whether it holds at its size and in its time.
 */
export const isProof = process.env['PROOF'] === '1'

/** How many histories, faults, rows or streams. */
export function atSize(gate: number, proof: number): number {
  return isProof ? proof : gate
}

/** In a proof within the bound; in the gate only not hung, and told when it was late. */
export function expectWithin(ms: number, boundMs: number, about = 'it'): void {
  const mostMs = isProof ? boundMs : Math.max(20 * boundMs, 10_000)
  assert.ok(ms < mostMs, `${about} took ${ms.toFixed(1)} ms of ${mostMs}`)
  if (ms >= boundMs) console.log(`late: ${about} took ${Math.round(ms)} ms, its proof allows ${boundMs}`)
}

/** One cost as a multiple of another, both taken in the same moment. In the gate only told. */
export function expectRatio(ratio: number, most: number, about: string): void {
  assert.ok(ratio <= most || !isProof, `${about} is ${ratio.toFixed(2)} times, allowed are ${most}`)
  if (!(ratio <= most)) console.log(`late: ${about} is ${ratio.toFixed(2)} times, its proof allows ${most}`)
}

/** How long to wait for what comes by itself. A limit of the gate is there for what never comes, not for what is slow. */
export function patienceFor(ms: number): number {
  return isProof ? ms : Math.max(3 * ms, 20_000)
}
