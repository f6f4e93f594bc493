import { setTimeout } from 'node:timers/promises'
import type { StepWrite } from '../engine/carrying.ts'
import type { RunStatus } from '../graph/graph.ts'
import { type Database, isDatabaseAway } from '../platform/database.ts'
import { type WrittenRow, writeRunsStatement } from './store.ts'

/** What the engine has to say of one run at one moment. */
export interface RunWrite {
  readonly runId: string
  readonly advancing: boolean
  readonly steps: readonly StepWrite[]
  /** Left as it is when absent. */
  readonly status?: Exclude<RunStatus, 'running'>
  /** Which pause this is the beginning of. */
  readonly pause?: number
  readonly result?: unknown
  readonly error?: unknown
}

interface Waiting {
  readonly write: RunWrite
  readonly values: StepValues[]
  readonly bytes: number
  done(row: WrittenRow | undefined): void
  failed(error: unknown): void
}

interface StepValues {
  stepId: string
  position: string
  record: string
  revision: number
}

const mostRuns = 200
const mostBytes = 4 * 1024 * 1024
const longestPauseMs = 1000
const mostRefusals = 4

/**
 * Writes what the engine knows, many runs with one statement: a write waits only for the one before it, and whatever
 * came meanwhile goes together. What was done cannot be done again, so a write is repeated until PostgreSQL has taken
 * it; only one that PostgreSQL refuses time and again fails, and alone.
 */
export class RunWriter {
  readonly #database: Database
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(database: Database) {
    this.#database = database
  }

  /** The row when something was written; undefined when the run has ended, or this was written before. */
  write(write: RunWrite): Promise<WrittenRow | undefined> {
    const values = write.steps.map(({ stepId, position, record, revision }) => ({
      stepId,
      position: position.join(','),
      record: JSON.stringify(record),
      revision,
    }))
    const bytes = values.reduce((sum, { record }) => sum + record.length, 0)
    return new Promise((done, failed) => {
      this.#waiting.push({ write, values, bytes, done, failed })
      if (this.#waiting.length === 1 && !this.#isWriting) setImmediate(() => void this.#writeAll())
    })
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) await this.#send(this.#takeBatch())
    this.#isWriting = false
  }

  /** One write per run: two would meet in one statement, and only one of them would count. */
  #takeBatch(): Waiting[] {
    const batch: Waiting[] = []
    const later: Waiting[] = []
    const runs = new Set<string>()
    let bytes = 0
    for (const waiting of this.#waiting) {
      const hasRoom = batch.length < mostRuns && bytes < mostBytes && !runs.has(waiting.write.runId)
      ;(hasRoom ? batch : later).push(waiting)
      if (!hasRoom) continue
      runs.add(waiting.write.runId)
      bytes += waiting.bytes
    }
    this.#waiting = later
    return batch
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    const values = toValues(batch)
    for (let refusals = 0, pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        const rows = await this.#database.hot<WrittenRow>(writeRunsStatement, values)
        const byRun = new Map(rows.map((row) => [row.run_id, row]))
        for (const { write, done } of batch) done(byRun.get(write.runId))
        return
      } catch (error) {
        if (!isDatabaseAway(error)) refusals++
        if (refusals === mostRefusals) return this.#giveUp(batch, error)
        await setTimeout(pauseMs)
      }
    }
  }

  /** Found by sending each by itself. */
  async #giveUp(batch: readonly Waiting[], error: unknown): Promise<void> {
    const [only] = batch
    if (batch.length === 1) only?.failed(error)
    else await Promise.all(batch.map((one) => this.#send([one])))
  }
}

function toValues(batch: readonly Waiting[]): unknown[] {
  const writes = batch.map(({ write }) => write)
  const steps = batch.flatMap(({ write, values }) =>
    values.map((value) => ({ runId: write.runId, ...value })),
  )
  const text = (value: unknown) => (value === undefined ? null : JSON.stringify(value))
  return [
    writes.map(({ runId }) => runId),
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
