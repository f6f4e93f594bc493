import type { IncomingMessage, ServerResponse } from 'node:http'
import type { LimitName, Route } from '@guildhall/contract'
import type { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import type { Bearer } from './signed-url.ts'

/** A request to an address outside the contract, whose answer its feature writes itself. */
export interface RawCall {
  readonly request: IncomingMessage
  /** Bears the standard headers already, but on a route that stays open; the feature must end it. */
  readonly response: ServerResponse
  /**
   * The standard headers, to be written at once where answers stay open: those set one by one would be kept
   * with each answer, which is a sixth of its memory.
   */
  readonly headers: Readonly<Record<string, string | number | string[]>>
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Undefined where the contract asks for no credential. */
  readonly principal: Principal | undefined
  /** Whom the signed address speaks for, on a route that has those. */
  readonly bearer: Bearer | undefined
  /** Parsed JSON, or the fields of a form; undefined when none came. */
  readonly body: unknown
}

export interface RawAnswer {
  readonly type: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * For protocols and pages that prescribe their own addresses and shapes. Below /api/v1 only for answers that
 * stay open.
 */
export interface RawRoute {
  /** What the metrics call it. */
  readonly name: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Answers only requests that ask for this media type; others go to the route of the same path. */
  readonly accept?: 'text/event-stream'
  /** What the contract says of it; without one anybody may call it. */
  readonly contract?: Route
  /** The windows it is counted in, where not those of the contract. */
  readonly limits?: readonly LimitName[]
  /** Where a signed address is the credential: whom it speaks for, or a refusal. */
  bearerOf?(call: Pick<RawCall, 'params' | 'query'>): Bearer
  handle(call: RawCall): Promise<void>
  /** How a refusal looks here, when not as usual; status and retry-after are set for it. */
  describeRefusal?(refusal: ApiError): RawAnswer
  /** For a route whose answers stay open after `handle`: ends them when the server stops. */
  close?(): Promise<void>
}
