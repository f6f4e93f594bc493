import type { Loop, Usage } from '#machinery/loop/loop.ts'
import type { Db } from '#platform/database.ts'
import * as store from './store.ts'

const writeEveryMs = 1000

/**
 * Keeps what an execution has used where whoever ends it finds it: of the replies that came, and of the one that is on its
 * way. A provider bills that one too, although the person whose interrupt breaks it off gets nothing more of it.
 */
export class UsageWriter {
  readonly #db: Db
  readonly #row: store.ExecutionRow
  readonly #patiently: <T>(ask: () => Promise<T>) => Promise<T>
  #writtenAt = Number.NEGATIVE_INFINITY
  #writing: Promise<void> = Promise.resolve()

  constructor(db: Db, row: store.ExecutionRow, patiently: <T>(ask: () => Promise<T>) => Promise<T>) {
    this.#db = db
    this.#row = row
    this.#patiently = patiently
  }

  /** Before a word of a reply is there, its question is waited for to be written: from then on it is the provider's. */
  readonly progress: NonNullable<Loop['progress']> = ({ outputTokens }, costMilliDs) => {
    const { id, attempt } = this.#row
    const write = () => store.updateAsking(this.#db, id, attempt, costMilliDs)
    const now = performance.now()
    if (outputTokens > 0 && now - this.#writtenAt < writeEveryMs) return undefined
    this.#writtenAt = now
    // One after the other, before what is spent; should one fail, the next is as good.
    this.#writing = this.#writing.then(() => this.#patiently(write)).catch(() => undefined)
    return outputTokens === 0 ? this.#writing : undefined
  }

  async spend(usage: Usage): Promise<void> {
    await this.#writing
    const { id, attempt } = this.#row
    await this.#patiently(() => store.updateUsage(this.#db, id, attempt, usage))
  }
}
