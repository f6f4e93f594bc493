/** Ends a turn, or the wait for it. */
type Leave = () => void

interface One {
  readonly places: number
  readonly begin: () => void
  begunAt: number
}

/** Places, and who has them, in the order of coming. */
interface Room {
  readonly places: number
  readonly working: Set<One>
  taken: number
}

/** The requests of one caller. */
interface Line {
  readonly caller: string
  readonly room: Room
  readonly person: Person
  readonly waiting: Set<One>
}

/** The callers who are one person, or one alone; those of which something waits in the order of their turns. */
interface Person {
  readonly name: string
  readonly room: Room
  readonly lines: Map<string, Line>
  readonly waiting: Set<Line>
}

/** Who sends a request, and whose credential that is. */
export interface Caller {
  readonly caller: string
  readonly person: string
}

/**
 * A process does one thing at a time. What one caller sends all at once would be done all at once, and everybody else would
 * wait for it between any two steps of their own. So each has only some places, and waits for itself when they are taken. The
 * many callers of one person have no more than two of them together, and are let in in turn.
 */
export class CallersTurns {
  readonly #places: number
  readonly #mostTicks: number
  readonly #persons = new Map<string, Person>()
  readonly #waiting = new Set<Person>()
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
    let sum = 0
    for (const { lines } of this.#persons.values()) sum += lines.size
    return sum
  }

  get waiting(): number {
    let sum = 0
    for (const { waiting } of this.#waiting) for (const line of waiting) sum += line.waiting.size
    return sum
  }

  /** Begins when there is room for it, which is nearly always at once. One that asks for too many places takes all. */
  enter(who: Caller, places: number, begin: () => void): Leave {
    const line = this.#lineOf(who)
    const { person } = line
    const one = { places: Math.min(places, this.#places), begin, begunAt: 0 }
    line.waiting.add(one)
    person.waiting.add(line)
    this.#letIn(person)
    return () => {
      // Its turn may be over in one of them and not in the other.
      const had = [giveBack(line.room, one), giveBack(person.room, one), line.waiting.delete(one)]
      if (!had.includes(true)) return
      this.#letIn(person)
      this.#forget(line)
    }
  }

  /**
   * Time goes by. By ticks of a timer and not by the clock, because work that blocks the process holds both up: places
   * that came back by the clock would all come back when there is the most to do.
   */
  tick(): void {
    this.#now++
    for (const person of this.#waiting) this.#letIn(person)
  }

  #lineOf({ caller, person: name }: Caller): Line {
    const person = this.#persons.get(name) ?? this.#open(name)
    const line = person.lines.get(caller) ?? {
      caller,
      room: newRoom(this.#places),
      person,
      waiting: new Set<One>(),
    }
    person.lines.set(caller, line)
    return line
  }

  #open(name: string): Person {
    const room = newRoom(2 * this.#places)
    const person = { name, room, lines: new Map<string, Line>(), waiting: new Set<Line>() }
    this.#persons.set(name, person)
    return person
  }

  #forget(line: Line): void {
    const { caller, room, waiting, person } = line
    if (room.working.size + waiting.size > 0 || person.lines.get(caller) !== line) return
    person.lines.delete(caller)
    if (person.lines.size === 0) this.#persons.delete(person.name)
  }

  #letIn(person: Person): void {
    for (const line of person.waiting) {
      const [first] = line.waiting
      if (first && !this.#hasRoom(line.room, first)) continue
      // What is smaller does not pass it, or it would wait for ever.
      if (first && !this.#hasRoom(person.room, first)) break
      // Behind the others, if more of it waits; the loop comes by again.
      person.waiting.delete(line)
      if (!first) continue
      line.waiting.delete(first)
      if (line.waiting.size > 0) person.waiting.add(line)
      this.#begin(line, first)
    }
    if (person.waiting.size > 0) this.#waiting.add(person)
    else this.#waiting.delete(person)
  }

  #begin({ room, person }: Line, one: One): void {
    for (const each of [room, person.room]) {
      each.working.add(one)
      each.taken += one.places
    }
    one.begunAt = this.#now
    one.begin()
  }

  /** Who has been long enough in a room makes place there for who waits. */
  #hasRoom(room: Room, { places }: One): boolean {
    for (const longest of room.working) {
      if (room.taken + places <= room.places) break
      if (this.#now - longest.begunAt < this.#mostTicks) return false
      giveBack(room, longest)
    }
    return true
  }
}

const newRoom = (places: number): Room => ({ places, working: new Set(), taken: 0 })

function giveBack(room: Room, one: One): boolean {
  const had = room.working.delete(one)
  if (had) room.taken -= one.places
  return had
}
