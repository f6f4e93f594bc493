import { createRequire } from 'node:module'

/** Loaded when the first pattern comes: most expressions have none, and every one has a process to start. */
const load = createRequire(import.meta.url)
/** @type {() => typeof import('re2js')} */
const re2 = () => load('re2js')

/** What the language calls a space beyond RE2's `\s`. */
const moreSpaces =
  '\\v\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const lineEnds = '\\n\\r\\x{2028}\\x{2029}'

/**
 * Stands in for RegExp where a pattern comes from an expression: the same answers for what both know, in time linear
 * in the text. What RE2 does not know (back references, look-around) is refused.
 */
export class LinearRegExp {
  lastIndex = 0
  /** @type {string} */
  source
  /** @type {string} */
  flags
  /** @type {import('re2js').RE2JS} */
  #compiled

  /**
   * @param {string | LinearRegExp} pattern
   * @param {string} [flags]
   */
  constructor(pattern, flags) {
    const known = pattern instanceof LinearRegExp ? pattern : undefined
    this.source = known?.source ?? String(pattern)
    this.flags = flags ?? known?.flags ?? ''
    this.#compiled = known && known.flags === this.flags ? known.#compiled : compile(this.source, this.flags)
  }

  get global() {
    return this.flags.includes('g')
  }

  /** @param {unknown} text */
  exec(text) {
    const input = String(text)
    const from = this.global ? this.lastIndex : 0
    const matcher = this.#compiled.matcher(input)
    if (from > input.length || !matcher.find(from)) {
      if (this.global) this.lastIndex = 0
      return null
    }
    if (this.global) this.lastIndex = matcher.end()
    const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, at) => matcher.group(at) ?? undefined)
    return Object.assign(groups, { index: matcher.start(), input })
  }

  /** @param {unknown} text */
  test(text) {
    return this.exec(text) !== null
  }

  toString() {
    return `/${this.source}/${this.flags}`
  }
}

/**
 * @param {string} source
 * @param {string} flags
 */
function compile(source, flags) {
  const { RE2JS } = re2()
  try {
    return RE2JS.compile(
      RE2JS.translateRegExp(widen(source)),
      (flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0) | (flags.includes('m') ? RE2JS.MULTILINE : 0),
    )
  } catch (error) {
    throw new SyntaxError(
      `/${source}/ is not a pattern of RE2, which knows no back references and no look-around: ${/** @type {Error} */ (error).message}`,
    )
  }
}

/**
 * RE2 means less by `\s` and more by `.` than the language does.
 *
 * @param {string} source
 */
function widen(source) {
  let inClass = false
  let wide = ''
  for (let at = 0; at < source.length; at++) {
    const char = source.charAt(at)
    if (char === '\\') {
      const escaped = char + source.charAt(++at)
      if (escaped === '\\s') wide += inClass ? `\\s${moreSpaces}` : `[\\s${moreSpaces}]`
      else if (escaped === '\\S' && !inClass) wide += `[^\\s${moreSpaces}]`
      else wide += escaped
    } else if (char === '.' && !inClass) {
      wide += `[^${lineEnds}]`
    } else {
      if (char === '[') inClass = true
      else if (char === ']') inClass = false
      wide += char
    }
  }
  return wide
}

/**
 * From now on every pattern that is put together while an expression runs is linear: those written in it, and those
 * that the library makes of its signatures and of its pictures of dates and numbers.
 */
export function installLinearRegExp() {
  const match = String.prototype.match
  Object.defineProperty(globalThis, 'RegExp', { value: LinearRegExp })
  Object.defineProperty(String.prototype, 'match', {
    /**
     * @this {string}
     * @param {string | RegExp} pattern
     */
    value: function (pattern) {
      return typeof pattern === 'string' ? new LinearRegExp(pattern).exec(this) : match.call(this, pattern)
    },
  })
}
