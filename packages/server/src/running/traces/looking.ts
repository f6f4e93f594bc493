import type { Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { FairPlaces } from '#platform/fair-places.ts'
import { Pace } from '#platform/pace.ts'

/** In a process: what is looked through is held, and each takes its share of the only thread. */
const places = new FairPlaces(2, 1)
/** Who waits for longer than that for the first place is told to come again. */
const placeWithinMs = 5000
const retryAfterSeconds = 5

/**
 * Somebody's way through a trace: text by text for what must not leave with it, which takes long where there are many.
 * Few look at a time and persons in turn, however many traces, workspaces and keys somebody has; a place is held while
 * there is something to look at, never while somebody takes what came of it, and all others have the thread in between.
 */
export class Looking {
  readonly pace = new Pace()
  readonly #userId: string
  readonly #signal: AbortSignal
  #patience: AbortSignal | undefined
  #leave: (() => void) | undefined

  /** Without a time within which it has to begin, it waits. */
  constructor(userId: string, signal = new AbortController().signal, withinMs?: number) {
    this.#userId = userId
    this.#signal = signal
    if (withinMs !== undefined) this.#patience = AbortSignal.any([signal, AbortSignal.timeout(withinMs)])
  }

  async begin(): Promise<void> {
    if (this.#leave) return
    this.#leave = await places.take(this.#userId, this.#patience ?? this.#signal).catch((cause: unknown) => {
      throw new ApiError('SERVICE_UNAVAILABLE', { cause, retryAfterSeconds })
    })
    // What has begun comes to its end.
    this.#patience = undefined
  }

  end(): void {
    this.#leave?.()
    this.#leave = undefined
  }

  /** Each page with a place, from before it is read. */
  async *through<Page>(pages: AsyncIterable<Page>): AsyncGenerator<Page> {
    try {
      await this.begin()
      for await (const page of pages) {
        await this.begin()
        yield page
        this.end()
      }
    } finally {
      this.end()
    }
  }
}

/** For somebody who waits for the answer. */
export function lookingOf({ principal, signal }: Pick<Call, 'signal'> & { principal: { userId: string } }) {
  return new Looking(principal.userId, signal, placeWithinMs)
}
