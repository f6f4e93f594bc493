import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { schemaLimits } from './limits.ts'

/** A pattern that runs in time linear in the text, on RE2. */
export interface Pattern {
  /** Instructions of the compiled program; text length times this bounds the work of a test. */
  readonly programSize: number
  test(text: string): boolean
}

const cache = new LRUCache<string, Pattern>({ max: 256 })

/**
 * Undefined for what RE2 does not know (back references, look-around) and for programs over the limit: nested counts
 * make a short pattern a long program, and compiling it would hold up the process, so its size is estimated first.
 */
export function compilePattern(source: string): Pattern | undefined {
  const known = cache.get(source)
  if (known) return known
  if (source.length > schemaLimits.patternLength) return undefined
  if (Math.max(estimateProgram(source), costToCompile(source)) > schemaLimits.patternProgram) return undefined
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source))
    const pattern = { programSize: compiled.programSize(), test: (text: string) => compiled.test(text) }
    cache.set(source, pattern)
    return pattern
  } catch {
    return undefined
  }
}

const unicodeClass = /\\[pP]/g
const ignoresCase = /\(\?[a-zA-Z-]*i/
/** Not from one plain letter or digit to another. */
const wideRange = /-(?<![a-zA-Z0-9]-(?=[a-zA-Z0-9]))/g

/**
 * What compiling takes beside the program, in instructions: a Unicode class is hundreds of ranges, and without regard to
 * case each character of a range is looked up. Seen: 64 classes 20 ms, 63 ranges 250 ms, in programs of three instructions.
 */
export function costToCompile(source: string): number {
  const classes = source.match(unicodeClass)?.length ?? 0
  const folded = ignoresCase.test(source) ? (source.match(wideRange)?.length ?? 0) : 0
  return 20 + 100 * classes + 200 * folded
}

const counted = /^\{(\d{1,4})(?:,(\d{0,4}))?\}/

/** Roughly the instructions of the compiled program, by one pass over the text. */
export function estimateProgram(source: string): number {
  const groups = [1]
  let atom = 0
  const grow = (size: number) => groups.push((groups.pop() ?? 0) + size)
  for (let at = 0; at < source.length; at++) {
    const char = source.charAt(at)
    const count = char === '{' ? counted.exec(source.slice(at, at + 12)) : null
    if (count) {
      const times = Math.max(Number(count[1]), Number(count[2] || 0), 1)
      // An optional repetition costs an instruction of its own beside the repeated one.
      const size = (times - 1) * (atom + 1)
      grow(size)
      atom += size
      at += count[0].length - 1
    } else if (char === '(') {
      groups.push(2)
    } else if (char === ')') {
      atom = groups.pop() ?? 0
      if (groups.length === 0) groups.push(0)
      grow(atom)
    } else if ('*+?|'.includes(char)) {
      grow(1)
      atom += 1
    } else {
      at = endOfAtom(source, at)
      atom = 1
      grow(1)
    }
  }
  return groups.reduce((sum, size) => sum + size, 0)
}

function endOfAtom(source: string, at: number): number {
  if (source.charAt(at) === '\\') {
    const braced = /^\\[pPxu]\{[^}]*\}/.exec(source.slice(at))
    return at + (braced ? braced[0].length - 1 : 1)
  }
  if (source.charAt(at) !== '[') return at
  let end = at + 1
  if (source.charAt(end) === '^') end++
  // A bracket right at the start stands for itself.
  if (source.charAt(end) === ']') end++
  while (end < source.length && source.charAt(end) !== ']') end += source.charAt(end) === '\\' ? 2 : 1
  return end
}
