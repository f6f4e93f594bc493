import type { RunParts } from './run-parts.ts'
import type { ShownRow } from './store.ts'

/** Whoever watches a run waits here, in any process. */
export function runChannel(runId: string): string {
  return `workflow-run:${runId}`
}

/** After a change of status is committed: sockets, watchers and threads are told. Nothing here is needed for the truth. */
export function announceRun({ bus, hear }: Pick<RunParts, 'bus' | 'hear'>, row: ShownRow): void {
  const { run_id: runId, workspace_id: workspaceId, workflow_id: workflowId, status } = row
  bus.wake(runChannel(runId))
  bus.publish({ type: 'workflow-run-updated', workspaceId, runId, workflowId, status })
  hear(row)
}
