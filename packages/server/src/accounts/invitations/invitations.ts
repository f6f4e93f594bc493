import {
  invitationLifetimeSeconds,
  invitationsPerAddress,
  invitationsPerInviter,
  invitationsPerWorkspace,
} from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { findUser, findUserByVerifiedEmail, foldAddress } from '#accounts/users/users.ts'
import { joinWorkspace, lockTeam, requireOwner } from '#accounts/workspaces/workspaces.ts'
import type { Actor } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import { noteChange } from '#platform/changes.ts'
import type { Db, Tx } from '#platform/database.ts'
import { isUuid } from '#platform/ids.ts'
import type { Role } from '#platform/tables.ts'
import * as store from './store.ts'

const addressPattern = /^[^\s@]+@[^\s@]+$/

/**
 * Invites whoever has this address, now or later. No account is looked at, so neither the answer nor the time it takes
 * tells whether there is one; the invited person finds it by asking, and nothing is sent.
 */
export async function invite(tx: Tx, person: Actor, input: { email: string; role: Role }) {
  const { workspaceId, userId } = person
  const email = foldAddress(input.email)
  if (!addressPattern.test(email)) throw new ApiError('INVALID_INPUT', { message: 'email: not an address' })
  await lockTeam(tx, workspaceId, userId)
  await store.lockAddress(tx, email)
  const invitation = { workspace_id: workspaceId, email, role: input.role, invited_by: userId }
  const waiting = await store.countInvitations(tx, invitation)
  refuseFrom(waiting.inWorkspace, invitationsPerWorkspace, 'This workspace has')
  refuseFrom(waiting.byInviter, invitationsPerInviter, 'You have sent this address')
  refuseFrom(waiting.forAddress, invitationsPerAddress, 'This address has')
  const row = await store.insertInvitation(tx, invitation, invitationLifetimeSeconds)
  await noteForInvited(tx, email)
  // Without the address: every member reads the activity, and only owners see whom they have invited.
  const details = { invitationId: row.id, role: row.role }
  await recordActivity(tx, person, { type: 'invitation.created', workspaceId, details })
  return row
}

function refuseFrom(waiting: number, limit: number, whose: string): void {
  if (waiting < limit) return
  throw new ApiError('CONFLICT', {
    message: `${whose} ${limit} invitations that wait for an answer; withdraw one, or wait`,
    details: { limit },
  })
}

export async function listOfWorkspace(db: Db, { workspaceId, userId }: Actor) {
  await requireOwner(db, workspaceId, userId)
  return store.listOfWorkspace(db, workspaceId)
}

export async function withdraw(tx: Tx, person: Actor, id: string): Promise<void> {
  const { workspaceId, userId } = person
  await requireOwner(tx, workspaceId, userId)
  const claimed = isUuid(id) ? await store.claimInvitation(tx, id, { workspaceId }) : undefined
  if (!claimed) throw new ApiError('NOT_FOUND')
  await noteForInvited(tx, claimed.email)
  const details = { invitationId: id }
  await recordActivity(tx, person, { type: 'invitation.withdrawn', workspaceId, details })
}

export async function listOwn(db: Db, { userId }: Actor) {
  const email = await addressOf(db, userId)
  return email === undefined ? [] : store.listForAddress(db, email)
}

/** Of accepting, declining, withdrawing and running out, one takes effect: whoever removes the row. */
export async function accept(tx: Tx, person: Actor, id: string) {
  const email = await addressOf(tx, person.userId)
  const found = email && isUuid(id) ? await store.findForAddress(tx, email, id) : undefined
  if (!email || !found) throw new ApiError('NOT_FOUND')
  // The workspace before the invitation, as everybody who changes its members takes them.
  await lockTeam(tx, found.workspace_id)
  const claimed = await store.claimInvitation(tx, id, { email })
  if (!claimed) throw new ApiError('NOT_FOUND')
  const { userId } = person
  const { workspace_id: workspaceId, role } = claimed
  noteChange(tx, { kinds: ['members'], workspaceId })
  const { workspace, isNew } = await joinWorkspace(tx, workspaceId, userId, role)
  await recordActivity(tx, person, {
    type: 'invitation.accepted',
    workspaceId,
    details: { invitationId: id },
  })
  if (isNew)
    await recordActivity(tx, person, { type: 'member.added', workspaceId, details: { userId, role } })
  return workspace
}

export async function decline(tx: Tx, person: Actor, id: string): Promise<void> {
  const email = await addressOf(tx, person.userId)
  const claimed = email && isUuid(id) ? await store.claimInvitation(tx, id, { email }) : undefined
  if (!claimed) throw new ApiError('NOT_FOUND')
  noteChange(tx, { kinds: ['members'], workspaceId: claimed.workspace_id })
  const entry = { workspaceId: claimed.workspace_id, details: { invitationId: id } }
  await recordActivity(tx, person, { type: 'invitation.declined', ...entry })
}

/** Whoever has the address hears of it, if anybody does; nothing that is answered depends on that. */
async function noteForInvited(tx: Tx, email: string): Promise<void> {
  const holder = await findUserByVerifiedEmail(tx, email)
  if (holder) noteChange(tx, { kinds: ['invitations'], userId: holder.id })
}

/** The address a person is invited by: one that a provider vouches for, and no older account has. */
async function addressOf(db: Db, userId: string): Promise<string | undefined> {
  const email = (await findUser(db, userId))?.email
  if (!email) return undefined
  const holder = await findUserByVerifiedEmail(db, email)
  return holder?.id === userId ? foldAddress(email) : undefined
}
