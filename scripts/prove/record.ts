import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
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

export function readRecord(at = file): Record {
  return JSON.parse(readFileSync(at, 'utf8')) as Record
}

/** Read again before it is written, as another one may have ended meanwhile. Synchronous, so nothing comes between. */
export function keepOutcome(name: string, outcome: Outcome, at = file): void {
  const locked = `${at}.lock`
  const unlock = lock(locked)
  try {
    const all = { ...readRecord(at), [name]: outcome }
    const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => a.localeCompare(b)))
    const written = `${locked}/${process.pid}.json`
    writeFileSync(written, `${JSON.stringify(sorted, null, 2)}\n`)
    renameSync(written, at)
  } finally {
    unlock()
  }
}

/** A folder is made by one only. That of somebody who was killed in between is taken over after a while. */
const staleMs = 10_000

function lock(locked: string): () => void {
  for (;;) {
    try {
      mkdirSync(locked)
      return () => rmSync(locked, { recursive: true, force: true })
    } catch {
      const since = statSync(locked, { throwIfNoEntry: false })?.mtimeMs
      if (since !== undefined && Date.now() - since > staleMs)
        rmSync(locked, { recursive: true, force: true })
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
}
