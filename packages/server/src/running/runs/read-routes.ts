import { workflowRunRoutes } from '@guildhall/contract'
import { findWorkflow } from '#library/workflows/workflows.ts'
import type { Call, Handlers } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { decodeCursor, rowIdPart, toPage } from '#operations/page.ts'
import { readRun, readRuns } from './read.ts'
import { findShownRun, listRunIds } from './read-store.ts'
import type { RunParts } from './run-parts.ts'
import { findDefinition } from './store.ts'

const { listWorkflowRuns, getWorkflowRun, getWorkflowRunDefinition } = workflowRunRoutes
export const readRoutes = { listWorkflowRuns, getWorkflowRun, getWorkflowRunDefinition }

const defaultPage = 50

/** What is told of runs. */
export function readHandlers(parts: RunParts): Handlers<typeof readRoutes> {
  return {
    listWorkflowRuns: async (call) => {
      const { items, nextCursor } = await listPage(parts, call)
      return {
        items: readRuns(parts, call.principal.workspaceId, items),
        within: { field: 'runs', rest: () => ({ nextCursor }) },
      }
    },

    getWorkflowRun: async ({ principal, params }) => {
      const found = await readRun(parts, principal.workspaceId, params.runId)
      if (!found) throw new ApiError('NOT_FOUND')
      return { run: found.run, steps: found.steps }
    },

    getWorkflowRunDefinition: async ({ principal: { workspaceId }, params }) => {
      const { db } = parts.database
      const run = await findShownRun(db, workspaceId, params.runId)
      const text = run && (await findDefinition(db, run.definition_checksum))
      if (!run || text === undefined) throw new ApiError('NOT_FOUND')
      const installed = await findWorkflow(db, workspaceId, run.workflow_slug)
      return {
        definition: JSON.parse(text),
        checksum: run.definition_checksum,
        current: installed?.definition === text,
      }
    },
  }
}

async function listPage({ database }: RunParts, { principal, query }: Call<typeof listWorkflowRuns>) {
  const { limit = defaultPage, status, workflowId, cursor } = query
  const [before] = cursor === undefined ? [] : decodeCursor(cursor, [rowIdPart])
  const filter = { status, workflowId, before, limit: limit + 1 }
  const rows = await listRunIds(database.db, principal.workspaceId, filter)
  return toPage(
    rows,
    limit,
    ({ run_id }) => run_id,
    ({ id }) => [String(id)],
  )
}
