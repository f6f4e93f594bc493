/** What keeps a run from costing more: its own maximum, the person's credits, or the limit of the key. */
export type LimitedBy = 'max_cost' | 'balance' | 'key_limit'

export interface Allowance {
  readonly amountMilliDs: number
  readonly limitedBy: LimitedBy
}

/** The spending of a key, running executions included. */
export interface KeyBudget {
  readonly limitMilliDs: number | null
  readonly spentMilliDs: number
  readonly reservedMilliDs: number
}

interface AllowanceInput {
  readonly availableMilliDs: number
  readonly minimumMilliDs: number
  readonly maxCostMilliDs: number
  readonly key: KeyBudget | undefined
}

/**
 * How much a start sets aside, or why it may not start. The minimum is asked of the person's credits alone: a small
 * maximum of the run or a small limit of the key is no condition, and makes a short run rather than a refusal.
 */
export function decideAllowance({
  availableMilliDs,
  minimumMilliDs,
  maxCostMilliDs,
  key,
}: AllowanceInput): Allowance | 'credits' | 'key_limit' {
  if (availableMilliDs < minimumMilliDs) return 'credits'
  const ownMilliDs = Math.min(maxCostMilliDs, availableMilliDs)
  const leftMilliDs = leftOfKey(key)
  if (leftMilliDs === 0) return 'key_limit'
  // The key is named only where a higher limit would help.
  if (leftMilliDs < ownMilliDs) return { amountMilliDs: leftMilliDs, limitedBy: 'key_limit' }
  return { amountMilliDs: ownMilliDs, limitedBy: maxCostMilliDs <= availableMilliDs ? 'max_cost' : 'balance' }
}

/** How much more is set aside of what is wanted, and what kept it from being all. */
export function decideRaise(
  wantedMilliDs: number,
  availableMilliDs: number,
  key: KeyBudget | undefined,
): Allowance {
  const ofKey = leftOfKey(key)
  const amountMilliDs = Math.min(wantedMilliDs, availableMilliDs, ofKey)
  if (amountMilliDs === wantedMilliDs) return { amountMilliDs, limitedBy: 'max_cost' }
  return { amountMilliDs, limitedBy: ofKey < availableMilliDs ? 'key_limit' : 'balance' }
}

/** What a run may still use of what it set aside: its key's limit may have been lowered since. */
export function narrowAllowance(reserved: Allowance, key: KeyBudget | undefined): Allowance {
  const own = reserved.amountMilliDs
  const left = leftOfKey(key && { ...key, reservedMilliDs: key.reservedMilliDs - own })
  return left < own ? { amountMilliDs: left, limitedBy: 'key_limit' } : reserved
}

function leftOfKey(key: KeyBudget | undefined): number {
  if (!key || key.limitMilliDs === null) return Number.POSITIVE_INFINITY
  return Math.max(0, key.limitMilliDs - key.spentMilliDs - key.reservedMilliDs)
}
