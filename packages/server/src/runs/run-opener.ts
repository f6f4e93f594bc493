import type { Database } from '../platform/database.ts'
import { type OpenedRow, openRunsStatement } from './store.ts'

interface Asked {
  readonly runId: string
  readonly invocationId: string
  done(row: OpenedRow | undefined): void
  failed(error: unknown): void
}

/** Reads runs for the engine, all that are asked for while a read is under way with the next one. */
export class RunOpener {
  readonly #database: Database
  #asked: Asked[] = []
  #isReading = false

  constructor(database: Database) {
    this.#database = database
  }

  open(runId: string, invocationId: string): Promise<OpenedRow | undefined> {
    return new Promise((done, failed) => {
      this.#asked.push({ runId, invocationId, done, failed })
      if (this.#asked.length === 1 && !this.#isReading) setImmediate(() => void this.#readAll())
    })
  }

  async #readAll(): Promise<void> {
    this.#isReading = true
    while (this.#asked.length > 0) {
      const batch = this.#asked
      this.#asked = []
      const values = [batch.map(({ runId }) => runId), batch.map(({ invocationId }) => invocationId)]
      try {
        const rows = await this.#database.hot<OpenedRow>(openRunsStatement, values)
        const byRun = new Map(rows.map((row) => [row.run_id, row]))
        for (const { runId, done } of batch) done(byRun.get(runId))
      } catch (error) {
        for (const { failed } of batch) failed(error)
      }
    }
    this.#isReading = false
  }
}
