import type { Attack } from './attack.ts'

/** Characters to try a pattern's classes with: at least one of every kind that a class could mean. */
const candidates = [
  ...'aZ0 \t\n\r_-.:/\\@"\'=#?&<>()[]{}$!~,;+*%^|`',
  '\u0000',
  '\u200d',
  '\u00e9',
  '\u{1f600}',
]
const fewest = 3
const most = 8

/**
 * Inputs made of the pattern's own characters: of each of its atoms one that fits, alone and in pairs, ended in ways
 * that make a match fail late. Coarser than what somebody who thinks finds, but it forgets no pattern.
 */
export function generateAttacks(pattern: RegExp): Attack[] {
  const samples = samplesOf(pattern)
  const pumps = new Set(samples)
  for (const first of samples) for (const second of samples) if (first !== second) pumps.add(first + second)
  for (const literal of literalsOf(pattern.source)) pumps.add(literal)
  const start = literalsOf(pattern.source)[0] ?? ''
  const ends = ['', '\u0001', '\n', ' !']
  return [...pumps].flatMap((pump) =>
    ['', ...(start ? [start] : [])].flatMap((before) => ends.map((end) => [before, pump, end] as const)),
  )
}

function samplesOf(pattern: RegExp): string[] {
  const flags = pattern.flags.replace('g', '')
  const found = new Set<string>()
  for (const atom of pattern.source.match(
    /\[(?:[^\]\\]|\\.)*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\.|[^()|?*+{}^$]/gu,
  ) ?? []) {
    const single = new RegExp(`^${atom}$`, flags)
    const fitting = candidates.find((character) => single.test(character))
    if (fitting !== undefined) found.add(fitting)
  }
  for (const character of candidates) if (found.size < fewest) found.add(character)
  return [...found].slice(0, most)
}

/** Runs of plain characters, as a near miss begins with them. */
function literalsOf(source: string): string[] {
  const runs = source.match(/(?:[A-Za-z0-9 _:"'-]|\\[/.()[\]])+/g) ?? []
  return runs
    .map((run) => run.replace(/\\/g, ''))
    .filter((run) => run.length > 1)
    .slice(0, 4)
}
