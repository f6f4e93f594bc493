import { createContext, runInContext } from 'node:vm'
import { atSize } from '../support/sizes.ts'
import type { Attack } from './attack.ts'
import { generateAttacks } from './attacks.ts'

/**
 * The one thing of the gate that has to be timed: what a pattern does cannot be counted from outside. So each time is
 * that of this thread, the best of several, and between what is allowed and what is found are some hundred times.
 */
const kib = 1024
/** A linear pattern reads ten kilobytes in some hundredths of a millisecond, a quadratic one takes tens. */
const suspiciousMs = 1
/** By ten kilobytes, and by a hundred: nothing linear takes that long, and ten times more need not be waited for. */
const hopelessMs = [20, 200] as const
const rounds = 3
/** Below this a growth is noise (caches, the collector); no quadratic pattern stays below it at a megabyte. */
const negligibleMs = 50
/** Ten for what is linear, a hundred for what is quadratic. */
const mostGrowth = atSize(40, 12)

/** The first of the given and of the generated attacks that takes more than linear time, and how it shows. */
export function findSlowAttack(pattern: RegExp, worst: readonly Attack[]): string | undefined {
  const generated = generateAttacks(pattern)
  if (!ends(pattern, [...worst, ...generated])) return 'does not end with a line of 200 characters'
  for (const attack of [...worst, ...generated]) {
    const why = findSlowness(pattern, attack, worst.includes(attack))
    if (why !== undefined) return `${JSON.stringify(attack)}: ${why}`
  }
  return undefined
}

/**
 * Whether all attacks are done with at all at the length of a line. What doubles with each character never ends, and
 * only the machinery of contexts can stop it; what ends takes no millisecond, so of three times one is enough.
 */
function ends(pattern: RegExp, attacks: readonly Attack[]): boolean {
  const texts = attacks.map((attack) => textOf(attack, 200))
  const read = 'for (const text of texts) { pattern.lastIndex = 0; pattern.exec(text) }'
  for (let round = 0; round < rounds; round++) {
    try {
      runInContext(read, createContext({ pattern, texts }), { timeout: 700 })
      return true
    } catch {
      // Once more.
    } finally {
      pattern.lastIndex = 0
    }
  }
  return false
}

/** Why the pattern is too slow for this input, or undefined. */
function findSlowness(pattern: RegExp, attack: Attack, thorough: boolean): string | undefined {
  const small = cpuMs(pattern, attack, 10 * kib)
  if (small > hopelessMs[0]) return `${small.toFixed()} ms for 10 kB`
  if (!thorough && small < suspiciousMs) return undefined
  let why: string | undefined
  // A pattern that is slow is so every time; a collector or a neighbour that came between is not.
  for (let round = 0; round < rounds; round++) {
    why = findGrowth(pattern, attack)
    if (why === undefined) return undefined
  }
  return why
}

/**
 * Ten short texts against one that is ten times as long: what is linear takes as long for both, so a neighbour on the
 * machine disturbs both alike.
 */
function findGrowth(pattern: RegExp, attack: Attack): string | undefined {
  const base = cpuMs(pattern, attack, 100 * kib, 10) / 10
  if (base > hopelessMs[1]) return `${base.toFixed()} ms for 100 kB`
  const tenfold = cpuMs(pattern, attack, 1000 * kib)
  if (tenfold <= negligibleMs || tenfold <= base * mostGrowth) return undefined
  return `${base.toFixed(1)} ms for 100 kB and ${tenfold.toFixed(1)} ms for ten times that`
}

/** Time of this thread on a processor, so that whatever else the machine does is not counted; the best of several. */
function cpuMs(pattern: RegExp, attack: Attack, length: number, times = 1): number {
  const text = textOf(attack, length)
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const started = process.threadCpuUsage()
    for (let time = 0; time < times; time++) readThrough(pattern, text)
    const { user, system } = process.threadCpuUsage(started)
    best = Math.min(best, (user + system) / 1000)
    // No second try for what is slow beyond doubt.
    if (best > 5 * times * hopelessMs[1]) break
  }
  return best
}

/**
 * Every match of a pattern that goes on, and the first of another. Nothing is kept: a list of a million matches is work
 * of the collector, which grows faster than the text.
 */
function readThrough(pattern: RegExp, text: string): void {
  pattern.lastIndex = 0
  if (!pattern.global) {
    pattern.exec(text)
    return
  }
  for (let from = 0; pattern.test(text); from = pattern.lastIndex) {
    if (pattern.lastIndex === from) pattern.lastIndex++
  }
}

function textOf([before, repeated, behind]: Attack, length: number): string {
  return before + repeated.repeat(Math.ceil(length / repeated.length)) + behind
}
