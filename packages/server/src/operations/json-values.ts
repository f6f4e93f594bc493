import { ApiError } from './errors.ts'

/** Deeper than anything the contract describes, and far from where recursive code meets the end of the stack. */
const mostNested = 1000

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
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

  constructor(mostValues: number) {
    this.#mostValues = mostValues
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
    let at = this.#isEscaping ? start + 1 : start
    this.#isEscaping = false
    for (; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte === backslash) at++
      else if (byte === quote) {
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

/** Escapes of NUL and of halves of characters: only a text that has one of them can hold such a thing. */
const suspicious = /\\u(?:0000|[dD][89a-fA-F])/

/** What PostgreSQL keeps in no text. */
export function refuseUnstorable(text: string, parsed: unknown): void {
  if (!suspicious.test(text)) return
  const left: unknown[] = [parsed]
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value === 'string') {
      if (value.includes('\u0000')) throw refusal(noNul)
      if (!value.isWellFormed()) throw refusal('Text must not contain halves of surrogate pairs')
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, child] of Object.entries(value)) left.push(key, child)
    }
  }
}

function refusal(message: string, limit?: number): ApiError {
  return new ApiError('INVALID_INPUT', { message, ...(limit === undefined ? {} : { details: { limit } }) })
}
