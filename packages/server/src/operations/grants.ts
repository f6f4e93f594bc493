import type { Db } from '#platform/database.ts'
import type { Approval } from '#platform/tables.ts'
import type { Principal } from './principal.ts'

/** What a request must match for a grant that is bound to one exact request. */
export interface ExactRequest {
  readonly method: string
  readonly path: string
  /** Known once the body has been read; of what is not known no bound grant is good. */
  readonly bodySha256: () => string | undefined
  /** The `Idempotency-Key` of a creating request: what comes to nothing gives back what was spent under it. */
  readonly repeatKey: string | undefined
}

/** A grant that covers a scope in a call, and who gave it. */
export interface UsedGrant {
  readonly id: number
  readonly scope: string
  readonly mode: 'session' | 'one_time'
  readonly approval: Approval
}

/** Permissions beyond a key's own set; the feature that keeps them hands these down. */
export interface Grants {
  /**
   * Which of the scopes no grant covers for this request, which only one that is good once, and the grants that last and
   * cover the others. Spends nothing.
   */
  find(
    principal: Principal,
    scopes: readonly string[],
    request: ExactRequest,
  ): Promise<{ uncovered: string[]; once: string[]; lasting: UsedGrant[] }>
  /** Where a person is asked for all of these already. Whoever is in a transaction asks in it, and holds no second connection. */
  findAsked(principal: Principal, scopes: readonly string[], tx?: Db): Promise<string | undefined>
  /** Spends a grant for each scope. `uncovered` are those for which none is left: who gets any must not commit. */
  spend(
    tx: Db,
    principal: Principal,
    scopes: readonly string[],
    request: ExactRequest,
  ): Promise<{ uncovered: string[]; spent: UsedGrant[] }>
  /** Whether something was granted for what this key did under this `Idempotency-Key`. */
  wasSpentFor(principal: Principal, repeatKey: string): Promise<boolean>
}
