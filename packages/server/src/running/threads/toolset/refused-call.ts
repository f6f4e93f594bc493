import type { ApiError } from '#operations/errors.ts'
import type { Request } from './tool.ts'

/** An operation that did not come about, and what was asked of it. */
export class RefusedCall extends Error {
  readonly refusal: ApiError
  readonly operation: string | undefined
  readonly request: Request

  constructor(refusal: ApiError, operation: string | undefined, request: Request) {
    super(refusal.message, { cause: refusal })
    this.refusal = refusal
    this.operation = operation
    this.request = request
  }
}
