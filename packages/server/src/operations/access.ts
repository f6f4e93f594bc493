import { anySkill, coversScope, missingScopes, type Route } from '@guildhall/contract'
import type { Db } from '#platform/database.ts'
import type { Right } from '#platform/tables.ts'
import { type Authority, grantedRight, ownRight } from './authority.ts'
import { ApiError } from './errors.ts'
import type { ExactRequest, Grants, UsedGrant } from './grants.ts'
import type { Principal } from './principal.ts'

/**
 * What a caller may do in one call; there is one of these for each. Scopes that the credential holds cost nothing. What
 * only a grant covers is remembered, and whoever brings the effect about spends it in the same transaction: a refusal
 * takes the grant's end back together with everything else.
 */
export class Access {
  readonly #grants: Grants
  readonly #request: ExactRequest
  readonly #required = new Set<string>()
  readonly #once = new Set<string>()
  readonly #own = new Map<string, Right>()
  readonly #lasting = new Map<number, UsedGrant>()
  readonly #paid = new Set<string>()
  #principal: Principal
  #spent: readonly UsedGrant[] = []

  constructor(grants: Grants, principal: Principal, request: ExactRequest) {
    this.#grants = grants
    this.#principal = principal
    this.#request = request
  }

  /** Refuses unless all these are held or granted. Looks only, and is asked before anything is looked up. */
  async require(scopes: readonly string[]): Promise<void> {
    for (const scope of scopes) this.#required.add(scope)
    const missing = missingScopes(this.#principal.scopes, scopes).filter((scope) => !this.#paid.has(scope))
    for (const scope of scopes) {
      const own = missing.includes(scope) ? undefined : ownRight(this.#principal, scope)
      if (own) this.#own.set(own.scope, own)
    }
    if (missing.length === 0) return
    const { uncovered, once, lasting } = await this.#grants.find(this.#principal, missing, this.#request)
    if (uncovered.length > 0) throw await this.#refusal(uncovered)
    // That there is some right to run skills opens the door; the one that is used is asked for behind it, and spent.
    const used = missing.filter((scope) => scope !== anySkill)
    for (const grant of lasting) {
      if (used.some((scope) => coversScope(grant.scope, scope))) this.#lasting.set(grant.id, grant)
    }
    for (const scope of once) if (scope !== anySkill) this.#once.add(scope)
  }

  /** The caller as it is by now: what it was asked for so far must be held or granted still, and is spent by that. */
  async renew(principal: Principal): Promise<void> {
    this.#principal = principal
    for (const known of [this.#once, this.#own, this.#lasting]) known.clear()
    await this.require([...this.#required])
  }

  /** What the contract wants for the thing itself, whose facts are known by now. */
  async requireFrom({ scopesFrom = [] }: Route, facts: Readonly<Record<string, string>>): Promise<void> {
    await this.require(scopesFrom.map((scope) => fillScope(scope, facts)))
  }

  /** Whether the key has this to keep or for a while; a grant that is good once is for an effect, and not asked. */
  async holds(scope: string): Promise<boolean> {
    const missing = missingScopes(this.#principal.scopes, [scope])
    if (missing.length === 0) return true
    const { uncovered, once } = await this.#grants.find(this.#principal, missing, this.#request)
    return uncovered.length === 0 && once.length === 0
  }

  /** Whether some of it is allowed for a while only. */
  get isBrief(): boolean {
    return this.#lasting.size > 0
  }

  /** Whether the effect has to spend something, and so needs a transaction. */
  get mustSpend(): boolean {
    return this.#once.size > 0
  }

  /** Whether something is answered for which nothing was spent so far: no effect wanted it. */
  get owes(): boolean {
    return this.#once.size > 0 && this.#spent.length === 0
  }

  /**
   * For the transaction of the effect, which must not commit when this refuses. Called after the row that the effect is
   * about is locked and before any account: locks are taken in one order.
   */
  async spend(tx: Db): Promise<void> {
    if (this.#once.size === 0) return
    const { uncovered, spent } = await this.#grants.spend(tx, this.#principal, [...this.#once], this.#request)
    if (uncovered.length > 0) throw await this.#refusal(uncovered, tx)
    // In place of those of a transaction that was tried before and came to nothing.
    this.#spent = spent
  }

  /** The effect stands: what was spent on it is not asked for again in this call, which may go on to tell what came of it. */
  settle(): void {
    for (const scope of this.#once) this.#paid.add(scope)
    this.#once.clear()
  }

  /** What the same request spent when it was sent before is not asked for again either, by what tells what came of it. */
  async settleEarlier(idempotencyKey: string): Promise<void> {
    if (!(await this.#grants.wasSpentFor(this.#principal, idempotencyKey))) return
    for (const scope of this.#required) this.#paid.add(scope)
    this.#once.clear()
  }

  /** With the card on which a person is asked already, if there is one. */
  async #refusal(uncovered: readonly string[], tx?: Db): Promise<ApiError> {
    const missing = uncovered.map((scope) => (scope === anySkill ? 'tool:execute' : scope))
    return scopeRefusal(missing, await this.#grants.findAsked(this.#principal, missing, tx))
  }

  /** By which rights this is allowed; complete once the grants are spent. */
  get authority(): Authority {
    return [...this.#own.values(), ...[...this.#lasting.values(), ...this.#spent].map(grantedRight)]
  }
}

/** `{name}` in a scope stands for a fact: the right to run one skill is the right to run that skill. */
export function fillScope(scope: string, facts: Readonly<Record<string, string>>): string {
  return scope.replace(/\{(\w+)\}/g, (_text, name) => facts[name] ?? '')
}

/** Names what is missing and carries the request that asks for it, ready to be sent. */
function scopeRefusal(missing: readonly string[], approvalUrl: string | undefined): ApiError {
  return new ApiError('FORBIDDEN', {
    message: `This credential lacks the scope ${missing.join(', ')}; ask for it with the request in details.request`,
    details: {
      missing_scopes: missing,
      request: missing.length > 1 ? requestForAll(missing) : requestForOne(missing[0] ?? ''),
      ...(approvalUrl !== undefined && { approval_url: approvalUrl }),
    },
    authenticate: `Bearer error="insufficient_scope", scope="${missing.join(' ')}"`,
  })
}

function requestForOne(scope: string) {
  const body = { scope, reason: `A call needs ${scope}` }
  return { method: 'POST', path: '/api/v1/agents/request-permission', body }
}

/** One card for several. */
function requestForAll(missing: readonly string[]) {
  return { method: 'POST', path: '/api/v1/agents/connect', body: { requestedScopes: missing } }
}
