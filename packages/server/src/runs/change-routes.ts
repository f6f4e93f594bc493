import { type Route, workflowRunRoutes } from '@guildhall/contract'
import { createAtOnce } from '../idempotency/idempotency.ts'
import type { Actor } from '../operations/actor.ts'
import type { Call, Handlers } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import { type Db, isPassing, type Tx } from '../platform/database.ts'
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

    resumeWorkflowRun: async ({ principal, params, body, access }) => {
      const row = await requireRun(parts, principal, params.runId)
      const spend = (tx: Tx) => access.spend(tx)
      const { stepId, resumeData: data } = body ?? {}
      await resumeRun(parts, row, { stepId, data, by: principal, via: 'run', spend })
      return { runId: params.runId, status: 'running' as const }
    },

    // What was canceled before is canceled; what ended otherwise cannot be.
    cancelWorkflowRun: async (call) => {
      const { runId } = call.params
      await requireStoppable(parts, call)
      if (!(await cancelRun(parts, runId, call.principal, { spend: (tx) => call.access.spend(tx) }))) {
        const { status } = await requireRun(parts, call.principal, runId)
        const message = `This run has ended already: ${status}`
        if (status !== 'canceled') throw new ApiError('CONFLICT', { message, details: { status } })
      }
      return { success: true as const, runId }
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
    deleteWorkflowQueueJob: async (call) => {
      await requireStoppable(parts, call)
      const spend = (tx: Tx) => call.access.spend(tx)
      if (!(await cancelRun(parts, call.params.runId, call.principal, { from: ['running'], spend })))
        throw new ApiError('NOT_FOUND')
      return { success: true as const }
    },
  }
}

export function launcherOf({ workspaceId, userId, apiKeyId, oauthGrantId }: Actor): Launcher {
  return { workspaceId, userId, apiKeyId, oauthGrantId, source: 'api' }
}

/** A failure that is ours comes with the little that can be told about it. */
export function launchFailed(error: unknown): unknown {
  if (error instanceof ApiError || isPassing(error)) return error
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

/** A key needs no scope for what it has launched itself, and without one is told of nothing else whether it exists. */
async function requireStoppable(
  parts: RunParts,
  {
    route,
    principal,
    access,
    params,
  }: Pick<Call<typeof cancelWorkflowRun>, 'principal' | 'access' | 'params'> & { readonly route: Route },
): Promise<void> {
  const row = await store.findRun(parts.database.db, principal.workspaceId, params.runId)
  const isOwn = principal.apiKeyId !== null && row?.api_key_id === principal.apiKeyId
  if (!isOwn) await access.require(route.scopesBeyondOwn ?? [])
  if (!row) throw new ApiError('NOT_FOUND')
}
