import type { IncomingMessage, ServerResponse } from 'node:http'
import type { LimitName, Route } from '@guildhall/contract'
import type { Client } from '#operations/bind.ts'
import type { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'

/** A request to an address outside the contract, whose answer its feature writes itself. */
export interface RawCall {
  readonly request: IncomingMessage
  /** Bears the standard headers already; the feature must end it. */
  readonly response: ServerResponse
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Parsed JSON, or the fields of a form; undefined when none came. */
  readonly body: unknown
  /** Whoever was let in; undefined where anybody is. */
  readonly principal: Principal | undefined
  /** When that was asked, by `performance.now()`. */
  readonly admittedAt: number
  readonly client: Client
  readonly requestId: string
}

export interface RawAnswer {
  readonly type: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Where the protocol has another one for the refusal. */
  readonly status?: number
}

/** For protocols and pages that prescribe their own addresses and shapes. */
export interface RawRoute {
  /** What the metrics call it. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Who may call it; anybody when left out. */
  readonly entry?: Route
  /** The windows it is counted in, where not the usual one. */
  readonly limits?: readonly LimitName[]
  /** That the operations it performs write the log lines of what it does; a line of its own has only what went wrong. */
  readonly logsByOperations?: boolean
  handle(call: RawCall): Promise<void>
  /** For the WWW-Authenticate header, where not what the refusal itself says. */
  challenge?(refusal: ApiError, principal: Principal | undefined): string | undefined
  /** How a refusal looks here, when not as usual; status and retry-after are set for it. Undefined: as usual. */
  describeRefusal?(refusal: ApiError, headers: IncomingMessage['headers']): RawAnswer | undefined
}
