import type { ClientSettings } from '#platform/client-settings.ts'

type Most = ClientSettings['held']

/** Whose the bytes are. */
interface Owner {
  readonly credential: string | undefined
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
  open({ credential, address }: Owner): Holding {
    const owners = [{ name: `address ${address}`, most: this.#most.perAddress }]
    if (credential !== undefined)
      owners.push({ name: `credential ${credential}`, most: this.#most.perCredential })
    let held = 0
    return {
      add: (bytes) => {
        held += bytes
        this.#add(owners, bytes)
        const isTooMuch = owners.some(({ name, most }) => (this.#byOwner.get(name) ?? 0) > most)
        return !isTooMuch && this.#all <= this.#most.inAll
      },
      release: () => {
        this.#add(owners, -held)
        held = 0
      },
    }
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
