import { membersPerWorkspace, workspacesPerUser } from '@guildhall/contract'
import { lockUser } from '#accounts/users/users.ts'
import { ApiError } from '#operations/errors.ts'
import { noteChange } from '#platform/changes.ts'
import type { Db, Tx } from '#platform/database.ts'
import { isUuid } from '#platform/ids.ts'
import type { Role } from '#platform/tables.ts'
import * as store from './store.ts'

/** Held by whoever changes the members, so that they are counted by one at a time; an owner, when one is named. */
export async function lockTeam(tx: Tx, workspaceId: string, ownerId?: string): Promise<void> {
  const workspace = await store.lockWorkspace(tx, workspaceId)
  if (ownerId !== undefined) await requireOwner(tx, workspaceId, ownerId)
  if (workspace?.kind === 'team') return
  throw new ApiError('CONFLICT', {
    message: 'A personal workspace cannot have members; create a team workspace',
  })
}

/** Under the workspace's lock. Who is a member already stays what they are. */
export async function joinWorkspace(tx: Tx, workspaceId: string, userId: string, role: Role) {
  const isNew = !(await store.findMember(tx, workspaceId, userId))
  if (isNew) {
    const { members } = await store.countMembers(tx, workspaceId)
    if (members >= membersPerWorkspace) {
      throw new ApiError('CONFLICT', {
        message: `A workspace can have at most ${membersPerWorkspace} members`,
        details: { limit: membersPerWorkspace },
      })
    }
    await requireRoomForWorkspace(tx, userId)
    await store.insertMember(tx, workspaceId, userId, role)
  }
  const workspace = await store.findWorkspaceOf(tx, workspaceId, userId)
  if (!workspace) throw new Error('Somebody who has just joined a workspace is not in it')
  return { workspace, isNew }
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

/**
 * An owner removes anybody, a member itself; a workspace keeps at least one owner. Gives the person's id as it is stored.
 * What the member holds there is ended after this, in the same transaction.
 */
export async function removeMember(
  tx: Tx,
  { workspaceId, actorId }: { workspaceId: string; actorId: string },
  userId: string,
): Promise<string> {
  await store.lockWorkspace(tx, workspaceId)
  if (userId !== actorId) await requireOwner(tx, workspaceId, actorId)
  const member = isUuid(userId) ? await store.findMember(tx, workspaceId, userId) : undefined
  if (!member) throw new ApiError('NOT_FOUND')
  const { owners } = await store.countMembers(tx, workspaceId)
  if (member.role === 'owner' && owners === 1) {
    throw new ApiError('CONFLICT', {
      message: 'The last owner cannot leave; make somebody else an owner first',
    })
  }
  await store.deleteMember(tx, workspaceId, member.userId)
  noteChange(tx, { kinds: ['workspaces', 'keys', 'oauthGrants'], userId: member.userId })
  return member.userId
}

/**
 * Whoever is a member stays one until the transaction ends, so that a removal finds what they are given in it. Who was
 * removed a moment ago is given nothing.
 */
export async function holdMembership(tx: Tx, workspaceId: string, userId: string): Promise<void> {
  if (await store.holdMember(tx, workspaceId, userId)) return
  throw new ApiError('FORBIDDEN', { message: 'You are not a member of that workspace' })
}

export async function requireOwner(db: Db, workspaceId: string, userId: string): Promise<void> {
  const member = await store.findMember(db, workspaceId, userId)
  if (member?.role === 'owner') return
  throw new ApiError('FORBIDDEN', { message: 'Only an owner of the workspace may change its members' })
}
