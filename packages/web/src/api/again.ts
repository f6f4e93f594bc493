import type { Changed } from './live.ts'
import { queries } from './queries.ts'

/** Reads again what is shown: at once for the first word, and at most every ten seconds in a storm of them. */
const waitsMs = [0, 1000, 1000, 3000, 3000, 10_000]
const memoryMs = 20_000
/** What is asked for only when a person asks: a look at a wrong code counts against them. */
const byHand = new Set<unknown>(['pairing', 'providers', 'challenge'])

let recent = 0
let isWaiting = false
const wanted = new Set<unknown>()

/** Of what is shown by more than the query of its own name. */
const shownAs: Readonly<Record<string, readonly string[]>> = {
  members: ['members', 'invitations'],
  oauthGrants: ['grants'],
  session: ['session', 'sessions'],
  workspaces: ['session'],
}

export function readAgain(what: Changed): void {
  for (const kind of what === 'all' ? [what] : what.flatMap((kind) => shownAs[kind] ?? [kind]))
    wanted.add(kind)
  if (isWaiting) return
  isWaiting = true
  setTimeout(readNow, waitsMs[Math.min(recent, waitsMs.length - 1)])
}

function readNow(): void {
  const names = new Set(wanted)
  isWaiting = false
  wanted.clear()
  recent += 1
  setTimeout(() => {
    recent -= 1
  }, memoryMs)
  const isMeant = (name: unknown) => !byHand.has(name) && (names.has('all') || names.has(name))
  void queries.invalidateQueries({ predicate: ({ queryKey }) => isMeant(queryKey[0]) })
}
