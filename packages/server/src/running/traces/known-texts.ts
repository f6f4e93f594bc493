import { randomInt } from 'node:crypto'

/** Enough for what people write of themselves. What there is no room for is looked for by its beginning. */
const usualRoom = 65_536
const deepest = 2048

/**
 * Finds which of many texts a text has, in one pass over it however many they are: Aho and Corasick's automaton. Each state
 * is a beginning of some of them; a text whose beginning alone has a state may be there, and whoever asks looks.
 */
export class KnownTexts {
  readonly #shortest: number
  readonly #steps: Steps
  /** The longest state that this one ends with. */
  readonly #shorter: Uint16Array
  /** The first at which a text ends: this one, or else of the shorter ones. */
  readonly #nextEnd: Uint16Array
  readonly #ends = new Map<number, number[]>()
  /** In which search a state's texts were told last. */
  readonly #told: Uint32Array
  #searches = 0
  #states = 1

  constructor(texts: readonly string[], room = usualRoom) {
    const wanted = texts.reduce((sum, { length }) => sum + Math.min(length, deepest), 1)
    const states = Math.min(wanted, room, usualRoom)
    this.#shortest = Math.min(Number.POSITIVE_INFINITY, ...texts.map(({ length }) => length))
    this.#steps = new Steps(states)
    this.#shorter = new Uint16Array(states)
    this.#nextEnd = new Uint16Array(states)
    this.#told = new Uint32Array(states)
    this.#build(texts, states)
  }

  /** Their indices, in their order; those that are too long for the automaton may be among them without being there. */
  candidatesIn(text: string): number[] {
    const { length } = text
    if (length < this.#shortest) return []
    this.#searches += 1
    const found = [...(this.#ends.get(0) ?? [])]
    let state = 0
    for (let at = 0; at < length; at++) {
      state = this.#after(state, text.charCodeAt(at))
      if (this.#nextEnd[state] !== 0) this.#tell(found, this.#nextEnd[state] as number)
    }
    return found.sort((a, b) => a - b)
  }

  /** Behind a state that was told in this search, all have been. */
  #tell(found: number[], from: number): void {
    for (let end = from; end !== 0 && this.#told[end] !== this.#searches; ) {
      this.#told[end] = this.#searches
      found.push(...(this.#ends.get(end) ?? []))
      end = this.#nextEnd[this.#shorter[end] as number] as number
    }
  }

  #after(state: number, unit: number): number {
    for (let from = state; ; from = this.#shorter[from] as number) {
      const next = this.#steps.find(from, unit)
      if (next !== 0 || from === 0) return next
    }
  }

  /** All texts a unit at a time, so that the shorter states are there when one is made, and each text gets its share. */
  #build(texts: readonly string[], room: number): void {
    let growing = texts.map((text, index) => ({ text, index, state: 0 }))
    for (let depth = 0; growing.length > 0; depth++) {
      growing = growing.filter((each) => {
        const isWhole = depth === Math.min(each.text.length, deepest)
        const next = isWhole ? 0 : this.#grow(each.state, each.text.charCodeAt(depth), room)
        if (next === 0) this.#end(each.state, each.index)
        else each.state = next
        return next !== 0
      })
    }
    for (let state = 1; state < this.#states; state++) {
      const shorter = this.#shorter[state] as number
      this.#nextEnd[state] = this.#ends.has(state) ? state : (this.#nextEnd[shorter] as number)
    }
  }

  #grow(state: number, unit: number, room: number): number {
    const known = this.#steps.find(state, unit)
    if (known !== 0 || this.#states === room) return known
    const made = this.#states++
    if (state !== 0) this.#shorter[made] = this.#after(this.#shorter[state] as number, unit)
    this.#steps.add(state, unit, made)
    return made
  }

  #end(state: number, index: number): void {
    const ends = this.#ends.get(state)
    if (ends) ends.push(index)
    else this.#ends.set(state, [index])
  }
}

/** From a state by a unit to the next one, none of which is 0. Its places are drawn, so that no text makes them one. */
class Steps {
  readonly #keys: Uint32Array
  readonly #states: Uint16Array
  readonly #factor = randomInt(2 ** 31) * 2 + 1
  readonly #shift: number

  constructor(most: number) {
    const bits = Math.max(4, Math.ceil(Math.log2(most * 2)))
    this.#keys = new Uint32Array(2 ** bits)
    this.#states = new Uint16Array(2 ** bits)
    this.#shift = 32 - bits
  }

  find(state: number, unit: number): number {
    return this.#states[this.#placeOf(state, unit)] as number
  }

  add(state: number, unit: number, next: number): void {
    const place = this.#placeOf(state, unit)
    this.#keys[place] = key(state, unit)
    this.#states[place] = next
  }

  #placeOf(state: number, unit: number): number {
    const wanted = key(state, unit)
    const last = this.#keys.length - 1
    let place = Math.imul(wanted, this.#factor) >>> this.#shift
    while (this.#states[place] !== 0 && this.#keys[place] !== wanted) place = place === last ? 0 : place + 1
    return place
  }
}

function key(state: number, unit: number): number {
  return ((state << 16) | unit) >>> 0
}
