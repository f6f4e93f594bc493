import type { StepWrite } from '#machinery/engine/drive.ts'
import type { RunStatus } from '#machinery/graph/graph.ts'
import type { Database } from '#platform/database.ts'
import { isPassing } from '#platform/database-errors.ts'
import { retry } from '#platform/retry.ts'
import { listExisting, type WriteRow, type WrittenRow, writeRunsStatement } from './drive-store.ts'
import { OpenedAgain } from './opened-again.ts'
import { RunBatches } from './run-batches.ts'

/** What the engine has to say of one run at one moment. */
export interface RunWrite {
  readonly runId: string
  /** Which opening of the run says it. */
  readonly opened: number
  readonly advancing: boolean
  readonly steps: readonly StepWrite[]
  /** Left as it is when absent. */
  readonly status?: Exclude<RunStatus, 'running'>
  /** Which pause this is the beginning of. */
  readonly pause?: number
  readonly result?: unknown
  readonly error?: unknown
}

interface Sent {
  readonly write: RunWrite
  readonly values: readonly StepValues[]
}

interface StepValues {
  stepId: string
  position: string
  record: string
  revision: number
}

const longestPauseMs = 1000
const mostRefusals = 4

/**
 * Writes what the engine knows, many runs with one statement. What was done cannot be done again, so a write is repeated
 * until PostgreSQL has taken it; only one that PostgreSQL refuses time and again fails, and alone.
 */
export class RunWriter {
  readonly #database: Database
  readonly #batches: RunBatches<Sent, WriteRow>

  constructor(database: Database) {
    this.#database = database
    this.#batches = new RunBatches(
      (batch) => this.#send(toValues(batch)),
      (runIds) => listExisting(database, runIds),
    )
  }

  /**
   * The row when something was written; undefined when the run has ended, or this was written before. Throws OpenedAgain
   * when it is not for this opening to write any more.
   */
  async write(write: RunWrite): Promise<WrittenRow | undefined> {
    const values = write.steps.map(({ stepId, position, record, revision }) => ({
      stepId,
      position: position.join(','),
      record: JSON.stringify(record),
      revision,
    }))
    const bytes = values.reduce((sum, { record }) => sum + record.length, 0)
    const row = await this.#batches.ask(write.runId, { write, values }, bytes)
    if (!row) return undefined
    if (row.status !== null) return row
    OpenedAgain.refuse({ ...row, status: row.status_before }, write.opened)
    return undefined
  }

  async #send(values: unknown[]): Promise<WriteRow[]> {
    let refusals = 0
    return retry(
      () => this.#database.hot<WriteRow>(writeRunsStatement, values),
      (error, failures) => {
        if (!isPassing(error)) refusals++
        return refusals === mostRefusals ? undefined : Math.min(20 * 2 ** (failures - 1), longestPauseMs)
      },
    )
  }
}

function toValues(batch: readonly Sent[]): unknown[] {
  const writes = batch.map(({ write }) => write)
  const steps = batch.flatMap(({ write, values }) =>
    values.map((value) => ({ runId: write.runId, ...value })),
  )
  const text = (value: unknown) => (value === undefined ? null : JSON.stringify(value))
  return [
    writes.map(({ runId }) => runId),
    writes.map(({ opened }) => opened),
    writes.map(({ status }) => status ?? null),
    writes.map(({ advancing }) => advancing),
    writes.map(({ pause }) => pause ?? null),
    writes.map(({ result }) => text(result)),
    writes.map(({ error }) => text(error)),
    steps.map(({ runId }) => runId),
    steps.map(({ stepId }) => stepId),
    steps.map(({ position }) => position),
    steps.map(({ record }) => record),
    steps.map(({ revision }) => revision),
  ]
}
