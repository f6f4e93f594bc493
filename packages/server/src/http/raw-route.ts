import type { IncomingMessage, ServerResponse } from 'node:http'
import type { LimitName } from '@guildhall/contract'
import type { ApiError } from '../operations/errors.ts'

/** A request to an address outside the contract, whose answer its feature writes itself. */
export interface RawCall {
  readonly request: IncomingMessage
  /** Bears the standard headers already; the feature must end it. */
  readonly response: ServerResponse
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Parsed JSON, or the fields of a form; undefined when none came. */
  readonly body: unknown
}

export interface RawAnswer {
  readonly type: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** For protocols and pages that prescribe their own addresses and shapes. */
export interface RawRoute {
  /** What the metrics call it. */
  readonly name: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The windows it is counted in, where not the usual one. */
  readonly limits?: readonly LimitName[]
  handle(call: RawCall): Promise<void>
  /** How a refusal looks here, when not as usual; status and retry-after are set for it. */
  describeRefusal?(refusal: ApiError): RawAnswer
}
