import { type Insertable, sql } from 'kysely'
import type { Db, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'

export type Due = Pick<Tables['receipts_due'], 'subject' | 'kind'>

/** Long enough to read a long log; who takes it and dies leaves it to others after this. */
const takenSeconds = 20

/** What ended longest ago comes first. What one process has taken, others leave to it for a while. */
export async function claimDue(db: Db, limit: number): Promise<Due[]> {
  const { rows } = await sql<Due>`
    update receipts_due set taken_until = guild_now() + make_interval(secs => ${takenSeconds})
    where subject in (
      select subject from receipts_due where taken_until is null or taken_until <= guild_now()
      order by ended_at limit ${limit} for update skip locked)
    returning subject, kind`.execute(db)
  return rows
}

export async function deleteDue(tx: Tx, subject: string): Promise<void> {
  await tx.deleteFrom('receipts_due').where('subject', '=', subject).execute()
}

/** The last receipt of a lineage, for the next one to name. Until the transaction ends there is no other next one. */
export async function lockLastReceipt(tx: Tx, traceKey: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`receipts:${traceKey}`}, 0))`.execute(tx)
  return tx
    .selectFrom('receipts')
    .select(['id', 'body'])
    .where('trace_key', '=', traceKey)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Undefined when there is one about the same. */
export async function insertReceipt(tx: Tx, row: Insertable<Tables['receipts']>) {
  return tx
    .insertInto('receipts')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
}

export async function findReceipt(db: Db, workspaceId: string, id: string) {
  return db
    .selectFrom('receipts')
    .select(['workspace_id', 'body', 'signature', 'key_id'])
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** The bodies of those that are about these, in their order. */
export async function listBodies(db: Db, subjects: readonly string[]) {
  if (subjects.length === 0) return []
  return db
    .selectFrom('receipts')
    .select(['subject', 'body'])
    .where('subject', 'in', subjects)
    .orderBy('number')
    .execute()
}

/** Those of the trace itself, and those of its lineage that are about no trace: of the run that caused it. */
export async function listReceipts(
  db: Db,
  trace: { workspace_id: string; id: string; trace_key: string },
  page: { limit: number; after: number },
) {
  return db
    .selectFrom('receipts')
    .select(['number', 'id', 'subject', 'trace_id', 'key_id', 'at'])
    .where('trace_key', '=', trace.trace_key)
    .where('workspace_id', '=', trace.workspace_id)
    .where((e) => e.or([e('trace_id', '=', trace.id), e('trace_id', 'is', null)]))
    .where('number', '>', page.after)
    .orderBy('number')
    .limit(page.limit)
    .execute()
}
