import { hasRunEnded } from '#machinery/graph/graph.ts'
import type { WorkflowRunStatus } from '#platform/tables.ts'

/**
 * A run was opened again since: what this opening has to say is not the run's any more. Whoever is still asked by the
 * engine, and was overtaken by one that the engine had given up, is asked again and opens it anew; nobody listens to the
 * other one.
 */
export class OpenedAgain extends Error {
  constructor(runId: string) {
    super(`the run ${runId} was opened again`)
  }

  /** Throws when this is not the last opening. Of a run that has ended nothing more is to be told. */
  static refuse(row: { run_id: string; opened: number; status: WorkflowRunStatus }, opened: number): void {
    if (row.opened !== opened && !hasRunEnded(row.status)) throw new OpenedAgain(row.run_id)
  }
}
