/** Gives a place back. */
type Leave = () => void

/**
 * A number of places, of which one owner has only some, so that others find one free however much it wants. Who waits
 * is let in owner by owner in turn, and within an owner in the order of coming.
 */
export class FairPlaces {
  readonly #places: number
  readonly #placesEach: number
  readonly #taken = new Map<string, number>()
  /** Whose turn is next comes first. */
  readonly #waiting = new Map<string, Set<() => void>>()
  #busy = 0

  constructor(places: number, placesEach: number) {
    this.#places = places
    this.#placesEach = placesEach
  }

  async take(owner: string, signal: AbortSignal): Promise<Leave> {
    signal.throwIfAborted()
    await new Promise<void>((begin, reject) => {
      const queue = this.#waiting.get(owner) ?? new Set()
      const aborted = () => {
        queue.delete(enter)
        if (queue.size === 0) this.#waiting.delete(owner)
        reject(signal.reason)
      }
      const enter = () => {
        signal.removeEventListener('abort', aborted)
        begin()
      }
      signal.addEventListener('abort', aborted)
      this.#waiting.set(owner, queue.add(enter))
      this.#letIn()
    })
    return () => {
      this.#busy--
      this.#count(owner, -1)
      this.#letIn()
    }
  }

  #letIn(): void {
    for (const [owner, queue] of this.#waiting) {
      if (this.#busy === this.#places) return
      if ((this.#taken.get(owner) ?? 0) >= this.#placesEach) continue
      const [first] = queue
      if (!first) continue
      queue.delete(first)
      // Behind the others, if more of it waits; the loop comes by again while there are places.
      this.#waiting.delete(owner)
      if (queue.size > 0) this.#waiting.set(owner, queue)
      this.#busy++
      this.#count(owner, 1)
      first()
    }
  }

  #count(owner: string, change: number): void {
    const taken = (this.#taken.get(owner) ?? 0) + change
    if (taken === 0) this.#taken.delete(owner)
    else this.#taken.set(owner, taken)
  }
}
