import type { Reconciler } from '#platform/reconcile.ts'
import { sideBySide } from '#platform/side-by-side.ts'
import type { ThreadParts } from '#running/threads/threads.ts'
import * as store from './due-store.ts'
import { type Notice, tellThread } from './notify.ts'

const atMost = 100
const atOnce = 4

/**
 * Has threads hear of what is not a workflow's: an answer to a question of theirs, the end of a skill that nobody waits
 * for any more, and that another agent has picked the work up. Nothing else happens there meanwhile, so a look every
 * second is soon enough.
 */
export function otherWord(parts: ThreadParts): Reconciler {
  const { database, logger } = parts
  return {
    name: 'other word to threads',
    run: async () => {
      const due = await store.listDue(database.db, atMost)
      await sideBySide(due, atOnce, async (row) => {
        try {
          await tellThread(parts, row.thread_row_id, noticeOf(row), (tx) => store.deleteDue(tx, row))
        } catch (error) {
          logger.warn({ err: error, source: row.source }, 'a thread was not told of something yet')
        }
      })
    },
  }
}

function noticeOf({ source, ref, payload, execution_status, skill_slug }: store.DueRow): Notice {
  const facts = payload as Record<string, unknown>
  switch (source) {
    case 'approval': {
      const status = String(facts['status'])
      return {
        kind: 'approval.resolved',
        source,
        priority: 'low',
        summary: `A question of this conversation was ${said[status] ?? status}.`,
        payload: facts,
        dedupeKey: `${ref}:${status}`,
        // Whoever asked goes on by itself.
        wakes: false,
      }
    }
    case 'execution': {
      const isDone = execution_status === 'completed'
      return {
        kind: isDone ? 'execution.completed' : 'execution.failed',
        source,
        priority: isDone ? 'medium' : 'high',
        summary: `Skill ${skill_slug} ${isDone ? 'has completed' : 'has failed'} after this conversation stopped waiting for it.`,
        payload: { ...facts, skillSlug: skill_slug, status: execution_status },
        dedupeKey: `${ref}:${execution_status}`,
      }
    }
    case 'handover':
      return {
        kind: 'trace.picked_up',
        source,
        priority: 'medium',
        summary: 'Another agent has picked up the work of this conversation.',
        payload: facts,
        dedupeKey: `${ref}:claimed`,
      }
  }
}

const said: Readonly<Record<string, string>> = {
  granted: 'answered with a yes',
  denied: 'answered with a no',
  expired: 'not answered in time',
}
