import { workspacesPerUser } from '@guildhall/contract'
import { ApiError } from '../http/api-error.ts'
import type { Database, Tx } from '../platform/database.ts'
import { ExpiringCache } from '../platform/expiring-cache.ts'
import { isUuid } from '../platform/ids.ts'
import { lockUser } from '../users/users.ts'
import * as store from './store.ts'

export { findPersonalWorkspace, listWorkspaces } from './store.ts'

/** The workspace as one of its members sees it; undefined alike for a foreign and an unknown one. */
export async function findWorkspace(database: Database, workspaceId: string, userId: string) {
  if (!isUuid(workspaceId)) return undefined
  const [row] = await database.hot<store.WorkspaceRow>(store.findWorkspaceStatement, [workspaceId, userId])
  return row
}

export async function createPersonalWorkspace(tx: Tx, userId: string) {
  return store.insertWorkspace(tx, userId, { name: null, kind: 'personal' })
}

export async function createTeamWorkspace(tx: Tx, userId: string, name: string) {
  await requireRoomForWorkspace(tx, userId)
  return store.insertWorkspace(tx, userId, { name, kind: 'team' })
}

/** Counted under the person's lock, whether the person makes a workspace or is added to one. */
export async function requireRoomForWorkspace(tx: Tx, userId: string): Promise<void> {
  await lockUser(tx, userId)
  if ((await store.countMemberships(tx, userId)) < workspacesPerUser) return
  throw new ApiError('CONFLICT', {
    message: `A person can belong to at most ${workspacesPerUser} workspaces`,
    details: { limit: workspacesPerUser },
  })
}

export function describeWorkspace(row: store.WorkspaceRow, currentId: string) {
  const { id, name, kind, role, created_at: createdAt } = row
  return { id, name, kind, role, createdAt, current: id === currentId }
}

const believedForMs = 900

/** Membership for the edge: asked at every request of a session that names a workspace. */
export function createMembershipCheck(
  database: Database,
): (workspaceId: string, userId: string) => Promise<boolean> {
  const known = new ExpiringCache<boolean>(10_000)
  return async (workspaceId, userId) => {
    const key = `${workspaceId}:${userId}`
    if (known.get(key)) return true
    const started = performance.now()
    const member = (await findWorkspace(database, workspaceId, userId)) !== undefined
    if (member) known.set(key, true, started, believedForMs)
    return member
  }
}
