import { ExpiringCache } from '#platform/expiring-cache.ts'

const notedForMs = 60_000
const mostNoted = 20_000

/** What this process has written down of late, so that it is written once a minute and not at each use. */
export class Noted {
  readonly #noted = new ExpiringCache<true>(mostNoted)

  /** Whether it is to be written now; from then on, for a while, it is not. */
  isDue(name: string, isDueAnyway = false): boolean {
    if (this.#noted.get(name) && !isDueAnyway) return false
    this.#noted.set(name, true, performance.now(), notedForMs)
    return true
  }
}
