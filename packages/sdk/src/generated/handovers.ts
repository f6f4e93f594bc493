// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { Handover, Open, Success } from './records.ts'

/** What is sent to {@link createHandover}. */
export interface CreateHandoverBody {
  note?: string | undefined
  expiresInSeconds?: number | undefined
  /** workspace: any credential of this workspace goes on with the trace itself. person: also one of the same person in another workspace, which gets a redacted copy */
  reach?: 'workspace' | 'person' | undefined
  /** Lower-case letters, digits, hyphens */
  toAgentSlug?: string | undefined
}

/** What {@link createHandover} answers. */
export interface CreateHandoverAnswer {
  handoverId: string
  code: string
  /** workspace: any credential of this workspace goes on with the trace itself. person: also one of the same person in another workspace, which gets a redacted copy */
  reach: Open<'workspace' | 'person'>
  expiresAt: string
}

/**
 * Give this work to another agent: answers a short code to say to it.
 *
 * The code is answered once and claimed once. A key hands over what it made or was handed, and anything else with trace:write. reach=person moves data between workspaces and therefore needs a session.
 */
export const createHandover: Operation<
  { params: { id: string }; body?: CreateHandoverBody | undefined },
  CreateHandoverAnswer
> = {
  name: 'createHandover',
  path: '/api/v1/traces/:id/handover',
  method: 'POST',
  creates: true,
  secret: true,
  namesAgent: true,
}

/** What {@link listHandovers} answers. */
export interface ListHandoversAnswer {
  items: Handover[]
}

/**
 * The hand-overs of a trace, newest first, without their codes.
 *
 * Those of the last day.
 */
export const listHandovers: Operation<{ params: { id: string } }, ListHandoversAnswer> = {
  name: 'listHandovers',
  path: '/api/v1/traces/:id/handovers',
}

/**
 * Take a code back that nobody has claimed.
 *
 * 409 when it has been claimed or has expired. Codes that others made need the scope trace:write.
 */
export const revokeHandover: Operation<{ params: { id: string; handoverId: string } }, Success> = {
  name: 'revokeHandover',
  path: '/api/v1/traces/:id/handovers/:handoverId',
  method: 'DELETE',
}

/** One method for each of these operations. */
export class Handovers extends Resource {
  /**
   * Give this work to another agent: answers a short code to say to it.
   *
   * The code is answered once and claimed once. A key hands over what it made or was handed, and anything else with trace:write. reach=person moves data between workspaces and therefore needs a session.
   */
  create(id: string, body?: CreateHandoverBody, options?: CallOptions): Promise<CreateHandoverAnswer> {
    return this.client.call(
      {
        name: 'createHandover',
        path: '/api/v1/traces/:id/handover',
        method: 'POST',
        creates: true,
        secret: true,
        namesAgent: true,
      },
      { params: { id }, body },
      options,
    )
  }
  /**
   * The hand-overs of a trace, newest first, without their codes.
   *
   * Those of the last day.
   */
  list(id: string, options?: CallOptions): Promise<ListHandoversAnswer> {
    return this.client.call(
      { name: 'listHandovers', path: '/api/v1/traces/:id/handovers' },
      { params: { id } },
      options,
    )
  }
  /**
   * Take a code back that nobody has claimed.
   *
   * 409 when it has been claimed or has expired. Codes that others made need the scope trace:write.
   */
  revoke(id: string, handoverId: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'revokeHandover', path: '/api/v1/traces/:id/handovers/:handoverId', method: 'DELETE' },
      { params: { id, handoverId } },
      options,
    )
  }
}
