// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type {
  AccountMode,
  DeviceAuth,
  GrantMode,
  KeyAccess,
  Open,
  RequestedScope,
  Success,
  UserCode,
  WorkspaceRef,
} from './records.ts'

/** What is sent to {@link createActivation}. */
export interface CreateActivationBody {
  requested_scopes?: string[] | undefined
  /** The person must pick the number that the agent shows, of three */
  number_match?: boolean | undefined
}

/** What {@link createActivation} answers. */
export interface CreateActivationAnswer {
  device_code: string
  user_code: string
  verification_url: string
  verification_url_complete: string
  app_download_url: string
  expires_in: number
  interval: number
  /** Two digits to show beside the code */
  match?: string
}

/**
 * Start pairing: get a code for the person and a secret for polling.
 *
 * Show user_code and the link to the person, then poll with device_code no faster than `interval`. The person sees requested_scopes on the card of the pairing and grants some, all or none of them with it.
 */
export const createActivation: Operation<
  { body?: CreateActivationBody | undefined },
  CreateActivationAnswer
> = { name: 'createActivation', path: '/api/v1/activate', method: 'POST', public: true }

/** What is sent to {@link pollActivation}. */
export interface PollActivationBody {
  device_code: string
  /** Seconds to wait for a decision */
  wait?: number | undefined
}

/** What {@link pollActivation} answers. */
export interface PollActivationAnswer {
  status: Open<'pending' | 'approved' | 'denied' | 'expired' | 'consumed'>
  api_key?: string
  tier?: Open<AccountMode>
  workspace?: WorkspaceRef
  /** Whether the key works at once; otherwise connect with it first */
  activated?: boolean
}

/**
 * Ask whether the person has decided; the first poll after approval gets the key.
 *
 * Keep the key that the first poll after approval brings: later polls say `consumed`. 429 means slower. With `wait` it answers as soon as there is a decision.
 */
export const pollActivation: Operation<{ body: PollActivationBody }, PollActivationAnswer> = {
  name: 'pollActivation',
  path: '/api/v1/activate/poll',
  method: 'POST',
  public: true,
  window: 'poll',
}

/** What is sent to {@link confirmActivation}. */
export interface ConfirmActivationBody {
  code: UserCode
  access?: KeyAccess | undefined
  scopes?: string[] | undefined
  modes?: Record<string, GrantMode> | undefined
  match?: string | undefined
  device_auth?: DeviceAuth | undefined
}

/**
 * Approve a pairing in the workspace the caller acts in.
 *
 * The agent gets its key at its next poll. 410 when the code has expired: the agent starts again. `scopes` are granted to it, of those that it requested and in the modes that are named, persistent where none is; sensitive ones need device_auth over exactly these scopes and modes. Without `scopes` none is granted, and a pairing that requested some is `declared` unless access says otherwise. Where lookup answers match_choices, `match` must be the one that the agent shows: another is 403 with details.reason MATCH and refuses the pairing for good.
 */
export const confirmActivation: Operation<{ body: ConfirmActivationBody }, Success> = {
  name: 'confirmActivation',
  path: '/api/v1/activate/confirm',
  method: 'POST',
  creates: true,
}

/** What {@link lookupActivation} can be asked for. */
export interface LookupActivationQuery {
  code: UserCode
}

/** What {@link lookupActivation} answers. */
export interface LookupActivationAnswer {
  /** In the inbox of who looked, from now on */
  approval_id: string
  user_code: string
  client_label: string
  client_ua: string
  client_ip: string
  status: Open<'pending' | 'approved' | 'denied' | 'expired' | 'consumed'>
  expires_at: string
  /** The client asked from the network the caller is on */
  same_network: boolean
  /** What the client wants to be granted with the pairing; show them before confirming */
  requested_scopes: RequestedScope[]
  /** One of these is what the agent shows; ask the person which */
  match_choices?: string[]
}

/**
 * Show what a code would pair, before deciding.
 *
 * What the client says of itself is a claim. Ten wrong codes in ten minutes are refused with 429.
 */
export const lookupActivation: Operation<{ query: LookupActivationQuery }, LookupActivationAnswer> = {
  name: 'lookupActivation',
  path: '/api/v1/activate/lookup',
}

/** What is sent to {@link denyActivation}. */
export interface DenyActivationBody {
  code: UserCode
}

/**
 * Refuse a pairing.
 *
 * The agent is told at its next poll; 409 when it was decided already.
 */
export const denyActivation: Operation<{ body: DenyActivationBody }, Success> = {
  name: 'denyActivation',
  path: '/api/v1/activate/deny',
  method: 'POST',
  creates: true,
}

/** One method for each of these operations. */
export class Pairings extends Resource {
  /**
   * Start pairing: get a code for the person and a secret for polling.
   *
   * Show user_code and the link to the person, then poll with device_code no faster than `interval`. The person sees requested_scopes on the card of the pairing and grants some, all or none of them with it.
   */
  start(body?: CreateActivationBody, options?: CallOptions): Promise<CreateActivationAnswer> {
    return this.client.call(
      { name: 'createActivation', path: '/api/v1/activate', method: 'POST', public: true },
      { body },
      options,
    )
  }
  /**
   * Ask whether the person has decided; the first poll after approval gets the key.
   *
   * Keep the key that the first poll after approval brings: later polls say `consumed`. 429 means slower. With `wait` it answers as soon as there is a decision.
   */
  poll(body: PollActivationBody, options?: CallOptions): Promise<PollActivationAnswer> {
    return this.client.call(
      { name: 'pollActivation', path: '/api/v1/activate/poll', method: 'POST', public: true, window: 'poll' },
      { body },
      options,
    )
  }
  /**
   * Approve a pairing in the workspace the caller acts in.
   *
   * The agent gets its key at its next poll. 410 when the code has expired: the agent starts again. `scopes` are granted to it, of those that it requested and in the modes that are named, persistent where none is; sensitive ones need device_auth over exactly these scopes and modes. Without `scopes` none is granted, and a pairing that requested some is `declared` unless access says otherwise. Where lookup answers match_choices, `match` must be the one that the agent shows: another is 403 with details.reason MATCH and refuses the pairing for good.
   */
  confirm(body: ConfirmActivationBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'confirmActivation', path: '/api/v1/activate/confirm', method: 'POST', creates: true },
      { body },
      options,
    )
  }
  /**
   * Show what a code would pair, before deciding.
   *
   * What the client says of itself is a claim. Ten wrong codes in ten minutes are refused with 429.
   */
  lookup(query: LookupActivationQuery, options?: CallOptions): Promise<LookupActivationAnswer> {
    return this.client.call({ name: 'lookupActivation', path: '/api/v1/activate/lookup' }, { query }, options)
  }
  /**
   * Refuse a pairing.
   *
   * The agent is told at its next poll; 409 when it was decided already.
   */
  deny(body: DenyActivationBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'denyActivation', path: '/api/v1/activate/deny', method: 'POST', creates: true },
      { body },
      options,
    )
  }
}
