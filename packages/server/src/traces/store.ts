import type { Insertable } from 'kysely'
import { now } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database.ts'
import type { Tables } from '../platform/tables.ts'

export type NewTrace = Insertable<Tables['traces']>

export async function insertTrace(tx: Tx, trace: NewTrace): Promise<void> {
  await tx.insertInto('traces').values(trace).execute()
}

export async function findTrace(db: Db, workspaceId: string, id: string) {
  return db
    .selectFrom('traces')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Cost is added, never set: several runs of one lineage may land on one trace. */
export async function updateTrace(
  tx: Tx,
  workspaceId: string,
  id: string,
  change: { status: string; executionId: string; addedMilliDs: number },
): Promise<void> {
  await tx
    .updateTable('traces')
    .set((e) => ({
      status: change.status,
      execution_id: change.executionId,
      total_cost_milli_ds: e('total_cost_milli_ds', '+', change.addedMilliDs),
      last_activity_at: now,
    }))
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
}
