import { workflowRunRoutes } from '@guildhall/contract'
import { ApiError } from '../http/api-error.ts'
import type { Handlers } from '../http/bind-routes.ts'
import { type Principal, startedThrough } from '../http/principal.ts'
import { createAtOnce } from '../idempotency/idempotency.ts'
import { type Db, isDatabaseAway } from '../platform/database.ts'
import { cancelRun } from './cancel.ts'
import { confirmLaunch, findRunnable, type Launcher, prepareLaunch } from './launch.ts'
import { resumeRun } from './resume.ts'
import type { RunParts } from './run-parts.ts'
import * as store from './store.ts'

const { launchWorkflow, resumeWorkflowRun, cancelWorkflowRun, listWorkflowQueue, deleteWorkflowQueueJob } =
  workflowRunRoutes
export const changeRoutes = {
  launchWorkflow,
  resumeWorkflowRun,
  cancelWorkflowRun,
  listWorkflowQueue,
  deleteWorkflowQueueJob,
}

/** What is done to runs. */
export function changeHandlers(parts: RunParts): Handlers<typeof changeRoutes> {
  const { db } = parts.database
  return {
    launchWorkflow: async (call) => {
      const { principal, params, body } = call
      const inputs = body?.inputs ?? {}
      const runnable = await findRunnable(parts, principal.workspaceId, params.id, inputs)
      try {
        const made: { row?: store.RunRow } = {}
        const prepare = async (db: Db) => {
          const row = await prepareLaunch(db, parts, launcherOf(principal), runnable, { inputs })
          made.row = row
          const { run_id: runId, workflow_id: workflowId } = row
          return { resourceId: runId, answer: { runId, workflowId, status: 'started' as const } }
        }
        return await createAtOnce(call, prepare, ({ runId }) => confirmLaunch(parts, runId, made.row))
      } catch (error) {
        throw launchFailed(error)
      }
    },

    resumeWorkflowRun: async ({ principal, params, body }) => {
      const row = await requireRun(parts, principal, params.runId)
      await resumeRun(parts, row, { stepId: body?.stepId, data: body?.resumeData })
      return { runId: params.runId, status: 'running' as const }
    },

    cancelWorkflowRun: async ({ principal, params }) => {
      await cancelOwn(parts, principal, params.runId)
      return { success: true as const, runId: params.runId }
    },

    listWorkflowQueue: async ({ principal }) => {
      const rows = await store.listQueue(db, principal.workspaceId)
      const queued = rows.map(({ run_id, workflow_slug, launched_at, queued_at }) => ({
        runId: run_id,
        workflowSlug: workflow_slug,
        enqueuedAt: queued_at ?? launched_at,
        status: queued_at === null ? 'running' : 'queued',
      }))
      return { queued, total: queued.length }
    },

    // What waits for a person is in no queue, and what has ended has left it.
    deleteWorkflowQueueJob: async ({ principal, params }) => {
      await requireRun(parts, principal, params.runId)
      if (!(await cancelRun(parts, params.runId, ['running']))) throw new ApiError('NOT_FOUND')
      return { success: true as const }
    },
  }
}

export function launcherOf(principal: Principal): Launcher {
  const { workspaceId, userId } = principal
  return { workspaceId, userId, ...startedThrough(principal), source: 'api' }
}

/** A failure that is ours comes with the little that can be told about it. */
export function launchFailed(error: unknown): unknown {
  if (error instanceof ApiError || isDatabaseAway(error)) return error
  const details = { cause: { message: 'The run could not be recorded; nothing was started' } }
  return new ApiError('INTERNAL_ERROR', { cause: error, details })
}

export async function requireRun(
  { database }: Pick<RunParts, 'database'>,
  { workspaceId }: Pick<Principal, 'workspaceId'>,
  runId: string,
): Promise<store.RunRow> {
  const row = await store.findRun(database.db, workspaceId, runId)
  if (!row) throw new ApiError('NOT_FOUND')
  return row
}

/** What was canceled before is canceled; what ended otherwise cannot be. */
async function cancelOwn(parts: RunParts, principal: Principal, runId: string): Promise<void> {
  await requireRun(parts, principal, runId)
  if (await cancelRun(parts, runId)) return
  const { status } = await requireRun(parts, principal, runId)
  if (status === 'canceled') return
  throw new ApiError('CONFLICT', { message: `This run has ended already: ${status}`, details: { status } })
}
