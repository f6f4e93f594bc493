import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What was seen when a proof ran last. */
export interface Outcome {
  readonly passed: boolean
  /** Of which commit, and whether the checkout had changes that are in none. */
  readonly commit: string
  readonly date: string
  readonly minutes: number
  /** Load before it began, and how much of the machine others had while it ran. */
  readonly machine: string
  readonly figures: readonly string[]
}

export type Record = Readonly<{ [name: string]: Outcome }>

const file = join(import.meta.dirname, '../../docs/proofs.json')

export function readRecord(): Record {
  return JSON.parse(readFileSync(file, 'utf8')) as Record
}

/** Read again before it is written, as another one may have ended meanwhile. */
export function keepOutcome(name: string, outcome: Outcome): void {
  const all = { ...readRecord(), [name]: outcome }
  const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => a.localeCompare(b)))
  writeFileSync(`${file}.new`, `${JSON.stringify(sorted, null, 2)}\n`)
  renameSync(`${file}.new`, file)
}
