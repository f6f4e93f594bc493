import { membersPerWorkspace } from '@guildhall/contract'
import { ApiError } from '../http/api-error.ts'
import type { Tx } from '../platform/database.ts'
import { isUuid } from '../platform/ids.ts'
import type { Role } from '../platform/tables.ts'
import { findUserByVerifiedEmail } from '../users/users.ts'
import * as store from './store.ts'
import { requireRoomForWorkspace } from './workspaces.ts'

interface Change {
  workspaceId: string
  /** Who makes the change. */
  actorId: string
}

/** Owners add people who have signed in before; a personal workspace stays its owner's alone. */
export async function addMember(tx: Tx, change: Change, invited: { email: string; role: Role }) {
  const workspace = await store.lockWorkspace(tx, change.workspaceId)
  await requireOwner(tx, change)
  if (workspace?.kind !== 'team') {
    throw new ApiError('CONFLICT', {
      message: 'A personal workspace cannot have members; create a team workspace',
    })
  }
  const user = await findUserByVerifiedEmail(tx, invited.email)
  if (!user) throw new ApiError('NOT_FOUND', { message: 'Nobody with this address has signed in yet' })
  const { members } = await store.countMembers(tx, change.workspaceId)
  if (members >= membersPerWorkspace) {
    throw new ApiError('CONFLICT', {
      message: `A workspace can have at most ${membersPerWorkspace} members`,
      details: { limit: membersPerWorkspace },
    })
  }
  await requireRoomForWorkspace(tx, user.id)
  if (!(await store.insertMember(tx, change.workspaceId, user.id, invited.role))) {
    throw new ApiError('CONFLICT', { message: 'This person is a member already' })
  }
  const member = await store.findMember(tx, change.workspaceId, user.id)
  if (!member) throw new Error('A member that was just added is not there')
  return member
}

/** An owner removes anybody, a member itself; a workspace keeps at least one owner. */
export async function removeMember(tx: Tx, change: Change, userId: string): Promise<void> {
  await store.lockWorkspace(tx, change.workspaceId)
  if (userId !== change.actorId) await requireOwner(tx, change)
  const member = isUuid(userId) ? await store.findMember(tx, change.workspaceId, userId) : undefined
  if (!member) throw new ApiError('NOT_FOUND')
  const { owners } = await store.countMembers(tx, change.workspaceId)
  if (member.role === 'owner' && owners === 1) {
    throw new ApiError('CONFLICT', {
      message: 'The last owner cannot leave; make somebody else an owner first',
    })
  }
  await store.deleteMember(tx, change.workspaceId, userId)
}

async function requireOwner(tx: Tx, { workspaceId, actorId }: Change): Promise<void> {
  const actor = await store.findMember(tx, workspaceId, actorId)
  if (actor?.role !== 'owner') {
    throw new ApiError('FORBIDDEN', { message: 'Only an owner of the workspace may change its members' })
  }
}
