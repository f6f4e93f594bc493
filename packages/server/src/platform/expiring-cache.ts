/**
 * A bounded memory of answers that may be a little old. An entry's age counts from before its lookup began, so
 * that an answer which was under way when the truth changed is not believed longer than the stated time.
 */
export class ExpiringCache<V> {
  readonly #entries = new Map<string, { value: V; validUntil: number }>()
  readonly #maxEntries: number

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    if (entry.validUntil > performance.now()) return entry.value
    this.#entries.delete(key)
    return undefined
  }

  set(key: string, value: V, lookupStarted: number, maxAgeMs: number): void {
    this.#entries.delete(key)
    // Maps keep insertion order: the first entry is the oldest.
    if (this.#entries.size >= this.#maxEntries) {
      const oldest = this.#entries.keys().next()
      if (!oldest.done) this.#entries.delete(oldest.value)
    }
    this.#entries.set(key, { value, validUntil: lookupStarted + maxAgeMs })
  }

  deleteWhere(matches: (value: V) => boolean): void {
    for (const [key, entry] of this.#entries) if (matches(entry.value)) this.#entries.delete(key)
  }
}
