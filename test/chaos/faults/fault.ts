import type { SpawnedStack } from '../../../stack/client.ts'
import type { BlobDisk } from './blob-disk.ts'

export interface FaultParts {
  readonly stack: SpawnedStack
  readonly disk: BlobDisk
  readonly random: () => number
}

/** What a fault met. */
export interface Met {
  readonly pids?: readonly number[]
  readonly executionIds?: readonly string[]
  readonly note?: string
  /** Said by who knows better than the moment in which it comes back. */
  readonly endedAt?: number
}

export interface FaultKind {
  readonly name: string
  /** What of the stack it takes away: two at once are of different parts. */
  readonly part: string
  /** Whether it hurts most when many runs of workflows are about to be driven, or many executions to be started. */
  readonly aim: 'runs' | 'starts'
  /** About how long it takes, in seconds. */
  readonly seconds: number
  /** Comes back when its cause is gone. What was killed may still be starting then. */
  fire(parts: FaultParts): Promise<Met>
}

/** Each kind as often as any other, give or take one, and in no order that a stack could get used to. */
export function planFaults<K>(kinds: readonly K[], count: number, random: () => number): K[] {
  const planned: K[] = []
  while (planned.length < count) planned.push(...shuffled(kinds, random))
  return planned.slice(0, count)
}

export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}

/** The same numbers for the same seed (mulberry32): a plan can be had again, though never the same race. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
