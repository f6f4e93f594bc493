// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { Consent, DeviceAuth, GrantMode, Open, Success, UserCode } from './records.ts'

/** What is sent to {@link connectAgent}. */
export interface ConnectAgentBody {
  requestedScopes?: string[] | undefined
}

/** What {@link connectAgent} answers. */
export type ConnectAgentAnswer =
  | {
      status: 'active'
      scopes: string[]
    }
  | {
      status: 'pending'
      consent_id: string
      link_code: string
      /** Where the person decides; show it to them */
      approval_url: string
      poll_url: string
      poll_interval_seconds: number
    }

/**
 * Declare the scopes this key needs; a person approves them.
 *
 * Show link_code to the person and poll. An active key with all the scopes gets 200 at once.
 */
export const connectAgent: Operation<{ body?: ConnectAgentBody | undefined }, ConnectAgentAnswer> = {
  name: 'connectAgent',
  path: '/api/v1/agents/connect',
  method: 'POST',
  creates: true,
  repeatable: true,
}

/** What {@link pollConsent} can be asked for. */
export interface PollConsentQuery {
  /** Seconds to wait for a decision */
  wait?: number | undefined
}

/** What {@link pollConsent} answers. */
export interface PollConsentAnswer {
  status: Open<'pending' | 'granted' | 'denied' | 'expired'>
  scopes?: string[]
  deny_reason?: string
}

/**
 * Whether the person has decided.
 *
 * With `wait` it answers as soon as there is a decision. 404 for another key's.
 */
export const pollConsent: Operation<
  { params: { consentId: string }; query?: PollConsentQuery | undefined },
  PollConsentAnswer
> = { name: 'pollConsent', path: '/api/v1/agents/connect/poll/:consentId' }

/** What is sent to {@link findConsentByCode}. */
export interface FindConsentByCodeBody {
  code: UserCode
}

/**
 * Find a waiting consent by the code the agent shows.
 *
 * Shows who asks for what, before deciding. Ten wrong codes in ten minutes are refused with 429.
 */
export const findConsentByCode: Operation<{ body: FindConsentByCodeBody }, Consent> = {
  name: 'findConsentByCode',
  path: '/api/v1/agents/connect/by-code',
  method: 'POST',
  repeatable: true,
}

/** What is sent to {@link approveConsent}. */
export interface ApproveConsentBody {
  scopes: string[]
  modes?: Record<string, GrantMode> | undefined
  device_auth?: DeviceAuth | undefined
}

/** What {@link approveConsent} answers. */
export interface ApproveConsentAnswer {
  success: true
  scopes: string[]
}

/**
 * Approve all or some of the scopes.
 *
 * Sensitive scopes need device_auth over exactly these scopes and modes: get it from approvals/:id/challenge.
 */
export const approveConsent: Operation<
  { params: { consentId: string }; body: ApproveConsentBody },
  ApproveConsentAnswer
> = {
  name: 'approveConsent',
  path: '/api/v1/agents/connect/:consentId/approve',
  method: 'POST',
  creates: true,
}

/** What is sent to {@link denyConsent}. */
export interface DenyConsentBody {
  reason?: string | undefined
}

/**
 * Refuse the scopes.
 *
 * The agent is told the reason at its next poll.
 */
export const denyConsent: Operation<
  { params: { consentId: string }; body?: DenyConsentBody | undefined },
  Success
> = { name: 'denyConsent', path: '/api/v1/agents/connect/:consentId/deny', method: 'POST', creates: true }

/** One method for each of these operations. */
export class Consents extends Resource {
  /**
   * Declare the scopes this key needs; a person approves them.
   *
   * Show link_code to the person and poll. An active key with all the scopes gets 200 at once.
   */
  request(body?: ConnectAgentBody, options?: CallOptions): Promise<ConnectAgentAnswer> {
    return this.client.call(
      {
        name: 'connectAgent',
        path: '/api/v1/agents/connect',
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
   * With `wait` it answers as soon as there is a decision. 404 for another key's.
   */
  poll(consentId: string, query?: PollConsentQuery, options?: CallOptions): Promise<PollConsentAnswer> {
    return this.client.call(
      { name: 'pollConsent', path: '/api/v1/agents/connect/poll/:consentId' },
      { params: { consentId }, query },
      options,
    )
  }
  /**
   * Find a waiting consent by the code the agent shows.
   *
   * Shows who asks for what, before deciding. Ten wrong codes in ten minutes are refused with 429.
   */
  find(body: FindConsentByCodeBody, options?: CallOptions): Promise<Consent> {
    return this.client.call(
      { name: 'findConsentByCode', path: '/api/v1/agents/connect/by-code', method: 'POST', repeatable: true },
      { body },
      options,
    )
  }
  /**
   * Approve all or some of the scopes.
   *
   * Sensitive scopes need device_auth over exactly these scopes and modes: get it from approvals/:id/challenge.
   */
  approve(consentId: string, body: ApproveConsentBody, options?: CallOptions): Promise<ApproveConsentAnswer> {
    return this.client.call(
      {
        name: 'approveConsent',
        path: '/api/v1/agents/connect/:consentId/approve',
        method: 'POST',
        creates: true,
      },
      { params: { consentId }, body },
      options,
    )
  }
  /**
   * Refuse the scopes.
   *
   * The agent is told the reason at its next poll.
   */
  deny(consentId: string, body?: DenyConsentBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'denyConsent', path: '/api/v1/agents/connect/:consentId/deny', method: 'POST', creates: true },
      { params: { consentId }, body },
      options,
    )
  }
}
