import type { Db } from '#platform/database.ts'
import type { RunRow } from './store.ts'

/** What an earlier try of the step began, which from now on tells its end to this awakeable. */
export async function claimStepRun(
  db: Db,
  workspaceId: string,
  step: { runId: string; key: string; awakeableId: string },
): Promise<RunRow | undefined> {
  return db
    .updateTable('thread_runs')
    .set({ awakeable_id: step.awakeableId })
    .where('step_key', '=', step.key)
    .where('workflow_run_id', '=', step.runId)
    .where('workspace_id', '=', workspaceId)
    .returningAll()
    .executeTakeFirst()
}

export async function listOpenOfWorkflowRun(db: Db, runId: string): Promise<RunRow[]> {
  return db
    .selectFrom('thread_runs')
    .selectAll()
    .where('workflow_run_id', '=', runId)
    .where('status', 'in', ['queued', 'working', 'waiting'])
    .orderBy('id')
    .execute()
}

export async function findWorkflowRunId(db: Db, threadRowId: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('thread_runs')
    .select('workflow_run_id')
    .where('thread_row_id', '=', threadRowId)
    .where('workflow_run_id', 'is not', null)
    .executeTakeFirst()
  return row?.workflow_run_id ?? undefined
}
