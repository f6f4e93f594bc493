// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { Approval, DeviceAuth, GrantMode, Success } from './records.ts'

/** What {@link listApprovals} can be asked for. */
export interface ListApprovalsQuery {
  status?: 'pending' | 'granted' | 'denied' | 'expired' | undefined
  kind?: 'activation' | 'consent' | 'permission' | 'workflow' | 'budget' | 'tool' | 'ask' | undefined
  /** action without args and diff, with argsBytes, diffLines and unusual */
  view?: 'card' | undefined
  /** 1 to 100; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listApprovals} answers. */
export interface ListApprovalsAnswer {
  items: Approval[]
  nextCursor: string | null
}

/**
 * What waits for the person, and what was decided, over all workspaces.
 *
 * Waiting ones by status `pending`; follow nextCursor until it is null. view=card leaves out what is long: get the one that is looked at.
 */
export const listApprovals: Operation<{ query?: ListApprovalsQuery | undefined }, ListApprovalsAnswer> = {
  name: 'listApprovals',
  path: '/api/v1/approvals',
  page: 'cursor',
}

/** What {@link getApproval} can be asked for. */
export interface GetApprovalQuery {
  /** Seconds to wait for a decision */
  wait?: number | undefined
}

/**
 * One request that waits for the person, or that was decided.
 *
 * With `wait` it answers as soon as it is not pending any more. 404 for what is for others to decide.
 */
export const getApproval: Operation<
  { params: { id: string }; query?: GetApprovalQuery | undefined },
  Approval
> = { name: 'getApproval', path: '/api/v1/approvals/:id' }

/** What is sent to {@link approveApproval}. */
export interface ApproveApprovalBody {
  /** What the step is told; { approved: true } when left out */
  resumeData?: unknown
  /** By how many Ds the limit is raised; as much again when left out */
  amount?: number | undefined
  /** Of a tool: once, which is what it is when left out, or hour; of an ask: the id of a choice */
  choice?: string | undefined
  /** Fits the schema of the ask, if it has one. At most 65536 bytes as JSON and 64 levels deep */
  answer?: unknown
  /** In place of the args of its action, where it has any. At most 65536 bytes as JSON and 64 levels deep */
  edited_args?: unknown
  device_auth?: DeviceAuth | undefined
}

/**
 * Answer a step of a workflow, raise a key's spend limit, let an agent use a tool, answer its ask; all else has routes of its own.
 *
 * 404 also for kinds with routes of their own; 409 when it was decided or has expired: details.status says which, and by whom (decided_by) and when. Where needsPasskey says so, who has a passkey sends device_auth.
 */
export const approveApproval: Operation<
  { params: { id: string }; body?: ApproveApprovalBody | undefined },
  Success
> = { name: 'approveApproval', path: '/api/v1/approvals/:id/approve', method: 'POST', creates: true }

/** What is sent to {@link denyApproval}. */
export interface DenyApprovalBody {
  reason?: string | undefined
}

/**
 * Refuse what a step of a workflow asks leave for, a higher spend limit, the use of a tool, or an ask.
 *
 * 409 when it was decided already: details say by whom (decided_by) and when.
 */
export const denyApproval: Operation<
  { params: { id: string }; body?: DenyApprovalBody | undefined },
  Success
> = { name: 'denyApproval', path: '/api/v1/approvals/:id/deny', method: 'POST', creates: true }

/** What is sent to {@link challengeApproval}. */
export interface ChallengeApprovalBody {
  scopes?: string[] | undefined
  modes?: Record<string, GrantMode> | undefined
  choice?: string | undefined
}

/** What {@link challengeApproval} answers. */
export interface ChallengeApprovalAnswer {
  options: unknown
  expires_at: string
}

/**
 * What the passkey must sign to approve exactly these scopes in these modes, or this choice.
 *
 * Send the assertion as device_auth with exactly the same scopes and modes, or choice, before expires_at.
 */
export const challengeApproval: Operation<
  { params: { id: string }; body?: ChallengeApprovalBody | undefined },
  ChallengeApprovalAnswer
> = { name: 'challengeApproval', path: '/api/v1/approvals/:id/challenge', method: 'POST', repeatable: true }

/** One method for each of these operations. */
export class Approvals extends Resource {
  /**
   * What waits for the person, and what was decided, over all workspaces.
   *
   * Waiting ones by status `pending`; follow nextCursor until it is null. view=card leaves out what is long: get the one that is looked at.
   */
  list(query?: ListApprovalsQuery, options?: CallOptions): Pager<Approval> {
    return list(
      this.client,
      { name: 'listApprovals', path: '/api/v1/approvals', page: 'cursor' },
      { query },
      options,
    )
  }
  /**
   * One request that waits for the person, or that was decided.
   *
   * With `wait` it answers as soon as it is not pending any more. 404 for what is for others to decide.
   */
  get(id: string, query?: GetApprovalQuery, options?: CallOptions): Promise<Approval> {
    return this.client.call(
      { name: 'getApproval', path: '/api/v1/approvals/:id' },
      { params: { id }, query },
      options,
    )
  }
  /**
   * Answer a step of a workflow, raise a key's spend limit, let an agent use a tool, answer its ask; all else has routes of its own.
   *
   * 404 also for kinds with routes of their own; 409 when it was decided or has expired: details.status says which, and by whom (decided_by) and when. Where needsPasskey says so, who has a passkey sends device_auth.
   */
  approve(id: string, body?: ApproveApprovalBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'approveApproval', path: '/api/v1/approvals/:id/approve', method: 'POST', creates: true },
      { params: { id }, body },
      options,
    )
  }
  /**
   * Refuse what a step of a workflow asks leave for, a higher spend limit, the use of a tool, or an ask.
   *
   * 409 when it was decided already: details say by whom (decided_by) and when.
   */
  deny(id: string, body?: DenyApprovalBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'denyApproval', path: '/api/v1/approvals/:id/deny', method: 'POST', creates: true },
      { params: { id }, body },
      options,
    )
  }
  /**
   * What the passkey must sign to approve exactly these scopes in these modes, or this choice.
   *
   * Send the assertion as device_auth with exactly the same scopes and modes, or choice, before expires_at.
   */
  challenge(
    id: string,
    body?: ChallengeApprovalBody,
    options?: CallOptions,
  ): Promise<ChallengeApprovalAnswer> {
    return this.client.call(
      {
        name: 'challengeApproval',
        path: '/api/v1/approvals/:id/challenge',
        method: 'POST',
        repeatable: true,
      },
      { params: { id }, body },
      options,
    )
  }
}
