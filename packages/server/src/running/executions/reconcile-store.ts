import { executionTimeoutSeconds, idleExecutionSeconds } from '@guildhall/contract'
import { sql } from 'kysely'
import { now, secondsAgo } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import { batchesPerAttempt, pickUpBefore } from './store.ts'

/** Why an execution has to end by itself, on the database's clock. */
export type Due = keyof typeof dueConditions
const dueConditions = {
  lapsed: sql<boolean>`status = 'working' and lease_until <= guild_now()`,
  overdue: sql<boolean>`status = 'working' and started_at <= ${secondsAgo(executionTimeoutSeconds)}`,
  forgotten: sql<boolean>`status = 'idle' and created_at <= ${secondsAgo(idleExecutionSeconds)}`,
}

export async function listDue(db: Db, due: Due, limit: number): Promise<number[]> {
  const rows = await db.selectFrom('executions').select('id').where(dueConditions[due]).limit(limit).execute()
  return rows.map(({ id }) => id)
}

/** Undefined when it is not due any more, or somebody holds the row at this moment. */
export async function lockDue(tx: Tx, id: number, due: Due) {
  return tx
    .selectFrom('executions')
    .selectAll()
    .where('id', '=', id)
    .where(dueConditions[due])
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
}

const mostTries = 3

/**
 * For one whose worker fell silent before it told or used anything: others may try, and the higher attempt shuts it to
 * the first. Call it with the row locked; undefined when something was done, or it was tried often enough.
 */
export async function claimTryAgain(tx: Tx, id: number) {
  return tx
    .updateTable('executions')
    .set((e) => ({ worker_id: null, attempt: e('attempt', '+', 1), lease_until: pickUpBefore }))
    .where('id', '=', id)
    .where('worker_id', 'is not', null)
    .where('attempt', '<', mostTries)
    .where('cost_milli_ds', '=', 0)
    .where('last_batch', '<', sql<number>`attempt * ${batchesPerAttempt}::bigint`)
    .returningAll()
    .executeTakeFirst()
}

const offerSeconds = 5

/**
 * Started, and no worker has it yet: word to the engine may have been lost, or be stuck in a worker that hangs. So every
 * few seconds makes another offer, which has the same number in every process.
 */
export async function listUnclaimed(db: Db, olderThanSeconds: number, limit: number) {
  return db
    .selectFrom('executions')
    .select(['id', 'attempt'])
    .select(
      sql<number>`floor(extract(epoch from guild_now() - started_at) / ${offerSeconds})::integer`.as('offer'),
    )
    .where('status', '=', 'working')
    .where('worker_id', 'is', null)
    .where('started_at', '<=', secondsAgo(olderThanSeconds))
    .where('lease_until', '>', now)
    .limit(limit)
    .execute()
}

/** For who cancels before the start and runs it after all. */
const unstartedKeptSeconds = 3600
const releasedAtOnce = 500

/** What came with executions goes with their log, and soon if they were never started. Gives how many let it go. */
export async function deleteOldAttachments(db: Db, keptSeconds: number): Promise<number> {
  const endedFor = (seconds: number, unstarted: boolean) => sql`
    select id from executions
    where attachments_checksum is not null and (started_at is null) = ${unstarted}
      and completed_at <= ${secondsAgo(seconds)}
    order by completed_at limit ${releasedAtOnce} for update skip locked`
  const { numAffectedRows = 0n } = await sql`
    with forgotten as (${endedFor(unstartedKeptSeconds, true)}), old as (${endedFor(keptSeconds, false)})
    update executions set attachments_checksum = null
    where id in (select id from forgotten union all select id from old)`.execute(db)
  return Number(numAffectedRows)
}
