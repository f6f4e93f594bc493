import { setImmediate as nextTurn } from 'node:timers/promises'
import { JsonText } from '#platform/json-text.ts'

/** Of which the items are the first field; the rest is known at the end. */
export interface ItemsRecord {
  readonly field: string
  rest(): Readonly<Record<string, unknown>>
}

const chunkLength = 32_768
/** In bytes. */
const mostPerTurn = 256 * 1024

/** Told of characters that are held from now on, or, below zero, no longer; throws when those are too many. */
export type Hold = (length: number) => void

/** An array of items, by itself or as the first field of a record. */
export async function* itemsText(
  items: AsyncIterable<unknown>,
  within: ItemsRecord | undefined,
  hold: Hold = () => {},
): AsyncGenerator<Buffer> {
  const chunks = new Chunks()
  yield* chunks.take(within ? `{${JSON.stringify(within.field)}:[` : '[')
  let separator = ''
  for await (const item of items) {
    yield* chunks.take(separator)
    separator = ','
    if (!(item instanceof JsonText)) yield* chunks.take(JSON.stringify(item))
    else if (item.length < chunkLength) yield* chunks.take(String(item))
    else {
      hold(item.length)
      for (const piece of item.pieces()) yield* inTurns(chunks.take(piece))
      hold(-item.length)
    }
  }
  yield* chunks.take(within ? `],${JSON.stringify(within.rest()).slice(1)}` : ']')
  yield* chunks.rest()
}

export async function* textChunks(text: JsonText): AsyncGenerator<Buffer> {
  const chunks = new Chunks()
  for (const piece of text.pieces()) yield* inTurns(chunks.take(piece))
  yield* chunks.rest()
}

/** A socket may take many megabytes at once; between two chunks of them it is the turn of others. */
async function* inTurns(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += mostPerTurn) {
      yield chunk.subarray(at, at + mostPerTurn)
      await nextTurn()
    }
  }
}

/**
 * What is written to a socket: small pieces together, because a write for each would cost more than the pieces, and
 * bytes, because a text would be gone through twice, once to count and once to encode it.
 */
class Chunks {
  #text = ''

  take(piece: string): Buffer[] {
    if (this.#text.length + piece.length < chunkLength) {
      this.#text += piece
      return []
    }
    const full = this.rest()
    if (piece.length >= chunkLength) return [...full, Buffer.from(piece)]
    this.#text = piece
    return full
  }

  rest(): Buffer[] {
    const text = this.#text
    this.#text = ''
    return text === '' ? [] : [Buffer.from(text)]
  }
}
