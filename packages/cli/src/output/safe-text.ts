/**
 * Text for a terminal. What agents, skills and servers wrote is untrusted: it may hold escape sequences that write to
 * the clipboard, forge a line above or hide a word. So nothing but a Shown reaches a terminal, and a Shown is made by
 * `say`, which neutralises whatever is put into it. A file that prints cannot forget it: the types do not fit.
 */
type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

interface Span {
  text: string
  style?: Style
}

export class Shown {
  readonly spans: readonly Span[]
  constructor(spans: readonly Span[]) {
    this.spans = spans
  }
  /** The words without colours. */
  get plain(): string {
    return this.spans.map((span) => span.text).join('')
  }
}

export type Sayable = Shown | string | number | boolean | null | undefined

/** One line: breaks and tabs are shown as `\n` and `\t` too. */
export function neutral(text: string): string {
  return rewritten(text, () => false)
}

/** Several lines: breaks and tabs stay. */
export function neutralLines(text: string): string {
  return rewritten(text.replaceAll('\r\n', '\n'), (code) => code === 0x0a || code === 0x09)
}

function rewritten(text: string, stays: (code: number) => boolean): string {
  let result = ''
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    result += isUnsafe(code) && !stays(code) ? escaped(code) : character
  }
  return result
}

/** Controls, marks that turn or hide what follows, tags and halves of pairs. Joiners stay: scripts and emoji need them. */
function isUnsafe(code: number): boolean {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true
  if (code < 0xad) return false
  return (
    code === 0xad ||
    code === 0x061c ||
    code === 0x180e ||
    code === 0x200b ||
    (code >= 0x200e && code <= 0x200f) ||
    (code >= 0x2028 && code <= 0x202e) ||
    (code >= 0x2060 && code <= 0x206f) ||
    (code >= 0xd800 && code <= 0xdfff) ||
    code === 0xfeff ||
    (code >= 0xfff9 && code <= 0xfffb) ||
    (code >= 0xe0000 && code <= 0xe007f)
  )
}

function escaped(code: number): string {
  if (code === 0x0a) return '\\n'
  if (code === 0x0d) return '\\r'
  if (code === 0x09) return '\\t'
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** Escapes in JSON are text; C1 and bidi marks are not, and a terminal obeys them. It stays JSON. */
export function neutralJson(text: string, asciiOnly = false): string {
  let result = ''
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    const stays = code === 0x0a || !(isUnsafe(code) || (asciiOnly && code > 0x7e))
    result += stays ? character : jsonEscapes(character)
  }
  return result
}

function jsonEscapes(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')
}

const plainSigns: Readonly<Record<string, string>> = {
  '·': '-',
  '–': '-',
  '—': '-',
  '…': '...',
  '→': '->',
  '’': "'",
}

/**
 * For a terminal that does not read UTF-8: the bytes of many a letter are control codes to it. Signs of our own have a
 * plain form, everything else is shown by its number.
 */
export function ascii(text: string): string {
  let result = ''
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    result += code < 0x7f ? character : (plainSigns[character] ?? escaped(code))
  }
  return result
}

/** Words of ours with values of anybody's: say`Paired as ${label}`. */
export function say(words: TemplateStringsArray, ...values: Sayable[]): Shown {
  const spans: Span[] = []
  words.forEach((text, index) => {
    if (text !== '') spans.push({ text })
    if (index < values.length) spans.push(...spansOf(values[index]))
  })
  return new Shown(spans)
}

/** Text of several lines that is not ours. */
export function block(text: string): Shown {
  return new Shown([{ text: neutralLines(text) }])
}

/** Words that this program made itself and that may hold breaks: help, a QR code, a graph. */
export function ours(text: string): Shown {
  return new Shown([{ text }])
}

function styled(style: Style, value: Sayable): Shown {
  return new Shown(spansOf(value).map(({ text }) => ({ text, style })))
}

export const bold = (value: Sayable) => styled('bold', value)
export const dim = (value: Sayable) => styled('dim', value)
export const red = (value: Sayable) => styled('red', value)
export const green = (value: Sayable) => styled('green', value)
export const yellow = (value: Sayable) => styled('yellow', value)

export function joined(parts: readonly Sayable[], between: string): Shown {
  return new Shown(
    parts.flatMap((part, index) => (index > 0 ? [{ text: between }, ...spansOf(part)] : spansOf(part))),
  )
}

function spansOf(value: Sayable): readonly Span[] {
  if (value instanceof Shown) return value.spans
  if (value === null || value === undefined) return [{ text: '–' }]
  return [{ text: neutral(String(value)) }]
}
