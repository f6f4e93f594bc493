import { lookedUpForMs } from '#operations/believed.ts'
import { ApiError } from '#operations/errors.ts'
import type { Database, Db, Tx } from '#platform/database.ts'
import { ExpiringCache } from '#platform/expiring-cache.ts'
import { isUuid } from '#platform/ids.ts'
import { requireRoomForWorkspace } from './members.ts'
import * as store from './store.ts'

export { holdMembership, joinWorkspace, lockTeam, requireOwner } from './members.ts'
export { findPersonalWorkspace, listMemberIds, listWorkspaces, lockWorkspace } from './store.ts'

/** The workspace as one of its members sees it; undefined alike for a foreign and an unknown one. */
export async function findWorkspace(database: Database, workspaceId: string, userId: string) {
  if (!isUuid(workspaceId)) return undefined
  const [row] = await database.hot<store.WorkspaceRow>(store.findWorkspaceStatement, [workspaceId, userId])
  return row
}

export async function isMember(db: Db, workspaceId: string, userId: string): Promise<boolean> {
  return (await store.findMember(db, workspaceId, userId)) !== undefined
}

export async function createPersonalWorkspace(tx: Tx, userId: string) {
  return store.insertWorkspace(tx, userId, { name: null, kind: 'personal' })
}

export async function createTeamWorkspace(tx: Tx, userId: string, name: string) {
  await requireRoomForWorkspace(tx, userId)
  return store.insertWorkspace(tx, userId, { name, kind: 'team' })
}

/**
 * Holds the workspace as it is while something in it is changed that a running execution relies on: until the
 * transaction ends none can start. False when one is working now.
 */
export async function shareSlot(tx: Tx, workspaceId: string): Promise<boolean> {
  return (await store.lockSlot(tx, workspaceId, 'share')).execution_id === null
}

/** As of now; only taking it makes sure. */
export async function isSlotFree(tx: Tx, workspaceId: string): Promise<boolean> {
  return (await store.findSlot(tx, workspaceId))?.execution_id == null
}

/** What it lasts at least until it is worth asking again; how long an execution goes on nobody knows. */
const busyRetrySeconds = 5

/** Refuses a start or a change while something works there, and names it. `queuePosition` is of who waits already. */
export async function executionRunning(
  db: Db,
  workspaceId: string,
  about: { readonly queuePosition?: number; readonly beside?: Readonly<Record<string, unknown>> } = {},
): Promise<ApiError> {
  const { queuePosition, beside } = about
  const running = await store.findRunning(db, workspaceId)
  return new ApiError('EXECUTION_RUNNING', {
    retryAfterSeconds: busyRetrySeconds,
    details: {
      ...(running ? { executionId: running.execution_id } : {}),
      ...(queuePosition === undefined ? {} : { queuePosition }),
    },
    ...(beside ? { beside } : {}),
  })
}

/** Takes the workspace's one place for an execution; false when it is taken. */
export async function takeSlot(tx: Tx, workspaceId: string, executionRowId: number): Promise<boolean> {
  const { execution_id } = await store.lockSlot(tx, workspaceId, 'update')
  if (execution_id !== null) return false
  await store.updateSlot(tx, workspaceId, executionRowId)
  return true
}

/** Gives the place back, if it is this execution that has it. */
export async function freeSlot(tx: Tx, workspaceId: string, executionRowId: number): Promise<void> {
  const { execution_id } = await store.lockSlot(tx, workspaceId, 'update')
  if (execution_id === executionRowId) await store.updateSlot(tx, workspaceId, null)
}

export function describeWorkspace(row: store.WorkspaceRow, currentId: string) {
  const { id, name, kind, role, created_at: createdAt } = row
  return { id, name, kind, role, createdAt, current: id === currentId }
}

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
    if (member) known.set(key, true, started, lookedUpForMs)
    return member
  }
}
