import { workflowRunRoutes } from '@guildhall/contract'
import { findWorkflow } from '#library/workflows/workflows.ts'
import type { Call, Handlers } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { decodeCursor, rowIdPart, toPage } from '#operations/page.ts'
import type { Principal } from '#operations/principal.ts'
import { JsonText } from '#platform/json-text.ts'
import { type Reading, type ReadParts, readRun, readRuns, recordOf } from './read.ts'
import { findShownRun, listRunIds } from './read-store.ts'
import { findDefinition } from './store.ts'

const { listWorkflowRuns, getWorkflowRun, getWorkflowRunDefinition } = workflowRunRoutes
export const readRoutes = { listWorkflowRuns, getWorkflowRun, getWorkflowRunDefinition }

const defaultPage = 50
/** In characters. A page ends early behind the run that goes beyond it, and says where the next one begins. */
const pageLength = 4 * 1024 * 1024

/** What is told of runs. */
export function readHandlers(parts: ReadParts): Handlers<typeof readRoutes> {
  return {
    listWorkflowRuns: async (call) => {
      const { items, nextCursor } = await openPage(parts, call)
      return { items, within: { field: 'runs', rest: () => ({ nextCursor: nextCursor() }) } }
    },

    getWorkflowRun: async ({ principal, params, signal }) => {
      const run = await readRun(parts, readerOf(principal), params.runId, signal)
      if (!run) throw new ApiError('NOT_FOUND')
      const text = new JsonText([
        ['run', recordOf(run)],
        ['steps', new JsonText(run.steps)],
      ])
      return { text }
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

/** The same person's key may be anybody's who got hold of it: what is private is told in the app alone. */
function readerOf({ kind, workspaceId, userId }: Principal): Reading {
  return { workspaceId, personId: kind === 'session' ? userId : null, userId }
}

async function openPage(parts: ReadParts, { principal, query, signal }: Call<typeof listWorkflowRuns>) {
  const { limit = defaultPage, status, workflowId, cursor } = query
  const [before] = cursor === undefined ? [] : decodeCursor(cursor, [rowIdPart])
  const filter = { status, workflowId, before, limit: limit + 1 }
  const rows = await listRunIds(parts.database.db, principal.workspaceId, filter)
  const runIds = rows.slice(0, limit).map(({ run_id }) => run_id)
  let told = limit
  async function* tell() {
    let length = 0
    let last = 0
    try {
      for await (const run of readRuns(parts, readerOf(principal), runIds, signal)) {
        const record = recordOf(run)
        yield record
        length += record.length
        last = runIds.indexOf(run.facts.runId) + 1
        if (length < pageLength) continue
        told = last
        return
      }
    } catch (error) {
      // There was no place in time for the next large one: the page ends before it.
      if (last === 0 || !(error instanceof ApiError)) throw error
      told = last
    }
  }
  const nextCursor = () =>
    toPage(
      rows,
      told,
      ({ run_id }) => run_id,
      ({ id }) => [String(id)],
    ).nextCursor
  return { items: tell(), nextCursor }
}
