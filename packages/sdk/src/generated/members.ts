// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { Invitation, Member, Success } from './records.ts'

/** What {@link listMembers} can be asked for. */
export interface ListMembersQuery {
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listMembers} answers. */
export interface ListMembersAnswer {
  items: Member[]
  nextCursor: string | null
}

/**
 * Who belongs to the workspace.
 *
 * In the order in which they joined; follow nextCursor until it is null.
 */
export const listMembers: Operation<{ query?: ListMembersQuery | undefined }, ListMembersAnswer> = {
  name: 'listMembers',
  path: '/api/v1/workspaces/current/members',
  page: 'cursor',
}

/**
 * Remove a member, or leave; the member's keys and grants of apps here end for good.
 *
 * Only owners remove others. 409 for the last owner: make somebody else one first.
 */
export const removeMember: Operation<{ params: { userId: string } }, Success> = {
  name: 'removeMember',
  path: '/api/v1/workspaces/current/members/:userId',
  method: 'DELETE',
}

/** What is sent to {@link inviteMember}. */
export interface InviteMemberBody {
  email: string
  role?: 'owner' | 'member' | undefined
}

/**
 * Invite a person by email address; owners only. Answers alike whether or not anybody has it.
 *
 * The person joins only by accepting. 409 when too many invitations wait; withdraw some.
 */
export const inviteMember: Operation<{ body: InviteMemberBody }, Invitation> = {
  name: 'inviteMember',
  path: '/api/v1/workspaces/current/members',
  method: 'POST',
  creates: true,
}

/** What {@link listWorkspaceInvitations} answers. */
export interface ListWorkspaceInvitationsAnswer {
  items: Invitation[]
  nextCursor: null
}

/**
 * Who has been invited and has not answered; owners only.
 *
 * They expire after 14 days; nothing of the workspace is told before they are accepted.
 */
export const listWorkspaceInvitations: Operation<object, ListWorkspaceInvitationsAnswer> = {
  name: 'listWorkspaceInvitations',
  path: '/api/v1/workspaces/current/invitations',
  page: 'cursor',
}

/**
 * Take an invitation back; owners only.
 *
 * 404 once it was answered, withdrawn or has expired.
 */
export const withdrawInvitation: Operation<{ params: { id: string } }, Success> = {
  name: 'withdrawInvitation',
  path: '/api/v1/workspaces/current/invitations/:id',
  method: 'DELETE',
}

/** One method for each of these operations. */
export class Members extends Resource {
  /**
   * Who belongs to the workspace.
   *
   * In the order in which they joined; follow nextCursor until it is null.
   */
  list(query?: ListMembersQuery, options?: CallOptions): Pager<Member> {
    return list(
      this.client,
      { name: 'listMembers', path: '/api/v1/workspaces/current/members', page: 'cursor' },
      { query },
      options,
    )
  }
  /**
   * Remove a member, or leave; the member's keys and grants of apps here end for good.
   *
   * Only owners remove others. 409 for the last owner: make somebody else one first.
   */
  remove(userId: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'removeMember', path: '/api/v1/workspaces/current/members/:userId', method: 'DELETE' },
      { params: { userId } },
      options,
    )
  }
  /**
   * Invite a person by email address; owners only. Answers alike whether or not anybody has it.
   *
   * The person joins only by accepting. 409 when too many invitations wait; withdraw some.
   */
  invite(body: InviteMemberBody, options?: CallOptions): Promise<Invitation> {
    return this.client.call(
      { name: 'inviteMember', path: '/api/v1/workspaces/current/members', method: 'POST', creates: true },
      { body },
      options,
    )
  }
  /**
   * Who has been invited and has not answered; owners only.
   *
   * They expire after 14 days; nothing of the workspace is told before they are accepted.
   */
  invitations(options?: CallOptions): Pager<Invitation> {
    return list(
      this.client,
      { name: 'listWorkspaceInvitations', path: '/api/v1/workspaces/current/invitations', page: 'cursor' },
      {},
      options,
    )
  }
  /**
   * Take an invitation back; owners only.
   *
   * 404 once it was answered, withdrawn or has expired.
   */
  withdraw(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'withdrawInvitation', path: '/api/v1/workspaces/current/invitations/:id', method: 'DELETE' },
      { params: { id } },
      options,
    )
  }
}
