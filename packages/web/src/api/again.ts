import { queries } from './queries.ts'

/** Reads again what is shown: at once for the first word, and at most every ten seconds in a storm of them. */
const waitsMs = [0, 1000, 1000, 3000, 3000, 10_000]
const memoryMs = 20_000
/** What is asked for only when a person asks: a look at a wrong code counts against them. */
const byHand = new Set<unknown>(['pairing', 'providers', 'challenge'])

let recent = 0
let isWaiting = false
let wanted: 'all' | 'approvals' = 'approvals'

export function readAgain(what: 'all' | 'approvals'): void {
  if (what === 'all') wanted = 'all'
  if (isWaiting) return
  isWaiting = true
  setTimeout(readNow, waitsMs[Math.min(recent, waitsMs.length - 1)])
}

function readNow(): void {
  const queryKey = wanted === 'all' ? [] : ['approvals']
  isWaiting = false
  wanted = 'approvals'
  recent += 1
  setTimeout(() => {
    recent -= 1
  }, memoryMs)
  void queries.invalidateQueries({ queryKey, predicate: (query) => !byHand.has(query.queryKey[0]) })
}
