import { expect } from 'vitest'
import { isProof } from './sizes.ts'

/** In a proof within the bound; in the gate only not hung, and told when it was late. */
export function expectWithin(ms: number, boundMs: number, about = 'it'): void {
  expect(ms, about).toBeLessThan(isProof ? boundMs : Math.max(20 * boundMs, 10_000))
  if (ms >= boundMs) console.log(`late: ${about} took ${Math.round(ms)} ms, its proof allows ${boundMs}`)
}

/** One cost as a multiple of another, both taken in the same moment. In the gate only told. */
export function expectRatio(ratio: number, most: number, about: string): void {
  expect(ratio, about).toBeLessThanOrEqual(isProof ? most : Number.MAX_VALUE)
  if (ratio > most) console.log(`late: ${about} is ${ratio.toFixed(2)} times, its proof allows ${most}`)
}
