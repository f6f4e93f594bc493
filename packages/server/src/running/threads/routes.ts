import { succeeded, threadRoutes } from '@guildhall/contract'
import { findAgent } from '#library/agents/agents.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import { decodeCursor, rowIdPart, timePart, toPage } from '#operations/page.ts'
import type { Principal } from '#operations/principal.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Streams } from '#streams/streams.ts'
import { requireAgent } from './addressed.ts'
import { changeThread, interruptRun, type ThreadParts } from './changes.ts'
import { createThread, mayWake, notToBeWoken } from './create.ts'
import { describeRun, describeThread, describeThreadItem } from './describe.ts'
import { findVisible, noteThread, requireThread } from './enter.ts'
import { hideThread } from './hide.ts'
import { breakOffRun, interrupted } from './lifecycle.ts'
import { deleteOldSubscriptions, listRuns, listThreads } from './list-store.ts'
import { messageHandlers } from './message-routes.ts'
import { readMessages } from './messages.ts'
import { tellPrivate } from './outsiders.ts'
import { threadReconcilers } from './reconcile.ts'
import { isAwaited } from './step-run.ts'
import * as store from './store.ts'
import { fromRunId, toRunId } from './thread-log.ts'

const defaultPage = 50
const emptyForSeconds = 24 * 3600

export function threadFeature(parts: ThreadParts, streams?: Streams): Feature {
  const routes = bindRoutes(threadRoutes, {
    createThread: async (call) => {
      const { principal, body, deps } = call
      const agent = await requireAgent(deps.database.db, principal.workspaceId, body.agentId)
      return createOnce(call, async (tx) => {
        const thread = await createThread(tx, principal, agent.slug, {
          threadId: body.threadId,
          title: body.title,
          visibility: body.visibility,
          onNotification: body.onNotification,
        })
        return { resourceId: thread.thread_id, answer: describeThread(thread) }
      })
    },

    listThreads: async ({ principal, query, deps }) => {
      const { limit = defaultPage, cursor } = query
      const [at, id] = cursor === undefined ? [] : decodeCursor(cursor, [timePart, rowIdPart])
      const agentSlug =
        query.agentId === undefined
          ? undefined
          : (await findAgent(deps.database.db, principal.workspaceId, query.agentId))?.slug
      if (query.agentId !== undefined && agentSlug === undefined) return { items: [], nextCursor: null }
      const rows = await listThreads(deps.database.db, principal.workspaceId, {
        personId: personOf(principal),
        agentSlug,
        after: at === undefined ? undefined : { at, id: Number(id) },
        limit: limit + 1,
      })
      return toPage(rows, limit, describeThreadItem, (row) => [row.last_activity_at, String(row.id)])
    },

    getThread: async ({ principal, params, deps }) => readThread(deps.database.db, principal, params.id),

    updateThread: async ({ principal, params, body, deps, access }) => {
      const { id } = await requireThread(deps.database.db, principal, params.id)
      let hidden: readonly number[] = []
      const changed = await changeThread(parts, id, async (tx, { thread }) => {
        const isOwner = principal.kind === 'session' && thread.user_id === principal.userId
        if ((body.visibility ?? thread.visibility) !== thread.visibility && !isOwner) throw ownersAlone()
        if (body.onNotification === 'wake' && !mayWake(thread, principal)) throw notToBeWoken()
        await access.spend(tx)
        // Whoever saw it hears that they see it no more, and whoever sees it from now on that they do.
        for (const visibility of [thread.visibility, body.visibility ?? thread.visibility])
          noteThread(tx, { ...thread, visibility }, ['threads', 'traces'])
        if (body.visibility === 'private') hidden = await hideThread(tx, thread)
        await store.updateThread(tx, id, {
          ...(body.title !== undefined && { title: body.title }),
          ...(body.visibility !== undefined && { visibility: body.visibility }),
          ...(body.onNotification !== undefined && { on_notification: body.onNotification }),
        })
        return true
      })
      if (!changed) throw new ApiError('NOT_FOUND')
      for (const one of hidden) tellPrivate(parts, one)
      return readThread(deps.database.db, principal, params.id)
    },

    deleteThread: async ({ principal, params, deps, access }) => {
      const { id } = await requireThread(deps.database.db, principal, params.id)
      const gone = await changeThread(parts, id, async (tx, change) => {
        await access.spend(tx)
        const { thread } = change
        const run = thread.active_run === null ? undefined : await store.findRunById(tx, thread.active_run)
        if (thread.kind === 'step' && (await isAwaited(tx, id))) throw stepWaits()
        // What it costs counts to whoever asked, who reads that when it is over.
        if (await store.isAskedIn(tx, id)) throw askerGoesOn()
        if (run) await breakOffRun(tx, change, run, interrupted)
        await store.deleteThread(tx, id)
        noteThread(tx, thread, ['threads', 'traces'])
        return true
      })
      if (!gone) throw new ApiError('NOT_FOUND')
      return succeeded
    },

    listThreadMessages: async (call) => {
      const { principal, params, query, deps } = call
      const thread = await requireThread(deps.database.db, principal, params.id)
      const after = query.afterSeq ?? (query.cursor === undefined ? 0 : readSequence(query.cursor))
      const page = await readMessages(parts, thread.id, {
        after,
        limit: query.limit ?? defaultPage,
        waitMs: (query.wait ?? 0) * 1000,
        signal: call.signal,
      })
      // It may have become private while this waited.
      if (query.wait) await requireThread(deps.database.db, principal, params.id)
      return page
    },

    listThreadRuns: async ({ principal, params, query, deps }) => {
      const { limit = defaultPage, cursor } = query
      const thread = await requireThread(deps.database.db, principal, params.id)
      const [before] = cursor === undefined ? [] : decodeCursor(cursor, [rowIdPart])
      const rows = await listRuns(deps.database.db, thread.id, {
        limit: limit + 1,
        before: before === undefined ? undefined : Number(before),
      })
      const describe = (row: store.RunRow) => describeRun(thread, row)
      return toPage(rows, limit, describe, ({ id }) => [String(id)])
    },

    getThreadRun: async ({ principal, params, deps }) => {
      const thread = await requireThread(deps.database.db, principal, params.id)
      const runId = fromRunId(params.runId)
      const run = runId === undefined ? undefined : await store.findRun(deps.database.db, thread.id, runId)
      if (!run) throw new ApiError('NOT_FOUND')
      return describeRun(thread, run)
    },

    interruptThread: async ({ route, principal, params, body, deps, access }) => {
      const { db } = deps.database
      const thread = await findVisible(db, principal, params.id)
      const runId = body.runId === undefined ? undefined : (fromRunId(body.runId) ?? null)
      const run = thread && (await findStoppable(db, thread, runId))
      // Without the scope nobody is told of what somebody else has started whether it exists.
      if (!isStartedBy(run, principal)) await access.require(route.scopesBeyondOwn)
      if (!thread || (runId !== undefined && !run)) throw new ApiError('NOT_FOUND')
      const stop = (tx: Tx) => {
        noteThread(tx, thread, ['threads', 'traces'])
        return access.spend(tx)
      }
      const outcome = run && (await interruptRun(parts, run, stop))
      if (!outcome) return { success: false, runId: null, status: null }
      return { success: outcome.changed, runId: toRunId(outcome.run.run_id), status: outcome.run.status }
    },
  })
  const { db } = parts.database
  return {
    routes: [...routes, ...messageHandlers(parts, streams)],
    sweeps: [
      { table: 'thread_partitions', run: () => store.insertEventPartitions(db) },
      { table: 'threads', run: () => store.deleteEmptyThreads(db, emptyForSeconds) },
      { table: 'thread_subscriptions', run: () => deleteOldSubscriptions(db) },
    ],
    reconcilers: threadReconcilers(parts),
  }
}

/** The run that is named, or else the active one. Null names none that could be. */
async function findStoppable(db: Db, thread: store.ThreadRow, runId: string | null | undefined) {
  if (runId !== undefined) return runId === null ? undefined : store.findRun(db, thread.id, runId)
  return thread.active_run === null ? undefined : store.findRunById(db, thread.active_run)
}

function isStartedBy(run: store.RunRow | undefined, { kind, credentialId }: Principal): boolean {
  return kind === 'key' && run?.credential_kind === 'key' && run.credential_id === credentialId
}

async function readThread(db: Db, principal: Principal, threadId: string) {
  const [row] = await listThreads(db, principal.workspaceId, {
    personId: personOf(principal),
    agentSlug: undefined,
    threadId,
    limit: 1,
  })
  if (!row) throw new ApiError('NOT_FOUND')
  return describeThreadItem(row)
}

/** Whose private threads are seen: a person's in the app, and nobody's by a key or an app. */
function personOf({ kind, userId }: Principal): string | null {
  return kind === 'session' ? userId : null
}

function stepWaits(): ApiError {
  return new ApiError('CONFLICT', {
    message: "A workflow's step waits for this thread; cancel the workflow's run, or wait for its end",
  })
}

function askerGoesOn(): ApiError {
  return new ApiError('CONFLICT', {
    message: 'An agent waits for what it asked here; interrupt its run, or wait for its end',
  })
}

function ownersAlone(): ApiError {
  return new ApiError('FORBIDDEN', {
    message: 'Who sees a thread is decided by the person who opened it, in the app',
  })
}

function readSequence(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new ApiError('INVALID_INPUT', { message: 'cursor: not one this list handed out' })
}
