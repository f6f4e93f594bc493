import { listMemberIds } from '#accounts/workspaces/workspaces.ts'
import type { Bus } from '#platform/bus.ts'
import type { Db } from '#platform/database.ts'
import type { Logger } from '#platform/logger.ts'
import type { ApprovalState } from './lifecycle.ts'
import type { StoredKind } from './store.ts'

interface Word {
  readonly kind: StoredKind
  readonly workspaceId: string
  readonly ids: readonly string[]
  /** Left out for what was just asked. */
  readonly status?: ApprovalState
  /** Whose it is; everybody's in the workspace when left out. */
  readonly userId?: string
}

/** Told after each of these, for whoever brings word of them to places that have no connection here. */
export const wordOfApprovals = 'word-of-approvals'

/** To whoever may decide, after the change is committed. Nothing here is needed for the truth. */
export async function announceApprovals(
  { bus, database, logger }: { bus: Bus; database: { db: Db }; logger: Logger },
  { kind, workspaceId, ids, status, userId }: Word,
): Promise<void> {
  if (ids.length === 0) return
  bus.wake(wordOfApprovals)
  try {
    const told = userId ?? (await listMemberIds(database.db, workspaceId))
    const type = status === undefined ? 'approval-requested' : 'approval-resolved'
    for (const approvalId of ids) {
      bus.publish({ type, workspaceId, approvalId, kind, ...(status && { status }) }, { userId: told })
    }
  } catch (error) {
    logger.warn({ err: error, ids }, 'nobody was told of an approval')
  }
}
