/** Ends a turn, or the wait for it. */
type Leave = () => void

interface One {
  readonly places: number
  readonly begin: () => void
  begunAt: number
}

/** The requests of one caller, both in the order of coming. */
interface Line {
  readonly working: Set<One>
  readonly waiting: Set<One>
  taken: number
}

/**
 * A process does one thing at a time. What one caller sends all at once would be done all at once, and everybody else would
 * wait for it between any two steps of their own. So each has only some places, and waits for itself when they are taken.
 */
export class CallersTurns {
  readonly #places: number
  readonly #mostTicks: number
  readonly #lines = new Map<string, Line>()
  readonly #waiting = new Set<Line>()
  #now = 0

  /**
   * `mostTicks`: for so long a turn lasts when others of the same caller wait. A request may stay open for minutes and do
   * nothing, or have another one made for it.
   */
  constructor({ places, mostTicks }: { readonly places: number; readonly mostTicks: number }) {
    this.#places = places
    this.#mostTicks = mostTicks
  }

  get callers(): number {
    return this.#lines.size
  }

  get waiting(): number {
    let sum = 0
    for (const { waiting } of this.#waiting) sum += waiting.size
    return sum
  }

  /** Begins when there is room for it, which is nearly always at once. One that asks for too many places takes all. */
  enter(caller: string, places: number, begin: () => void): Leave {
    const line = this.#lines.get(caller) ?? this.#open(caller)
    const one = { places: Math.min(places, this.#places), begin, begunAt: 0 }
    line.waiting.add(one)
    this.#letIn(line)
    return () => {
      if (!this.#giveBack(line, one) && !line.waiting.delete(one)) return
      this.#letIn(line)
      if (line.working.size + line.waiting.size === 0) this.#lines.delete(caller)
    }
  }

  /**
   * Time goes by. By ticks of a timer and not by the clock, because work that blocks the process holds both up: places
   * that came back by the clock would all come back when there is the most to do.
   */
  tick(): void {
    this.#now++
    for (const line of this.#waiting) this.#letIn(line)
  }

  #open(caller: string): Line {
    const line = { working: new Set<One>(), waiting: new Set<One>(), taken: 0 }
    this.#lines.set(caller, line)
    return line
  }

  #letIn(line: Line): void {
    for (const one of line.waiting) {
      if (!this.#hasRoom(line, one)) {
        this.#waiting.add(line)
        return
      }
      line.waiting.delete(one)
      line.working.add(one)
      line.taken += one.places
      one.begunAt = this.#now
      one.begin()
    }
    this.#waiting.delete(line)
  }

  #hasRoom(line: Line, { places }: One): boolean {
    for (const longest of line.working) {
      if (line.taken + places <= this.#places) break
      if (this.#now - longest.begunAt < this.#mostTicks) return false
      this.#giveBack(line, longest)
    }
    return true
  }

  #giveBack(line: Line, one: One): boolean {
    const had = line.working.delete(one)
    if (had) line.taken -= one.places
    return had
  }
}
