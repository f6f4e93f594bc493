import { ApiError } from './errors.ts'

/** Deeper than anything the contract describes, and far from where recursive code meets the end of the stack. */
const mostNested = 1000

const [quote, backslash, comma, letterU] = [0x22, 0x5c, 0x2c, 0x75]
const [openList, closeList, openRecord, closeRecord] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Looks over JSON as it comes, before it is parsed, so that what is made of it is bounded: how deep it nests and how many
 * values it has. Throws at the first byte too many. Whether it is JSON at all is for the parser.
 */
export class JsonMeter {
  readonly #mostValues: number
  #values = 1
  #depth = 0
  #isInText = false
  /** What came last within a text was a backslash that escapes what comes next. */
  #isEscaping = false
  #hasCodes = false

  constructor(mostValues: number) {
    this.#mostValues = mostValues
  }

  /** Whether a text may have something that is only its code in JSON: half a character, NUL, a name in disguise. */
  get hasCodes(): boolean {
    return this.#hasCodes
  }

  take(bytes: Buffer): void {
    let at = this.#isInText ? this.#afterText(bytes, 0) : 0
    while (at < bytes.length) {
      switch (bytes[at++]) {
        case quote:
          at = this.#afterText(bytes, at)
          break
        case openList:
        case openRecord:
          this.#values++
          if (++this.#depth > mostNested)
            throw refusal(`The body nests deeper than ${mostNested} levels`, mostNested)
          break
        case closeList:
        case closeRecord:
          this.#depth--
          break
        case comma:
          if (++this.#values > this.#mostValues)
            throw refusal(`The body has more than ${this.#mostValues} values`, this.#mostValues)
          break
      }
    }
  }

  /**
   * Behind the quote that ends it. Byte by byte: a search for the next quote is quick in a long text, and six times as
   * slow as parsing one in which every other byte is a quote that ends nothing.
   */
  #afterText(bytes: Buffer, start: number): number {
    let at = start
    if (this.#isEscaping && bytes.length > 0) {
      if (bytes[at++] === letterU) this.#hasCodes = true
      this.#isEscaping = false
    }
    for (; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte === backslash) {
        if (bytes[++at] === letterU) this.#hasCodes = true
      } else if (byte === quote) {
        this.#isInText = false
        return at + 1
      }
    }
    this.#isInText = true
    this.#isEscaping = at > bytes.length
    return bytes.length
  }
}

export const noNul = 'Text must not contain NUL characters'

/** Names of fields that careless code takes for something else. */
const risky = ['__proto__', 'constructor']

/**
 * What PostgreSQL keeps in no text, and names that no honest caller has. Few texts can hold any of it, and only those are
 * looked through value by value: patterns that find it in any text take as long as parsing.
 */
export function refuseUnwanted(text: string, { hasCodes }: JsonMeter, parsed: unknown): void {
  if (!hasCodes && !risky.some((name) => text.includes(name))) return
  const left: unknown[] = [parsed]
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value === 'string') refuseUnstorable(value)
    else if (typeof value === 'object' && value !== null) {
      if (isPoison(value as Readonly<Record<string, unknown>>)) throw refusal(noPrototypes)
      for (const name in value) {
        refuseUnstorable(name)
        left.push((value as Readonly<Record<string, unknown>>)[name])
      }
    }
  }
}

function refuseUnstorable(text: string): void {
  if (text.includes('\u0000')) throw refusal(noNul)
  if (!text.isWellFormed()) throw refusal('Text must not contain halves of surrogate pairs')
}

const noPrototypes = 'No field is called __proto__, and none called constructor has a prototype'

function isPoison(value: Readonly<Record<string, unknown>>): boolean {
  if (Object.hasOwn(value, '__proto__')) return true
  const made = Object.hasOwn(value, 'constructor') ? value['constructor'] : undefined
  return typeof made === 'object' && made !== null && Object.hasOwn(made, 'prototype')
}

function refusal(message: string, limit?: number): ApiError {
  return new ApiError('INVALID_INPUT', { message, ...(limit === undefined ? {} : { details: { limit } }) })
}
