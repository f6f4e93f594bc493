import { ApiError } from './errors.ts'

/** Deeper than anything the contract describes, and far from where recursive code meets the end of the stack. */
const mostNested = 1000

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openList, closeList, openRecord, closeRecord] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Looks over JSON text before it is parsed, once from left to right and jumping over texts, so that what is made of it is
 * bounded: how deep it nests and how many values it has. Whether it is JSON at all is for the parser.
 */
export function refuseOutsized(text: string, mostValues: number): void {
  let depth = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfText(text, at)
        break
      case openList:
      case openRecord:
        values++
        if (++depth > mostNested) throw refusal(`The body nests deeper than ${mostNested} levels`, mostNested)
        break
      case closeList:
      case closeRecord:
        depth--
        break
      case comma:
        if (++values > mostValues) throw refusal(`The body has more than ${mostValues} values`, mostValues)
        break
    }
  }
}

function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text.charCodeAt(first - 1) === backslash) first--
    // An even number of backslashes are backslashes; an odd one ends in an escaped quote.
    if ((end - first) % 2 === 0) return end
  }
  return text.length
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
