import type { Database, HotStatement } from '#platform/database.ts'
import type { WorkflowRunStatus } from '#platform/tables.ts'

/** Of the row of a run: whether who launched it may still act. */
export const mayActSql = `may_act(workspace_id, user_id, api_key_id, oauth_grant_id,
  case when allowed_once then null else array['tool:execute'] end, launched_at)`

export interface RunAccessRow {
  readonly run_id: string
  readonly status: WorkflowRunStatus
  readonly may_act: boolean
  readonly oauth_grant_id: number | null
}

const runAccessStatement: HotStatement = {
  name: 'run-access',
  text: `select run_id, status, ${mayActSql} as may_act, oauth_grant_id from workflow_runs where run_id = any($1::text[])`,
}

export function listAccess(database: Database, runIds: readonly string[]): Promise<RunAccessRow[]> {
  return database.hot<RunAccessRow>(runAccessStatement, [runIds])
}
