import type { ApiError } from '#operations/errors.ts'
import type { ExactRequest } from '#operations/grants.ts'

/** What did not come about, and what was asked for: a grant that would let it through is bound to just that. */
export class RefusedCall extends Error {
  readonly refusal: ApiError
  readonly exact: ExactRequest
  readonly body: unknown

  constructor(refusal: ApiError, exact: ExactRequest, body: unknown) {
    super(refusal.message, { cause: refusal })
    this.refusal = refusal
    this.exact = exact
    this.body = body
  }
}
