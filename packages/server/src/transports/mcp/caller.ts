import { type Collected, collect } from '#operations/answer.ts'
import { admittedForMs } from '#operations/believed.ts'
import type { Client } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Perform } from '#operations/perform.ts'
import type { Principal } from '#operations/principal.ts'

/** What is asked of an operation of the contract. */
export interface OperationRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: Readonly<Record<string, unknown>>
  readonly idempotencyKey?: string | undefined
}

export interface CallerParts {
  readonly perform: Perform
  /** Who a credential is at this moment; undefined once it has ended. */
  loadPrincipal(
    credential: { readonly kind: Principal['kind']; readonly id: number },
    workspaceId: string,
  ): Promise<Principal | undefined>
  /** Refuses whoever would not be let in by this transport any more: a plan can end while its keys live. */
  admitAgain(principal: Principal): Promise<void>
}

/** More than a model is given of it. */
const collectedBytes = 4 * 1024 * 1024

/** What was refused for a scope, for whoever asks for it. */
export interface RefusedOperation {
  readonly name: string
  readonly request: OperationRequest
}

/**
 * Performs operations for one request, with the authority of the credential that it came with. A request may wait for
 * long, so who that is is asked anew before each call: what was taken away meanwhile is not used any more.
 */
export class OperationCaller {
  readonly #parts: CallerParts
  readonly #client: Client
  readonly #requestId: string
  readonly #signal: AbortSignal
  #principal: Principal
  #foundAt: number
  /** The last operation that was refused. */
  refused: RefusedOperation | undefined

  constructor(
    parts: CallerParts,
    asked: {
      principal: Principal
      /** When it was found to be who it is: a body can take minutes to arrive. */
      admittedAt: number
      client: Client
      requestId: string
      signal: AbortSignal
    },
  ) {
    this.#parts = parts
    this.#principal = asked.principal
    this.#foundAt = asked.admittedAt
    this.#client = { ...asked.client, via: 'mcp' }
    this.#requestId = asked.requestId
    this.#signal = asked.signal
  }

  get principal(): Principal {
    return this.#principal
  }

  get requestId(): string {
    return this.#requestId
  }

  /** The value of the answer, as JSON gives it. */
  async perform(name: string, request: OperationRequest = {}): Promise<unknown> {
    const collected = await this.collect(name, request)
    return collected.kind === 'value' ? collected.value : collected.bytes.toString()
  }

  async collect(name: string, request: OperationRequest, maxBytes = collectedBytes): Promise<Collected> {
    try {
      const principal = await this.#fresh()
      const { params, query, body, idempotencyKey } = request
      const answer = await this.#parts.perform(name, {
        principal,
        renew: () => this.#fresh(),
        foundAt: this.#foundAt,
        client: this.#client,
        ...(params && { params }),
        ...(query && { query }),
        ...(body && { body }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        signal: this.#signal,
        requestId: this.#requestId,
        // The transport has counted the request in a window of its own.
        counted: ['rest'],
      })
      return await collect(answer, maxBytes)
    } catch (error) {
      this.refused = { name, request }
      // It may rest on what was believed; who tries again is looked at anew.
      this.#foundAt = Number.NEGATIVE_INFINITY
      throw error
    }
  }

  /** Refuses when the credential has ended, or may not call here any more. */
  async confirm(): Promise<void> {
    this.#foundAt = Number.NEGATIVE_INFINITY
    await this.#fresh()
  }

  async #fresh(): Promise<Principal> {
    if (performance.now() - this.#foundAt <= admittedForMs) return this.#principal
    const { kind, credentialId: id, workspaceId } = this.#principal
    const askedAt = performance.now()
    const principal = await this.#parts.loadPrincipal({ kind, id }, workspaceId)
    if (!principal)
      throw new ApiError('UNAUTHORIZED', { message: 'The credential of this request has ended' })
    await this.#parts.admitAgain(principal)
    this.#principal = principal
    this.#foundAt = askedAt
    return principal
  }
}
