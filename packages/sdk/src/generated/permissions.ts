// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type {
  AccountMode,
  AskedAction,
  DeviceAuth,
  GrantMode,
  Open,
  PendingRequest,
  Success,
  WorkspaceRef,
} from './records.ts'

/** What is sent to {@link requestPermission}. */
export interface RequestPermissionBody {
  scope: string
  mode?: unknown
  reason: string
  action?: AskedAction | undefined
}

/** What {@link requestPermission} answers. */
export type RequestPermissionAnswer =
  | {
      status: 'already_granted'
      grant_token: null
    }
  | {
      status: 'pending'
      request_id: string
      /** Where the person decides; show it to them */
      approval_url: string
      poll_url: string
      poll_interval_seconds: number
    }

/**
 * Ask the person for one more scope, and say why.
 *
 * Poll for the decision, then send the refused request again. 409: connect first. 429: too many wait.
 */
export const requestPermission: Operation<{ body: RequestPermissionBody }, RequestPermissionAnswer> = {
  name: 'requestPermission',
  path: '/api/v1/agents/request-permission',
  method: 'POST',
  creates: true,
  repeatable: true,
}

/** What {@link pollPermission} can be asked for. */
export interface PollPermissionQuery {
  /** Seconds to wait for a decision */
  wait?: number | undefined
}

/** What {@link pollPermission} answers. */
export interface PollPermissionAnswer {
  status: Open<'pending' | 'granted' | 'denied' | 'expired'>
  mode?: Open<GrantMode>
  expires_at?: string | null
  /** A one_time grant has been used; ask again for another use */
  consumed?: true
  deny_reason?: string
}

/**
 * Whether the person has decided.
 *
 * With `wait` it answers as soon as there is a decision. A one_time grant fits one request, for five minutes.
 */
export const pollPermission: Operation<
  { params: { requestId: string }; query?: PollPermissionQuery | undefined },
  PollPermissionAnswer
> = { name: 'pollPermission', path: '/api/v1/agents/request-permission/poll/:requestId' }

/** What is sent to {@link approvePermission}. */
export interface ApprovePermissionBody {
  mode?: GrantMode | undefined
  device_auth?: DeviceAuth | undefined
}

/** What {@link approvePermission} answers. */
export interface ApprovePermissionAnswer {
  success: true
  mode: Open<GrantMode>
  expires_at: string | null
}

/**
 * Grant the scope, for as long as the mode says.
 *
 * The mode may be narrower than what was asked. Sensitive scopes need device_auth: 403 says so.
 */
export const approvePermission: Operation<
  { params: { requestId: string }; body?: ApprovePermissionBody | undefined },
  ApprovePermissionAnswer
> = {
  name: 'approvePermission',
  path: '/api/v1/agents/request-permission/:requestId/approve',
  method: 'POST',
  creates: true,
}

/** What is sent to {@link denyPermission}. */
export interface DenyPermissionBody {
  reason?: string | undefined
}

/**
 * Refuse the scope.
 *
 * The agent is told the reason at its next poll.
 */
export const denyPermission: Operation<
  { params: { requestId: string }; body?: DenyPermissionBody | undefined },
  Success
> = {
  name: 'denyPermission',
  path: '/api/v1/agents/request-permission/:requestId/deny',
  method: 'POST',
  creates: true,
}

/** What {@link removeScope} answers. */
export interface RemoveScopeAnswer {
  success: true
  key_id: number
  scopes: string[]
}

/**
 * Take one scope away from a key, with all grants of it.
 *
 * Works at once, in every process.
 */
export const removeScope: Operation<{ params: { keyId: string; scope: string } }, RemoveScopeAnswer> = {
  name: 'removeScope',
  path: '/api/v1/agents/:keyId/scopes/:scope',
  method: 'DELETE',
}

/** What {@link getAgentSelf} answers. */
export interface GetAgentSelfAnswer {
  key: {
    id: number
    label: string
    prefix: string
    expiresAt: string | null
  }
  workspace: WorkspaceRef
  user: {
    id: string
  }
  mode: Open<AccountMode>
  activated: boolean
  scopes: {
    scope: string
    mode: Open<GrantMode>
    expires_at: string | null
  }[]
  budget: {
    spent: number
    limit: number | null
  }
  rate: {
    limit: number
    windowSeconds: number
  }
  /** Executions that work and runs that wait or advance, by id, of this key */
  running: string[]
  /** What this key asked and nobody has decided yet */
  pending: PendingRequest[]
  /** Whether this account may use the MCP transport */
  mcp: boolean
}

/**
 * What this key is and may do right now.
 *
 * The first thing an agent should read: workspace, scopes, budget, what runs and what waits for a decision.
 */
export const getAgentSelf: Operation<object, GetAgentSelfAnswer> = {
  name: 'getAgentSelf',
  path: '/api/v1/agents/me',
}

/** One method for each of these operations. */
export class Permissions extends Resource {
  /**
   * Ask the person for one more scope, and say why.
   *
   * Poll for the decision, then send the refused request again. 409: connect first. 429: too many wait.
   */
  request(body: RequestPermissionBody, options?: CallOptions): Promise<RequestPermissionAnswer> {
    return this.client.call(
      {
        name: 'requestPermission',
        path: '/api/v1/agents/request-permission',
        method: 'POST',
        creates: true,
        repeatable: true,
      },
      { body },
      options,
    )
  }
  /**
   * Whether the person has decided.
   *
   * With `wait` it answers as soon as there is a decision. A one_time grant fits one request, for five minutes.
   */
  poll(requestId: string, query?: PollPermissionQuery, options?: CallOptions): Promise<PollPermissionAnswer> {
    return this.client.call(
      { name: 'pollPermission', path: '/api/v1/agents/request-permission/poll/:requestId' },
      { params: { requestId }, query },
      options,
    )
  }
  /**
   * Grant the scope, for as long as the mode says.
   *
   * The mode may be narrower than what was asked. Sensitive scopes need device_auth: 403 says so.
   */
  approve(
    requestId: string,
    body?: ApprovePermissionBody,
    options?: CallOptions,
  ): Promise<ApprovePermissionAnswer> {
    return this.client.call(
      {
        name: 'approvePermission',
        path: '/api/v1/agents/request-permission/:requestId/approve',
        method: 'POST',
        creates: true,
      },
      { params: { requestId }, body },
      options,
    )
  }
  /**
   * Refuse the scope.
   *
   * The agent is told the reason at its next poll.
   */
  deny(requestId: string, body?: DenyPermissionBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      {
        name: 'denyPermission',
        path: '/api/v1/agents/request-permission/:requestId/deny',
        method: 'POST',
        creates: true,
      },
      { params: { requestId }, body },
      options,
    )
  }
  /**
   * Take one scope away from a key, with all grants of it.
   *
   * Works at once, in every process.
   */
  remove(keyId: string, scope: string, options?: CallOptions): Promise<RemoveScopeAnswer> {
    return this.client.call(
      { name: 'removeScope', path: '/api/v1/agents/:keyId/scopes/:scope', method: 'DELETE' },
      { params: { keyId, scope } },
      options,
    )
  }
  /**
   * What this key is and may do right now.
   *
   * The first thing an agent should read: workspace, scopes, budget, what runs and what waits for a decision.
   */
  me(options?: CallOptions): Promise<GetAgentSelfAnswer> {
    return this.client.call({ name: 'getAgentSelf', path: '/api/v1/agents/me' }, {}, options)
  }
}
