import { setImmediate as nextTurn } from 'node:timers/promises'

/** Characters that are looked at in one go. What is looked at costs also where it is short, so each piece counts as some. */
const inOneGo = 256 * 1024
const leastWeight = 256

/** For work that may be long and is done in the only thread: it gives way to all others each time it has done so much. */
export class Pace {
  #left = inOneGo

  /** Of a piece of so many characters; to be awaited when there is something to await. */
  spend(length: number): Promise<void> | undefined {
    this.#left -= leastWeight + length
    if (this.#left > 0) return undefined
    this.#left = inOneGo
    return nextTurn()
  }
}
