import { anySkill, missingScopes, type Route } from '@guildhall/contract'
import type { Db } from '../platform/database.ts'
import { ApiError } from './errors.ts'
import type { ExactRequest, Grants, UsedGrant } from './grants.ts'
import type { Principal } from './principal.ts'

/** By what a call is allowed beyond the scopes that its credential holds. */
export interface Authority {
  readonly grants: readonly UsedGrant[]
}

export const noGrants: Authority = { grants: [] }

/**
 * What a caller may do in one call. Scopes that the credential holds cost nothing. What only a grant covers is
 * remembered, and whoever brings the effect about spends it in the same transaction: a refusal takes the grant's end
 * back together with everything else.
 */
export class Access {
  readonly #grants: Grants
  readonly #principal: Principal
  readonly #request: ExactRequest
  readonly #once = new Set<string>()
  #used: UsedGrant[] = []

  constructor(grants: Grants, principal: Principal, request: ExactRequest) {
    this.#grants = grants
    this.#principal = principal
    this.#request = request
  }

  /** Refuses unless all these are held or granted. Looks only, and is asked before anything is looked up. */
  async require(scopes: readonly string[]): Promise<void> {
    const missing = missingScopes(this.#principal.scopes, scopes)
    if (missing.length === 0) return
    const { uncovered, once, lasting } = await this.#grants.find(this.#principal, missing, this.#request)
    if (uncovered.length > 0) throw scopeRefusal(uncovered)
    this.#used.push(...lasting)
    // That there is some right to run skills opens the door; the one that is used is asked for behind it, and spent.
    for (const scope of once) if (scope !== anySkill) this.#once.add(scope)
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

  /** Whether the effect has to spend something, and so needs a transaction. */
  get mustSpend(): boolean {
    return this.#once.size > 0
  }

  /**
   * For the transaction of the effect, which must not commit when this refuses. Called after the row that the effect is
   * about is locked and before any account: locks are taken in one order.
   */
  async spend(tx: Db): Promise<void> {
    if (this.#once.size === 0) return
    const { uncovered, spent } = await this.#grants.spend(tx, this.#principal, [...this.#once], this.#request)
    if (uncovered.length > 0) throw scopeRefusal(uncovered)
    // In place of those of a transaction that was tried before and came to nothing.
    this.#used = [...this.#used.filter(({ mode }) => mode !== 'one_time'), ...spent]
  }

  get authority(): Authority {
    return this.#used.length === 0 ? noGrants : { grants: this.#used }
  }
}

/** `{name}` in a scope stands for a fact: the right to run one skill is the right to run that skill. */
export function fillScope(scope: string, facts: Readonly<Record<string, string>>): string {
  return scope.replace(/\{(\w+)\}/g, (_text, name) => facts[name] ?? '')
}

/** Names what is missing and carries the request that asks for it, ready to be sent. */
function scopeRefusal(uncovered: readonly string[]): ApiError {
  const missing = uncovered.map((scope) => (scope === anySkill ? 'tool:execute' : scope))
  return new ApiError('FORBIDDEN', {
    message: `This credential lacks the scope ${missing.join(', ')}; ask for it with the request in details.request`,
    details: {
      missing_scopes: missing,
      request: {
        method: 'POST',
        path: '/api/v1/agents/request-permission',
        body: { scope: missing[0], reason: `A call needs ${missing[0]}` },
      },
    },
    authenticate: `Bearer error="insufficient_scope", scope="${missing.join(' ')}"`,
  })
}
