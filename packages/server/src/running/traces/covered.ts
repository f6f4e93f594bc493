/**
 * Where a text is covered by spans, of which there may be many more than letters: nothing is kept of each of them, and
 * they need not be sorted. Spans have two letters at least, and those that only touch stay two.
 */
export class Covered {
  /** 1 between two letters of one span. */
  readonly #joined: Uint8Array
  /** The end of the longest span that begins at a letter. */
  readonly #ends: Uint32Array

  constructor(length: number) {
    this.#joined = new Uint8Array(length + 1)
    this.#ends = new Uint32Array(length)
  }

  add(start: number, end: number): void {
    this.#joined.fill(1, start + 1, end)
    if (end > (this.#ends[start] as number)) this.#ends[start] = end
  }

  /**
   * In order, such that merging them with others gives what merging all of them would: of those that overlap, the longest
   * of the first ones, and the rest as one behind its first letter.
   */
  *spans(): Generator<{ readonly start: number; readonly end: number }> {
    for (let from = this.#joined.indexOf(1); from !== -1; ) {
      const end = this.#joined.indexOf(0, from)
      const start = from - 1
      const first = this.#ends[start] as number
      yield { start, end: first }
      if (end > first) yield { start: from, end }
      from = this.#joined.indexOf(1, end)
    }
  }
}
