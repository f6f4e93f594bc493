import { secretPattern } from '#platform/secrets.ts'

export type RedactionKind =
  | 'guildhall_secret'
  | 'provider_key'
  | 'cloud_key'
  | 'jwt'
  | 'pem'
  | 'authorization'
  | 'credential'
  | 'known_secret'
  | 'email'
  | 'profile'
  | 'marked'
  | 'unscannable'

/** What is to be taken out of a text, from `start` to before `end`. */
export interface Span {
  readonly start: number
  readonly end: number
  readonly kind: RedactionKind
}

/** As much of one piece says nothing that could be looked through: a picture, an archive. */
const leastBlob = 1024

/** Shorter than this is nothing with a shape of its own. */
const leastRun = 16

/** 1 for a character that parts runs. */
const cuts = new Uint8Array(128)
for (const character of ' \t\n\v\f\r"\'`<>(){}[],;|\\') cuts[character.charCodeAt(0)] = 1

/** Words that a shape begins with. A run without any of them is none. */
const anchorPattern =
  /guild_|sk-|[sr]k_|gh[opsru]_|github_pat_|gl(?:pat|sa)[-_]|xox|xapp-|\/services\/T|whsec_|npm_|pypi-|hf_|gsk_|xai-|r8_|pplx-|lin_api_|ntn_|hvs\.|dop_v1_|dapi|shp|figd_|PMAK-|SG\.|AGE-SEC|:AA|A[KS]IA|AIza|ya29\.|GOCSPX-|8Q~|ccountKey=|sig=|eyJ|:\/\//

/** The group `secret`, where there is one, is what is taken out. All of them take time in proportion to the run. */
const shapes: readonly (readonly [kind: RedactionKind, pattern: RegExp])[] = [
  ['guildhall_secret', secretPattern],
  ['provider_key', /sk-[\w-]{20,}/g],
  [
    'provider_key',
    /(?:gh[opsru]_|npm_|[rs]k_(?:live|test)_|whsec_|hf_|gsk_|r8_|ntn_|lin_api_)[A-Za-z0-9]{16,}/g,
  ],
  [
    'provider_key',
    /(?:github_pat_|glpat-|glsa_|xox[a-z]-|xapp-|xai-|pplx-|hvs\.|pypi-|figd_|PMAK-)[\w-]{16,}/g,
  ],
  ['provider_key', /(?:dop_v1_|dapi|shp(?:at|ca|pa|ss)_)[0-9a-f]{32,}/g],
  ['provider_key', /SG\.[\w-]{16,}\.[\w-]{16,}/g],
  ['provider_key', /AGE-SECRET-KEY-1[0-9A-Z]{20,}/g],
  ['provider_key', /(?<!\d)\d{8,10}:AA[\w-]{30,}/g],
  ['provider_key', /\/services\/(?<secret>T[0-9A-Z]{6,}\/B[0-9A-Z]{6,}\/[0-9A-Za-z]{16,})/g],
  ['cloud_key', /(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])/g],
  ['cloud_key', /AIza[\w-]{35}/g],
  ['cloud_key', /(?:ya29\.|GOCSPX-)[\w-]{20,}/g],
  ['cloud_key', /[\w~.-]{3}8Q~[\w~.-]{31,34}/g],
  ['cloud_key', /AccountKey=(?<secret>[A-Za-z0-9+/]{40,}={0,2})/g],
  ['cloud_key', /[?&]sig=(?<secret>[A-Za-z0-9%+/]{40,}={0,2})/g],
  // Right after a line break of text that was quoted twice stands its `n`.
  ['jwt', /(?:^[nrt]?|[^\w-])(?<secret>eyJ[\w-]{8,}(?:\.[\w-]*){2,4})/g],
  ['credential', /:\/\/[^\s:/@]{1,64}:(?<secret>[^\s/@]{1,128})@/g],
]

const hexPattern = /^[0-9a-f-]+$/
const blobPattern = /^[A-Za-z0-9+/_=-]+$/

/**
 * Everything in the text that has the shape or the place of a secret; in order, none overlapping another.
 *
 * What has a shape has it within a run of characters that nothing parts, and only such runs and what follows the signs
 * between a name and a value are held against patterns. Of words, which are short, a few characters are looked at: it
 * costs a tenth of what patterns cost that look everywhere.
 */
export function findSecrets(text: string): Span[] {
  const spans: Span[] = []
  addRuns(spans, text)
  for (const sign of [':', '=']) {
    for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1)) addNamed(spans, text, at)
  }
  if (text.includes('-----')) addArmoured(spans, text)
  return spans.length > 1 ? mergeSpans(spans) : spans
}

function addRuns(spans: Span[], text: string): void {
  const { length } = text
  let start = 0
  while (start + leastRun <= length) {
    // From behind: whatever parts this stretch, no run that begins before it is long enough.
    let at = start + leastRun - 1
    while (at >= start && !isCut(text.charCodeAt(at))) at--
    if (at >= start) {
      start = at + 1
      continue
    }
    let end = start + leastRun
    while (end < length && !isCut(text.charCodeAt(end))) end++
    addRun(spans, text, start, end)
    start = end + 1
  }
}

function isCut(code: number): boolean {
  return code < 128 && cuts[code] === 1
}

function addRun(spans: Span[], text: string, start: number, end: number): void {
  const run = text.slice(start, end)
  if (run.length >= leastBlob && blobPattern.test(run)) spans.push({ start, end, kind: 'unscannable' })
  else if (isAfterScheme(text, start) && looksDrawn(run)) spans.push({ start, end, kind: 'authorization' })
  // Hashes and uuids are made of digits of which no shape is made alone.
  if (!hexPattern.test(run) && anchorPattern.test(run)) addShapes(spans, run, start)
}

const schemes: readonly string[] = ['bearer', 'basic']

/** `Bearer …` and `Basic …`, wherever they stand. */
function isAfterScheme(text: string, start: number): boolean {
  let end = start
  while (end > 0 && start - end < 4 && ' \t'.includes(text.charAt(end - 1))) end--
  if (end === start) return false
  return schemes.some((scheme) => text.slice(Math.max(0, end - scheme.length), end).toLowerCase() === scheme)
}

function addShapes(spans: Span[], run: string, offset: number): void {
  for (const [kind, pattern] of shapes) {
    for (const match of run.matchAll(pattern)) {
      const taken = match.groups?.['secret'] ?? match[0]
      // What a group leaves out stands before it, but for the `@` behind a password.
      const at = offset + match.index + match[0].lastIndexOf(taken)
      if (pattern.source.startsWith('sk-') && !looksDrawn(taken)) continue
      spans.push({ start: at, end: at + taken.length, kind })
    }
  }
}

const names =
  /(?:authorization|cookie|passw(?:or)?d|pwd|passphrase|secret|token|(?:api|access|secret|private|auth|account)[-_]?key|credentials?)$/i
/** The last letters of those names, so that most words need not be held against them. */
const lastLetters = 'nedtyslNEDTYSL'
const headerPattern = /(?:authorization|cookie)$/i
const settingPattern = /^[A-Z0-9_]+$/
const longestName = 40
const valuePattern =
  /[ \t]{0,4}\\{0,7}["']?(?:(?:basic|bearer|digest|token|apikey)[ \t]+)?([^\s"'\\<>{}$,;]{6,256})/iy

/** `password: …`, `API_TOKEN=…`, `"Authorization": "Basic …"`: what is a secret only because its name says so. */
function addNamed(spans: Span[], text: string, sign: number): void {
  const name = nameBefore(text, sign)
  if (name === undefined) return
  valuePattern.lastIndex = sign + 1
  const match = valuePattern.exec(text)
  const value = match?.[1]
  if (!match || value === undefined || isCode(value)) return
  const isHeader = headerPattern.test(name)
  const isSetting = text[sign] === '=' && settingPattern.test(name)
  if (!isSetting && !(isHeader && value.length >= 20) && !looksDrawn(value)) return
  const seen = match.index + match[0].length
  const start = seen - value.length
  // Within a value that is taken out already, as `token:token:token:…`: looking for its end again would take long.
  const last = spans.at(-1)
  if (last && last.start <= start && last.end >= seen) return
  const end = endOfValue(text, seen)
  spans.push({ start, end, kind: isHeader ? 'authorization' : 'credential' })
}

/** The pattern looks at the beginning of a value only, so that many names in a row cost no more than one. */
function endOfValue(text: string, from: number): number {
  let end = from
  while (end < text.length && !/[\s"'\\,;]/.test(text.charAt(end))) end++
  return end
}

function nameBefore(text: string, sign: number): string | undefined {
  let end = sign
  while (end > 0 && sign - end < 9 && ' \t"\'\\'.includes(text.charAt(end - 1))) end--
  if (end === 0 || !lastLetters.includes(text.charAt(end - 1))) return undefined
  let start = end
  while (start > 0 && end - start < longestName && isNameCode(text.charCodeAt(start - 1))) start--
  // After a line break of text that was quoted stands its `n`.
  if (text[start - 1] === '\\' && 'nrt'.includes(text.charAt(start))) start++
  const name = text.slice(start, end)
  return names.test(name) ? name : undefined
}

function isNameCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 45 ||
    code === 95
  )
}

/** A call, an element or a field: `token = next(…)`, `password: process.env.PASSWORD`. */
function isCode(value: string): boolean {
  return /^[A-Za-z_][\w]{0,40}[([]/.test(value) || /^[A-Za-z_]{1,40}\.[A-Za-z_]/.test(value)
}

/** Drawn from letters and digits, not a word or a number. */
function looksDrawn(value: string): boolean {
  const digits = /\d/.test(value)
  return value.length >= 8 && /[A-Za-z]/.test(value) && (digits || /[a-z][A-Z].*[a-z][A-Z]/.test(value))
}

const armourPattern = /-----(BEGIN|END) [A-Z0-9 ]{1,48}-----/g

/**
 * PEM and PGP blocks. One that was cut off reaches to where the text begins or ends: nothing tells where it would have,
 * and its halves in two turns are each taken out by themselves.
 */
function addArmoured(spans: Span[], text: string): void {
  let begun: number | undefined
  let from = 0
  for (const { 0: line, 1: which, index } of text.matchAll(armourPattern)) {
    if (which === 'BEGIN') begun ??= index
    if (which === 'BEGIN') continue
    spans.push({ start: begun ?? from, end: index + line.length, kind: 'pem' })
    from = index + line.length
    begun = undefined
  }
  if (begun !== undefined) spans.push({ start: begun, end: text.length, kind: 'pem' })
}

export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1)
    if (!last || span.start >= last.end) merged.push(span)
    else if (span.end > last.end) merged[merged.length - 1] = { ...last, end: span.end }
  }
  return merged
}

/** Into spans that are merged already, as if it had been merged with them: of many only those are moved that it touches. */
export function insertSpan(spans: Span[], span: Span): void {
  const from = firstIndex(spans, ({ end }) => end >= span.start)
  const to = firstIndex(spans, ({ start }) => start > span.end)
  spans.splice(from, to - from, ...mergeSpans([...spans.slice(from, to), span]))
}

function firstIndex(spans: readonly Span[], isBehind: (span: Span) => boolean): number {
  let low = 0
  let high = spans.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBehind(spans[middle] as Span)) high = middle
    else low = middle + 1
  }
  return low
}
