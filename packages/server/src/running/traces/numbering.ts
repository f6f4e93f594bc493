import { ApiError } from '#operations/errors.ts'
import { FairPlaces } from '#platform/fair-places.ts'

/** As long as a statement may take. */
const inLineMs = 15_000

interface Numbered {
  readonly workspaceId: string
  readonly id: string
}

/**
 * Whoever gives out numbers of a trace holds its row, and another process may stand still while it does. So in one process
 * one at a time asks for that row, however many read and append: those who wait for it take no connection, and a process
 * that stands still is given the row once and not by each of its connections in turn. All of them together leave half of
 * the connections to others.
 */
export class Numbering {
  readonly #places: FairPlaces
  readonly #looks = new Map<string, Promise<unknown>>()

  constructor(connections: number) {
    this.#places = new FairPlaces(Math.max(1, Math.floor(connections / 2)), 1)
  }

  async alone<T>({ workspaceId, id }: Numbered, work: () => Promise<T>): Promise<T> {
    // With the workspace: who asks for a trace of others does not stand in their line.
    const leave = await this.#places
      .take(`${workspaceId} ${id}`, AbortSignal.timeout(inLineMs))
      .catch((cause: unknown) => {
        throw new ApiError('SERVICE_UNAVAILABLE', { cause, retryAfterSeconds: 1 })
      })
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** The same for work that is as good for all who come before it has begun: they share it. */
  shared<T>(trace: Numbered, work: () => Promise<T>): Promise<T> {
    const name = `${trace.workspaceId} ${trace.id}`
    const begun = () => this.#looks.delete(name)
    const next = this.#looks.get(name) as Promise<T> | undefined
    if (next) return next
    const own = this.alone(trace, () => {
      begun()
      return work()
    })
    this.#looks.set(name, own)
    own.catch(() => this.#looks.get(name) === own && begun())
    return own
  }
}
