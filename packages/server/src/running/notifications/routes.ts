import { notificationRoutes, succeeded } from '@guildhall/contract'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { decodeCursor, timePart, toPage } from '#operations/page.ts'
import type { Principal } from '#operations/principal.ts'
import type { Db } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { noteThread, requireThread, type ThreadParts } from '#running/threads/threads.ts'
import { otherWord } from './happenings.ts'
import { describeNotification } from './notify.ts'
import type { RunNotices } from './runs.ts'
import * as store from './store.ts'

const defaultPage = 50
const keepSeconds = 90 * 24 * 3600
const idPart = (text: string) => /^notice_[0-9a-f-]{36}$/.test(text)

interface Asked {
  readonly status?: store.NotificationRow['status']
  readonly limit?: number
  readonly cursor?: string
}

export function notificationFeature({ database }: Deps, parts: ThreadParts, notices: RunNotices): Feature {
  const routes = bindRoutes(notificationRoutes, {
    listNotifications: ({ principal, query, deps }) => readPage(deps.database.db, principal, query),

    listThreadNotifications: async ({ principal, params, query, deps }) => {
      const { id } = await requireThread(deps.database.db, principal, params.id)
      return readPage(deps.database.db, principal, query, id)
    },

    seeThreadNotifications: async ({ principal, params, body, deps, access }) => {
      const thread = await requireThread(deps.database.db, principal, params.id)
      await deps.database.transaction(async (tx) => {
        await access.spend(tx)
        await store.updateSeenThrough(tx, thread.id, body.through ?? thread.last_sequence)
        noteThread(tx, thread, ['notifications'])
      })
      return succeeded
    },

    seeNotification: async ({ principal, params, deps, access }) => {
      const { id, thread } = await requireNotification(deps.database.db, principal, params.id)
      await deps.database.transaction(async (tx) => {
        await access.spend(tx)
        await store.updateSeen(tx, id)
        noteThread(tx, thread, ['notifications'])
      })
      return succeeded
    },

    dismissNotification: async ({ principal, params, deps, access }) => {
      const { id, thread } = await requireNotification(deps.database.db, principal, params.id)
      await deps.database.transaction(async (tx) => {
        await access.spend(tx)
        await store.updateDismissed(tx, id)
        noteThread(tx, thread, ['notifications'])
      })
      return succeeded
    },
  })
  return {
    routes,
    sweeps: [{ table: 'notifications', run: () => store.deleteOldNotifications(database.db, keepSeconds) }],
    reconcilers: [notices.reconciler, otherWord(parts)],
  }
}

/** What is read is delivered. */
async function readPage(db: Db, principal: Principal, query: Asked, threadRowId?: number) {
  const { limit = defaultPage, cursor, status } = query
  const [at = '', id = ''] = cursor === undefined ? [] : decodeCursor(cursor, [timePart, idPart])
  const rows = await store.listNotifications(db, principal.workspaceId, {
    personId: personOf(principal),
    threadRowId,
    status,
    after: cursor === undefined ? undefined : { at, id },
    limit: limit + 1,
  })
  const read = rows.slice(0, limit).filter((row) => row.status === 'pending')
  if (read.length > 0)
    await store.updateDelivered(
      db,
      read.map((row) => row.id),
    )
  return toPage(rows, limit, describeNotification, (row) => [row.created_at, row.id])
}

async function requireNotification(db: Db, principal: Principal, id: string) {
  const found = await store.findNotification(db, principal.workspaceId, personOf(principal), id)
  if (!found) throw new ApiError('NOT_FOUND')
  const { visibility, user_id, workspace_id, thread_kind: kind } = found
  return { id, thread: { kind, visibility, user_id, workspace_id } }
}

/** Whose private threads are seen: a person's in the app, and nobody's by a key or an app. */
function personOf({ kind, userId }: Principal): string | null {
  return kind === 'session' ? userId : null
}
