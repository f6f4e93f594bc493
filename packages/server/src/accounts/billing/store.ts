import { type Insertable, sql } from 'kysely'
import { noteChange } from '#platform/changes.ts'
import { secondsAgo, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'
import type { LimitedBy } from './amount.ts'

/** What credits are set aside for. */
export type ReservationKind = Tables['reservations']['kind']

const accountColumns = [
  'available_milli_ds as availableMilliDs',
  'reserved_milli_ds as reservedMilliDs',
  'spent_milli_ds as spentMilliDs',
] as const

/** Undefined when there is one already. */
export async function insertAccount(tx: Tx, userId: string) {
  return tx
    .insertInto('credit_accounts')
    .values({ user_id: userId })
    .onConflict((conflict) => conflict.doNothing())
    .returning('user_id')
    .executeTakeFirst()
}

export async function findAccount(db: Db, userId: string) {
  return db
    .selectFrom('credit_accounts')
    .select(accountColumns)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

/** Everything that moves a person's credits, the counters of the person's keys included, runs one after the other. */
export async function lockAccount(tx: Tx, userId: string) {
  return tx
    .selectFrom('credit_accounts')
    .select(accountColumns)
    .where('user_id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export async function insertEntries(tx: Tx, entries: readonly Insertable<Tables['ledger']>[]): Promise<void> {
  if (entries.length > 0) await tx.insertInto('ledger').values(entries).execute()
  for (const { user_id: userId } of entries) noteChange(tx, { kinds: ['billing'], userId })
}

/** Newest first; `before` is the id of the last row of the page before. */
export async function listEntries(
  db: Db,
  userId: string,
  page: { limit: number; before: number | undefined },
) {
  let query = db
    .selectFrom('ledger')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id', 'desc')
    .limit(page.limit)
  if (page.before !== undefined) query = query.where('id', '<', page.before)
  return query.execute()
}

/** Of one thing that was paid for, or of all whose names begin with that of another and a colon; in their order. */
export async function listEntriesOf(db: Db, of: { name: string } | { namesBelow: string }) {
  const isMeant =
    'name' in of
      ? sql<boolean>`execution_id = ${of.name}`
      : sql<boolean>`execution_id ~>=~ ${`${of.namesBelow}:`} and execution_id ~<~ ${`${of.namesBelow};`}`
  return db
    .selectFrom('ledger')
    .select(['id', 'kind', 'amount_milli_ds as amount'])
    .where(isMeant)
    .orderBy('id')
    .execute()
}

export async function findKeyBudget(db: Db, keyId: number) {
  return db
    .selectFrom('api_keys')
    .select([
      'spend_limit_milli_ds as limitMilliDs',
      'spent_milli_ds as spentMilliDs',
      'reserved_milli_ds as reservedMilliDs',
    ])
    .where('id', '=', keyId)
    .executeTakeFirst()
}

const spentMilliDs = sql`case kind when 'settle' then amount_milli_ds else -amount_milli_ds end`
/** As the index has it. */
const isSpending = sql<boolean>`kind in ('settle', 'refund')`

/**
 * What each of these keys has been charged since the day and since the month began, less what came back. Those that spent
 * nothing are left out.
 */
export async function sumSpentOfKeys(db: Db, keyIds: readonly number[]) {
  const began = (unit: 'day' | 'month') => sql`date_trunc(${sql.lit(unit)}, guild_now(), 'UTC')`
  return db
    .selectFrom('ledger')
    .select([
      sql<number>`key_id`.as('keyId'),
      sql<number>`coalesce(sum(${spentMilliDs}) filter (where at >= ${began('day')}), 0)::bigint`.as(
        'todayMilliDs',
      ),
      sql<number>`sum(${spentMilliDs})::bigint`.as('monthMilliDs'),
    ])
    .where(sql<boolean>`key_id = any(${keyIds}::bigint[])`)
    .where(isSpending)
    .where(sql<boolean>`at >= ${began('month')}`)
    .groupBy('key_id')
    .execute()
}

/** What a key was charged since then, less what came back. */
export async function sumSpentSince(db: Db, keyId: number, since: string): Promise<number> {
  const { spent } = await db
    .selectFrom('ledger')
    .select(sql<number>`coalesce(sum(${spentMilliDs}), 0)::bigint`.as('spent'))
    .where('key_id', '=', keyId)
    .where(isSpending)
    .where('at', '>=', since)
    .executeTakeFirstOrThrow()
  return spent
}

export async function insertReservation(
  tx: Tx,
  row: {
    execution_id: string
    kind: ReservationKind
    user_id: string
    workspace_id: string
    key_id: number | null
    amount_milli_ds: number
    limited_by: LimitedBy
  },
): Promise<void> {
  await tx
    .insertInto('reservations')
    .values({ ...row, charged_milli_ds: null })
    .execute()
}

export async function findReservation(db: Db, executionId: string) {
  return db.selectFrom('reservations').selectAll().where('execution_id', '=', executionId).executeTakeFirst()
}

export async function updateReservation(
  tx: Tx,
  executionId: string,
  amountMilliDs: number,
  limitedBy: LimitedBy,
): Promise<void> {
  await tx
    .updateTable('reservations')
    .set({ amount_milli_ds: amountMilliDs, limited_by: limitedBy })
    .where('execution_id', '=', executionId)
    .execute()
}

/** By kind and age, a bounded number of them. */
export async function listOpenReservations(
  db: Db,
  kind: ReservationKind,
  olderThanSeconds: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('reservations')
    .select('execution_id')
    .where('closed_at', 'is', null)
    .where('kind', '=', kind)
    .where('created_at', '<=', secondsAgo(olderThanSeconds))
    .orderBy('created_at')
    .limit(100)
    .execute()
  return rows.map(({ execution_id }) => execution_id)
}

/** Closes it. Undefined when it is closed already or never was: one call wins. */
export async function claimReservation(tx: Tx, executionId: string, usedMilliDs: number) {
  return tx
    .updateTable('reservations')
    .set({
      charged_milli_ds: sql<number>`least(amount_milli_ds, ${usedMilliDs}::bigint)`,
      closed_at: thisMoment,
    })
    .where('execution_id', '=', executionId)
    .where('closed_at', 'is', null)
    .returning([
      'user_id',
      'workspace_id',
      'key_id',
      'amount_milli_ds',
      sql<number>`charged_milli_ds`.as('charged_milli_ds'),
    ])
    .executeTakeFirst()
}
