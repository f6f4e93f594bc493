import { appendFileSync } from 'node:fs'
import { expect } from 'vitest'
import { isProof } from './sizes.ts'

/** What a proof saw, kept by `npm run prove` where that runs it. */
export type Seen =
  | { readonly kind: 'told'; readonly text: string }
  | {
      readonly kind: 'judged'
      readonly about: string
      readonly value: number
      readonly bound: number
      readonly unit: string
    }

/** A figure of a proof. The gate has none, and says nothing. */
export function tell(text: string): void {
  if (!isProof) return
  console.log(text)
  keep({ kind: 'told', text })
}

/** How the gate knows that something was only late, whatever the machine did meanwhile. */
export const lateWord = 'late: '

/**
 * In a proof within the bound; in the gate only not hung, and told when it was late. What comes by itself after a while,
 * where it is not waited for but told, has to come before that in the gate too.
 */
export function expectWithin(ms: number, boundMs: number, about = 'it', byItselfMs = Infinity): void {
  keep({ kind: 'judged', about: testing(about), value: ms, bound: boundMs, unit: ' ms' })
  if (isProof) expect(ms, about).toBeLessThan(boundMs)
  else expect(ms, `${lateWord}${about}`).toBeLessThan(Math.min(byItselfMs, Math.max(20 * boundMs, 10_000)))
  if (ms >= boundMs) console.log(`${lateWord}${about} took ${Math.round(ms)} ms, its proof allows ${boundMs}`)
}

/** One cost as a multiple of another, both taken in the same moment. In the gate only told. */
export function expectRatio(ratio: number, most: number, about: string): void {
  keep({ kind: 'judged', about: testing(about), value: ratio, bound: most, unit: ' times' })
  expect(ratio, about).toBeLessThanOrEqual(isProof ? most : Number.MAX_VALUE)
  if (ratio > most) console.log(`${lateWord}${about} is ${ratio.toFixed(2)} times, its proof allows ${most}`)
}

function testing(about: string): string {
  const test = expect.getState().currentTestName ?? ''
  return about === 'it' ? test : `${test}: ${about}`
}

function keep(seen: Seen): void {
  const file = process.env['PROOF_SEEN']
  if (file) appendFileSync(file, `${JSON.stringify(seen)}\n`)
}
