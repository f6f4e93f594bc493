import type { QueueJob } from '@guildhall/contract'
import type { Principal } from '#operations/principal.ts'
import type { Tx } from '#platform/database.ts'
import { endRunById, type ThreadParts } from './changes.ts'
import { isVisible } from './enter.ts'
import { interrupted } from './lifecycle.ts'
import { listChatJobs } from './list-store.ts'
import * as store from './store.ts'
import { fromRunId, toRunId } from './thread-log.ts'

/** Runs of chats as the queue of a workspace shows them, beside those of workflows. */
export function chatQueue(parts: ThreadParts) {
  const { db } = parts.database
  return {
    list: async (principal: Principal): Promise<QueueJob[]> => {
      const personId = principal.kind === 'session' ? principal.userId : null
      const rows = await listChatJobs(db, principal.workspaceId, personId)
      return rows.map(({ run_id, agent_slug, created_at, status }) => ({
        runId: toRunId(run_id),
        workflowSlug: `agent:${agent_slug}`,
        enqueuedAt: created_at,
        status: status === 'queued' ? 'queued' : 'running',
      }))
    },

    find: async (principal: Principal, id: string) => {
      const runId = fromRunId(id)
      const found =
        runId === undefined ? undefined : await store.findRunOfWorkspace(db, principal.workspaceId, runId)
      if (!found || !isVisible(found.thread, principal)) return undefined
      const { credential_kind, credential_id } = found.run
      return { api_key_id: credential_kind === 'key' ? credential_id : null }
    },

    /** What waits for something is in no queue, and what has ended has left it. */
    interrupt: async (id: string, spend: (tx: Tx) => Promise<unknown>): Promise<boolean> => {
      const run = await store.findRunByRunId(db, fromRunId(id) ?? '')
      const isListed = ({ status }: store.RunRow) => status === 'queued' || status === 'working'
      const outcome = run && (await endRunById(parts, run, interrupted, isListed, spend))
      return outcome?.changed ?? false
    },
  }
}
