import { accessEnded, hasRunEnded, type StepOutcome } from '#machinery/graph/graph.ts'
import type { Database } from '#platform/database.ts'
import { listAccess, type RunAccessRow } from './access-store.ts'
import { failed } from './perform-step.ts'

interface Asked {
  readonly runId: string
  done(row: RunAccessRow | undefined): void
  failed(error: unknown): void
}

/**
 * Whether anything more may be done for a run, asked before every step and never remembered: whoever launched it may
 * have left, their key may be revoked. All steps that ask while an answer is under way share the next one.
 */
export class RunAccess {
  readonly #database: Database
  #asked: Asked[] = []
  #isAsking = false

  constructor(database: Database) {
    this.#database = database
  }

  /** Why the step is not performed; or through which app's grant it is, if that is how the run was launched. */
  async admit(
    runId: string,
  ): Promise<{ readonly refusal: StepOutcome } | { readonly oauthGrantId: number | null }> {
    const row = await new Promise<RunAccessRow | undefined>((done, failed) => {
      this.#asked.push({ runId, done, failed })
      if (this.#isAsking) return
      this.#isAsking = true
      setImmediate(() => void this.#askAll())
    })
    if (!row || row.status === 'void' || hasRunEnded(row.status))
      return { refusal: { kind: 'canceled', at: Date.now() } }
    return row.may_act ? { oauthGrantId: row.oauth_grant_id } : { refusal: failed(accessEnded) }
  }

  async #askAll(): Promise<void> {
    while (this.#asked.length > 0) {
      const batch = this.#asked
      this.#asked = []
      try {
        const rows = await listAccess(this.#database, [...new Set(batch.map(({ runId }) => runId))])
        const byRun = new Map(rows.map((row) => [row.run_id, row]))
        for (const { runId, done } of batch) done(byRun.get(runId))
      } catch (error) {
        for (const asked of batch) asked.failed(error)
      }
    }
    this.#isAsking = false
  }
}
