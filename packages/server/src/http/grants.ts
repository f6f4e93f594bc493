import type { Principal } from './principal.ts'

/** What a request must match for a grant that is bound to one exact request. */
export interface ExactRequest {
  readonly method: string
  readonly path: string
  readonly bodySha256: () => string
}

/** Permissions beyond a key's own set; the feature that keeps them hands these down. */
export interface Grants {
  /** Which of the scopes no live grant of the key covers. Looks only; spends nothing. */
  findUncovered(principal: Principal, scopes: readonly string[]): Promise<string[]>
  /** Spends what has to be spent so that all scopes are covered, or nothing; gives what stays uncovered. */
  spend(principal: Principal, scopes: readonly string[], request: ExactRequest): Promise<string[]>
}
