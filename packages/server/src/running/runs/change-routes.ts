import { type QueueJob, type Route, workflowRunRoutes } from '@guildhall/contract'
import type { Actor } from '#operations/actor.ts'
import type { Authority } from '#operations/authority.ts'
import { agentSlugOf, type Call, type Handlers, type Via } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { changeOnce, createInOneStatement } from '#operations/idempotency/idempotency.ts'
import { walkPages } from '#operations/page.ts'
import type { Principal } from '#operations/principal.ts'
import type { Db, Tx } from '#platform/database.ts'
import { isPassing } from '#platform/database-errors.ts'
import { cancelRun } from './cancel.ts'
import { checksumOf, confirmLaunch, findRunnable, type Launcher, prepareLaunch } from './launch.ts'
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

const readAtOnce = 200

/** What is done to runs. */
export function changeHandlers(parts: RunParts, chats: ChatQueue): Handlers<typeof changeRoutes> {
  const { db } = parts.database
  return {
    launchWorkflow: async (call) => {
      const { principal, params, body } = call
      const inputs = body?.inputs ?? {}
      const runnable = await findRunnable(parts, principal.workspaceId, params.id, inputs)
      const meant = call.origin?.definitionSha256
      if (meant !== undefined && meant !== checksumOf(runnable))
        throw new ApiError('CONFLICT', {
          message: 'This workflow was replaced a moment ago; look at it anew',
        })
      try {
        const made: { row?: store.RunRow } = {}
        const prepare = async (db: Db) => {
          const row = await prepareLaunch(db, parts, launcherOf(call), runnable, { inputs })
          made.row = row
          const { run_id: runId, workflow_id: workflowId } = row
          const conversation = call.origin?.conversationId
          const told = conversation === undefined ? {} : { conversationId: conversation }
          return { resourceId: runId, answer: { runId, workflowId, status: 'started' as const, ...told } }
        }
        return await createInOneStatement(call, prepare, ({ runId }) => confirmLaunch(parts, runId, made.row))
      } catch (error) {
        throw launchFailed(error)
      }
    },

    resumeWorkflowRun: async (call) => {
      const { principal, params, body, access } = call
      const row = await requireRun(parts, principal, params.runId)
      const spend = (tx: Tx) => access.spend(tx)
      const { stepId, resumeData: data } = body ?? {}
      const answer = { runId: params.runId, status: 'running' as const }
      return changeOnce(call, async (record) => {
        const keep = (tx: Tx, answerId: string) => record(tx, answer, answerId)
        await resumeRun(parts, row, { stepId, data, by: principal, via: 'run', spend, keep })
        return answer
      })
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
      const ofChats = await chats.list(principal)
      let total = ofChats.length
      const page = (after: number, limit: number) => store.listQueue(db, principal.workspaceId, after, limit)
      const describe = (row: store.QueueRow) => {
        total++
        return describeJob(row)
      }
      const ofWorkflows = walkPages({ start: 0, size: readAtOnce }, page, ({ id }) => id, describe)
      const items = merge(ofWorkflows, ofChats)
      return { items, within: { field: 'queued', rest: () => ({ total }) } }
    },

    // What waits for a person is in no queue, and what has ended has left it.
    deleteWorkflowQueueJob: async (call) => {
      const { principal, params } = call
      const chat = await chats.find(principal, params.runId)
      await requireStoppable(parts, call, chat)
      const spend = (tx: Tx) => call.access.spend(tx)
      const isCanceled = chat
        ? await chats.interrupt(params.runId, spend)
        : await cancelRun(parts, params.runId, principal, { from: ['running'], spend })
      if (!isCanceled) throw new ApiError('NOT_FOUND')
      return { success: true as const }
    },
  }
}

function describeJob({ run_id, workflow_slug, launched_at, queued_at }: store.QueueRow): QueueJob {
  return {
    runId: run_id,
    workflowSlug: workflow_slug,
    enqueuedAt: queued_at ?? launched_at,
    status: queued_at === null ? 'running' : 'queued',
  }
}

/** The older of two first, each in its own order. */
async function* merge(jobs: AsyncIterable<QueueJob>, others: readonly QueueJob[]) {
  let next = 0
  for await (const job of jobs) {
    for (let other = others[next]; other && other.enqueuedAt < job.enqueuedAt; other = others[++next])
      yield other
    yield job
  }
  yield* others.slice(next)
}

/** Runs of chats stand in the same queue. */
export interface ChatQueue {
  list(principal: Principal): Promise<QueueJob[]>
  /** Undefined for what is none of theirs, or not to be seen. */
  find(principal: Principal, runId: string): Promise<{ readonly api_key_id: number | null } | undefined>
  /** Whether it waited or worked, and is stopped. */
  interrupt(runId: string, spend: (tx: Tx) => Promise<unknown>): Promise<boolean>
}

/** Asked in the transaction of the launch, when its grants are spent. */
export function launcherOf(
  call: Pick<Call, 'client' | 'origin'> & { principal: Actor; authority: Authority },
): Launcher {
  const { workspaceId, userId, apiKeyId, oauthGrantId } = call.principal
  const { authority, origin, client } = call
  const agentSlug = agentSlugOf(call)
  const from = origin?.conversationId === undefined ? {} : { conversationId: origin.conversationId }
  const source = sources[client.via]
  return { workspaceId, userId, apiKeyId, oauthGrantId, authority, source, agentSlug, ...from }
}

/** What a run's request context calls the way it was launched. */
const sources = { http: 'api', mcp: 'mcp', agent: 'chat', workflow: 'workflow' } as const satisfies Record<
  Via,
  string
>

/** A repeat: the engine may not have had word of the first, when its process died. */
export async function launchedBefore<A extends { readonly runId: string }>(
  parts: RunParts,
  answer: A,
): Promise<A> {
  await confirmLaunch(parts, answer.runId).catch((error: unknown) => {
    throw launchFailed(error)
  })
  return answer
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
  known?: { readonly api_key_id: number | null },
): Promise<void> {
  const row = known ?? (await store.findRun(parts.database.db, principal.workspaceId, params.runId))
  const isOwn = principal.apiKeyId !== null && row?.api_key_id === principal.apiKeyId
  if (!isOwn) await access.require(route.scopesBeyondOwn ?? [])
  if (!row) throw new ApiError('NOT_FOUND')
}
