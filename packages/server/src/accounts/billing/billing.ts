import { fromDs, minimumCreditsDs, toDs } from '@guildhall/contract'
import { type Author, recordActivity } from '#accounts/activity/activity.ts'
import { findPersonalWorkspace } from '#accounts/workspaces/workspaces.ts'
import { ApiError } from '#operations/errors.ts'
import type { Config } from '#platform/config.ts'
import type { Db, Tx } from '#platform/database.ts'
import { type Allowance, decideAllowance, decideRaise, type KeyBudget, narrowAllowance } from './amount.ts'
import { type Concern, entriesFor } from './entries.ts'
import * as store from './store.ts'

export type { Allowance } from './amount.ts'
export { listEntriesOf, sumSpentOfKeys, sumSpentSince } from './store.ts'

export interface Reservation extends Allowance {
  readonly reservationId: string
}

export interface Refusal {
  readonly ok: false
  readonly reason: 'credits' | 'key_limit'
  /** In Ds, as they are told. */
  readonly balance: number
  readonly availableBalance: number
  readonly minimumRequired: number
  /** Of the key, when it is the key's limit that refuses; what running executions set aside is spent here. */
  readonly keyLimit?: { readonly limit: number; readonly spent: number; readonly remaining: number }
}

export interface ReservationInput {
  readonly userId: string
  readonly workspaceId: string
  readonly executionId: string
  readonly kind: store.ReservationKind
  /** The key that starts it; null for other credentials. */
  readonly keyId: number | null
  readonly maxCostMilliDs: number | null
  /** The deployment's; a higher maximum is cut to it. */
  readonly defaultMaxCostMilliDs: number
}

/** Of who signed up while a version without accounts was still serving. */
export const emptyAccount = { availableMilliDs: 0, reservedMilliDs: 0, spentMilliDs: 0 }

/** Gives a new person an account with the starting credits. Does nothing where there is one. */
export async function openAccount(
  tx: Tx,
  config: Pick<Config, 'startingCreditsMilliDs'>,
  userId: string,
): Promise<void> {
  if (!(await store.insertAccount(tx, userId))) return
  const note = 'Starting credits'
  await store.insertEntries(tx, entriesFor({ userId, note }, { grant: config.startingCreditsMilliDs }))
}

/**
 * Sets aside what an execution may cost, in the transaction that starts it. Asking again for an execution that is
 * still running answers what it has.
 */
export async function reserve(
  tx: Tx,
  input: ReservationInput,
): Promise<{ ok: true; reservation: Reservation } | Refusal> {
  const { userId, workspaceId, executionId, kind, keyId } = input
  const account = (await store.lockAccount(tx, userId)) ?? emptyAccount
  // Read after the lock, in statements of their own: one that had waited for it would see them as they were before.
  const known = await store.findReservation(tx, executionId)
  if (known?.closed_at) throw new Error(`Execution ${executionId} has been settled and cannot start again`)
  if (known) return { ok: true, reservation: describeReservation(known) }
  const allowance = await judge(tx, account, input)
  if ('ok' in allowance) return allowance
  const { amountMilliDs, limitedBy } = allowance
  await store.insertReservation(tx, {
    execution_id: executionId,
    kind,
    user_id: userId,
    workspace_id: workspaceId,
    key_id: keyId,
    amount_milli_ds: amountMilliDs,
    limited_by: limitedBy,
  })
  const about: Concern = { userId, workspaceId, executionId, keyId }
  await store.insertEntries(tx, entriesFor(about, { reserve: amountMilliDs }))
  return { ok: true, reservation: { reservationId: executionId, amountMilliDs, limitedBy } }
}

/**
 * Sets aside more for what goes on, up to `wantedMilliDs` in all, as far as credits and the key's limit reach. Undefined
 * when it has been settled.
 */
export async function raiseReservation(
  tx: Tx,
  executionId: string,
  wantedMilliDs: number,
): Promise<Reservation | undefined> {
  const found = await store.findReservation(tx, executionId)
  if (!found) return undefined
  const account = await lockAccount(tx, found.user_id)
  // Read after the lock: it may have been raised or settled by who held it.
  const row = await store.findReservation(tx, executionId)
  if (!row || row.closed_at) return undefined
  const missing = wantedMilliDs - row.amount_milli_ds
  if (missing <= 0) return describeReservation(row)
  const { user_id: userId, workspace_id: workspaceId, key_id: keyId } = row
  const key = keyId === null ? undefined : await store.findKeyBudget(tx, keyId)
  const more = decideRaise(missing, account.availableMilliDs, key)
  const amountMilliDs = row.amount_milli_ds + more.amountMilliDs
  await store.updateReservation(tx, executionId, amountMilliDs, more.limitedBy)
  const about: Concern = { userId, workspaceId, executionId, keyId }
  await store.insertEntries(tx, entriesFor(about, { reserve: more.amountMilliDs }))
  return { reservationId: executionId, amountMilliDs, limitedBy: more.limitedBy }
}

/** What `reserve` would refuse as things stand, told without waiting for anybody's lock. */
export async function findRefusal(db: Db, input: ReservationInput): Promise<Refusal | undefined> {
  const judged = await judge(db, (await store.findAccount(db, input.userId)) ?? emptyAccount, input)
  return 'ok' in judged ? judged : undefined
}

async function judge(db: Db, account: Account, input: ReservationInput): Promise<Allowance | Refusal> {
  const { keyId, maxCostMilliDs, defaultMaxCostMilliDs } = input
  const key = keyId === null ? undefined : await store.findKeyBudget(db, keyId)
  const decided = decideAllowance({
    availableMilliDs: account.availableMilliDs,
    minimumMilliDs: fromDs(minimumCreditsDs),
    maxCostMilliDs: Math.min(maxCostMilliDs ?? Number.POSITIVE_INFINITY, defaultMaxCostMilliDs),
    key,
  })
  if (typeof decided !== 'string') return decided
  const keyLimit = decided === 'key_limit' && key ? { keyLimit: describeKeyLimit(key) } : {}
  return { ok: false, reason: decided, ...describeAccount(account), ...keyLimit }
}

/** What a running execution may cost in all, as things stand now. Ask before every model call. */
export async function findReservation(db: Db, executionId: string): Promise<Reservation | undefined> {
  const row = await store.findReservation(db, executionId)
  if (!row || row.closed_at) return undefined
  const key = row.key_id === null ? undefined : await store.findKeyBudget(db, row.key_id)
  const reservation = describeReservation(row)
  return { ...reservation, ...narrowAllowance(reservation, key) }
}

/** Whether it was charged and cannot start again under this name. */
export async function isSettled(db: Db, executionId: string): Promise<boolean> {
  const row = await store.findReservation(db, executionId)
  return row !== undefined && row.closed_at !== null
}

/** Gives back what is set aside for something of this kind for too long: whoever asked for it is gone. */
export async function releaseOldReservations(
  tx: Tx,
  kind: store.ReservationKind,
  olderThanSeconds: number,
): Promise<number> {
  const names = await store.listOpenReservations(tx, kind, olderThanSeconds)
  for (const executionId of names) await settle(tx, executionId, 0)
  return names.length
}

/**
 * Charges what an execution used, at most what was set aside, and gives the rest back, in the transaction that ends
 * it. Only the first call counts; every call answers what was charged. `by`: who is on record with the charge.
 */
export async function settle(tx: Tx, executionId: string, usedMilliDs: number, by?: Author): Promise<number> {
  const closed = await store.claimReservation(tx, executionId, usedMilliDs)
  if (!closed) return (await store.findReservation(tx, executionId))?.charged_milli_ds ?? 0
  const { user_id: userId, amount_milli_ds: reserved, charged_milli_ds: charged } = closed
  await lockAccount(tx, userId)
  const about: Concern = { userId, workspaceId: closed.workspace_id, executionId, keyId: closed.key_id }
  await store.insertEntries(tx, entriesFor(about, { settle: charged, release: reserved - charged }))
  if (by && charged > 0) {
    const details = { executionId, amount: toDs(charged) }
    await recordActivity(tx, by, { type: 'credits.charged', workspaceId: closed.workspace_id, details })
  }
  return charged
}

/** What an operator does by hand; only `adjust` may be negative. Undefined when the account does not hold as much. */
export async function changeCredits(
  tx: Tx,
  change: { userId: string; kind: 'grant' | 'refund' | 'adjust'; amountMilliDs: number; note: string | null },
): Promise<Balance | undefined> {
  const { userId, kind, amountMilliDs, note } = change
  await store.insertAccount(tx, userId)
  const account = await lockAccount(tx, userId)
  const isCovered =
    kind === 'refund' ? amountMilliDs <= account.spentMilliDs : account.availableMilliDs + amountMilliDs >= 0
  if (!isCovered) return undefined
  await store.insertEntries(tx, entriesFor({ userId, note }, { [kind]: amountMilliDs }))
  const type = (
    { grant: 'credits.granted', refund: 'credits.refunded', adjust: 'credits.adjusted' } as const
  )[kind]
  const details = { userId, amount: toDs(amountMilliDs), note }
  const workspaceId = (await findPersonalWorkspace(tx, userId))?.id ?? null
  await recordActivity(tx, 'operator', { type, workspaceId, details })
  return describeAccount(await lockAccount(tx, userId))
}

export function insufficientCredits({
  reason,
  balance,
  availableBalance,
  minimumRequired,
  keyLimit,
}: Refusal): ApiError {
  const numbers = { balance, availableBalance, minimumRequired }
  if (reason === 'credits') {
    const message = `A start needs ${minimumRequired} Ds and ${availableBalance} are available: add credits or wait for running executions`
    return new ApiError('INSUFFICIENT_CREDITS', { message, details: numbers })
  }
  return new ApiError('INSUFFICIENT_CREDITS', {
    message: 'This key has reached its spend limit: ask its owner to raise it',
    details: { ...numbers, reason: 'KEY_SPEND_LIMIT', keyLimit },
  })
}

function describeKeyLimit({ limitMilliDs, spentMilliDs, reservedMilliDs }: KeyBudget) {
  const [limit, spent] = [toDs(limitMilliDs ?? 0), toDs(spentMilliDs + reservedMilliDs)]
  return { limit, spent, remaining: Math.max(0, limit - spent) }
}

async function lockAccount(tx: Tx, userId: string) {
  const account = await store.lockAccount(tx, userId)
  if (!account) throw new Error(`There is no account of credits for user ${userId}`)
  return account
}

function describeReservation(
  row: NonNullable<Awaited<ReturnType<typeof store.findReservation>>>,
): Reservation {
  const { execution_id: reservationId, amount_milli_ds: amountMilliDs, limited_by: limitedBy } = row
  return { reservationId, amountMilliDs, limitedBy }
}

interface Account {
  readonly availableMilliDs: number
  readonly reservedMilliDs: number
}

interface Balance {
  readonly balance: number
  readonly availableBalance: number
  readonly minimumRequired: number
}

export function describeAccount({ availableMilliDs, reservedMilliDs }: Account): Balance {
  return {
    balance: toDs(availableMilliDs + reservedMilliDs),
    availableBalance: toDs(availableMilliDs),
    minimumRequired: minimumCreditsDs,
  }
}
