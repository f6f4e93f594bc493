import type { Database } from '#platform/database.ts'
import { listExisting, type OpenedRow, openRunsStatement } from './drive-store.ts'
import { RunBatches } from './run-batches.ts'

interface Asked {
  readonly runId: string
  readonly invocationId: string
}

/** Opens runs for the engine, all that are asked for while a statement is under way with the next one. */
export class RunOpener {
  readonly #batches: RunBatches<Asked, OpenedRow>

  constructor(database: Database) {
    this.#batches = new RunBatches(
      (asked) =>
        database.hot<OpenedRow>(openRunsStatement, [
          asked.map(({ runId }) => runId),
          asked.map(({ invocationId }) => invocationId),
        ]),
      (runIds) => listExisting(database, runIds),
    )
  }

  open(runId: string, invocationId: string): Promise<OpenedRow | undefined> {
    return this.#batches.ask(runId, { runId, invocationId })
  }
}
