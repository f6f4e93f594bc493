// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { ReceivedInvitation, Success, WorkspaceRef } from './records.ts'

/** What {@link listInvitations} answers. */
export interface ListInvitationsAnswer {
  items: ReceivedInvitation[]
  nextCursor: null
}

/**
 * What this person has been invited to, by their verified address. The names are what the inviters say.
 *
 * Only for an address that the identity provider has verified.
 */
export const listInvitations: Operation<object, ListInvitationsAnswer> = {
  name: 'listInvitations',
  path: '/api/v1/invitations',
  page: 'cursor',
}

/** What {@link acceptInvitation} answers. */
export interface AcceptInvitationAnswer {
  success: true
  workspace: WorkspaceRef
}

/**
 * Become a member.
 *
 * Answers the workspace to act in. 404 when it was withdrawn or has expired: ask for a new one.
 */
export const acceptInvitation: Operation<{ params: { id: string } }, AcceptInvitationAnswer> = {
  name: 'acceptInvitation',
  path: '/api/v1/invitations/:id/accept',
  method: 'POST',
}

/**
 * Refuse an invitation.
 *
 * Whoever sent it may invite again.
 */
export const declineInvitation: Operation<{ params: { id: string } }, Success> = {
  name: 'declineInvitation',
  path: '/api/v1/invitations/:id/decline',
  method: 'POST',
}

/** One method for each of these operations. */
export class Invitations extends Resource {
  /**
   * What this person has been invited to, by their verified address. The names are what the inviters say.
   *
   * Only for an address that the identity provider has verified.
   */
  list(options?: CallOptions): Pager<ReceivedInvitation> {
    return list(
      this.client,
      { name: 'listInvitations', path: '/api/v1/invitations', page: 'cursor' },
      {},
      options,
    )
  }
  /**
   * Become a member.
   *
   * Answers the workspace to act in. 404 when it was withdrawn or has expired: ask for a new one.
   */
  accept(id: string, options?: CallOptions): Promise<AcceptInvitationAnswer> {
    return this.client.call(
      { name: 'acceptInvitation', path: '/api/v1/invitations/:id/accept', method: 'POST' },
      { params: { id } },
      options,
    )
  }
  /**
   * Refuse an invitation.
   *
   * Whoever sent it may invite again.
   */
  decline(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'declineInvitation', path: '/api/v1/invitations/:id/decline', method: 'POST' },
      { params: { id } },
      options,
    )
  }
}
