import {
  type RunError,
  type RunStatus,
  type StepRecord,
  snapshotOf,
  stepsOf,
} from '#machinery/graph/graph.ts'
import { isPassing } from '#platform/database-errors.ts'
import { findReadRun, listSmallRuns, type ReadRow } from './read-store.ts'
import type { RunParts } from './run-parts.ts'

type RunView = Parameters<typeof snapshotOf>[1]

export type ReadParts = Pick<RunParts, 'database' | 'definitions' | 'logger'>

/** A run as it is shown. */
export type ReadRun = Awaited<ReturnType<typeof describe>>

export async function readRun(
  parts: ReadParts,
  workspaceId: string,
  runId: string,
): Promise<ReadRun | undefined> {
  const row = await findReadRun(parts.database, workspaceId, runId)
  return row && describe(parts, row)
}

/** In their order, those that are gone left out. Large ones are read one at a time, when it is their turn. */
export async function* readRuns(parts: ReadParts, workspaceId: string, runIds: readonly string[]) {
  const small = await listSmallRuns(parts.database, workspaceId, runIds)
  for (const runId of runIds) {
    const row = small.get(runId) ?? (await findReadRun(parts.database, workspaceId, runId))
    if (row) yield (await describe(parts, row)).run
  }
}

async function describe(parts: ReadParts, row: ReadRow) {
  const status = row.status as RunStatus
  const view: RunView = {
    status,
    inputs: row.inputs,
    launchedAt: Date.parse(row.launched_at),
    records: new Map(row.steps as [string, StepRecord][]),
    ...(status === 'success' && { result: row.result }),
    ...(status === 'failed' && { error: row.error as RunError }),
  }
  const { snapshot, steps } = await hydrate(parts, row, view)
  return {
    version: row.version,
    run: {
      runId: row.run_id,
      workflowId: row.workflow_id,
      status,
      resourceId: row.workspace_id,
      updatedAt: row.updated_at,
      snapshot,
      ...(row.conversation_id !== null && { conversationId: row.conversation_id }),
      ...(row.parent_run_id !== null && { parentRunId: row.parent_run_id }),
    },
    steps,
  }
}

/** Of a definition or of records that cannot be read, only the frame of the run is told. */
async function hydrate(parts: ReadParts, row: ReadRow, view: RunView) {
  try {
    const workflow = await parts.definitions.find(row)
    if (workflow) return { snapshot: snapshotOf(workflow, view), steps: stepsOf(view.records) }
  } catch (error) {
    if (isPassing(error)) throw error
    parts.logger.error({ err: error, run: row.run_id }, 'the steps of a run cannot be read')
  }
  const { launchedAt: timestamp, inputs: input, records: _records, ...end } = view
  const snapshot = { ...end, context: { input }, value: {}, activePaths: [], suspendedPaths: {}, timestamp }
  return { snapshot, steps: {} }
}
