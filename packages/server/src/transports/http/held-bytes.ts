import type { ClientSettings } from '#platform/client-settings.ts'

type Most = ClientSettings['held']

/** What is left of all for who holds little: those who fill the rest are refused before. */
const keptFree = 1 / 4
/** Of all, what is little. */
const little = 1 / 64

/** Whose the bytes are. */
interface Owner {
  readonly credential: string | undefined
  readonly person: string | undefined
  readonly address: string
}

/** Bytes of bodies and answers that a process holds for others, so that nobody makes it hold more than its memory bears. */
export class HeldBytes {
  readonly #most: Most
  readonly #byOwner = new Map<string, number>()
  #all = 0

  constructor(most: Most) {
    this.#most = most
  }

  get all(): number {
    return this.#all
  }

  /** What one request holds from its first byte to the end of its answer. */
  open({ credential, person, address }: Owner): Holding {
    const { perAddress, perPerson, perCredential } = this.#most
    const owners = [{ name: `address ${address}`, most: perAddress }]
    if (person !== undefined) owners.push({ name: `person ${person}`, most: perPerson })
    if (credential !== undefined) owners.push({ name: `credential ${credential}`, most: perCredential })
    let held = 0
    return {
      add: (bytes) => {
        held += bytes
        this.#add(owners, bytes)
        const all = owners.map(({ name, most }) => ({ most, holds: this.#byOwner.get(name) ?? 0 }))
        return all.every(({ most, holds }) => holds <= most) && this.#hasRoomFor(all)
      },
      release: () => {
        this.#add(owners, -held)
        held = 0
      },
    }
  }

  #hasRoomFor(owners: readonly { readonly holds: number }[]): boolean {
    const { inAll } = this.#most
    const isLittle = owners.every(({ holds }) => holds <= inAll * little)
    return this.#all <= (isLittle ? inAll : inAll * (1 - keptFree))
  }

  #add(owners: readonly { name: string }[], bytes: number): void {
    this.#all += bytes
    for (const { name } of owners) {
      const left = (this.#byOwner.get(name) ?? 0) + bytes
      if (left > 0) this.#byOwner.set(name, left)
      else this.#byOwner.delete(name)
    }
  }
}

export interface Holding {
  /** False when that is more than may be held: whoever holds it lets go of it. */
  add(bytes: number): boolean
  release(): void
}
