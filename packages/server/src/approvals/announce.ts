import type { Bus } from '../bus/bus.ts'
import type { Db } from '../platform/database.ts'
import type { Logger } from '../platform/logger.ts'
import { listMemberIds } from '../workspaces/workspaces.ts'
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

/** To whoever may decide, after the change is committed. Nothing here is needed for the truth. */
export async function announceApprovals(
  { bus, database, logger }: { bus: Bus; database: { db: Db }; logger: Logger },
  { kind, workspaceId, ids, status, userId }: Word,
): Promise<void> {
  if (ids.length === 0) return
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
