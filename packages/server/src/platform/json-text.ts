const backslash = 0x5c

/**
 * The fields of a JSON object, each value in the text that it stands in. Values are passed over, not read: one of a
 * megabyte costs a look at its characters. The text is known to be JSON, because only a column that takes nothing else, or
 * `JSON.stringify`, has given it.
 */
export function fieldsOf(text: string): Map<string, string> {
  const fields = new Map<string, string>()
  let at = afterSpace(text, 0)
  if (text[at] !== '{') throw new SyntaxError('a JSON text that is no object')
  at = afterSpace(text, at + 1)
  while (text[at] === '"') {
    const nameEnd = endOfString(text, at)
    const value = afterSpace(text, afterSpace(text, nameEnd) + 1)
    const end = endOfValue(text, value)
    fields.set(JSON.parse(text.slice(at, nameEnd)), text.slice(value, end))
    at = afterSpace(text, end)
    if (text[at] === ',') at = afterSpace(text, at + 1)
  }
  if (text[at] !== '}') throw new SyntaxError('a JSON text that ends too early')
  return fields
}

function endOfValue(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at) - 1
        break
      case '{':
      case '[':
        depth++
        continue
      case '}':
      case ']':
        // What closes was opened before the value: a number or a word has ended.
        if (depth === 0) return at
        depth--
        break
      case ',':
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        if (depth === 0) return at
        continue
      default:
        continue
    }
    if (depth === 0) return at + 1
  }
  throw new SyntaxError('a JSON text that ends too early')
}

/** Behind its closing quote: the first one with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === backslash) before--
    if ((end - before) % 2 === 1) return end + 1
  }
  throw new SyntaxError('a JSON text that ends too early')
}

function afterSpace(text: string, start: number): number {
  let at = start
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++
  return at
}

type Field = readonly [name: string, text: string | JsonText]

/** A JSON object that is put together from texts, and written in pieces of the size that they have. */
export class JsonText {
  readonly #fields: readonly Field[]
  /** In characters, the names left out. */
  readonly length: number

  constructor(fields: Iterable<Field>) {
    this.#fields = [...fields]
    this.length = this.#fields.reduce((sum, [, { length }]) => sum + length, 0)
  }

  *pieces(): Generator<string> {
    let before = '{'
    for (const [name, text] of this.#fields) {
      yield `${before}${JSON.stringify(name)}:`
      if (typeof text === 'string') yield text
      else yield* text.pieces()
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  }

  toString(): string {
    return [...this.pieces()].join('')
  }
}

/** The fields of a record as texts; as in JSON, what is undefined is left out. */
export function textsOf(record: object): Field[] {
  return Object.entries(record).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, JSON.stringify(value)] as const],
  )
}
