import { sql } from 'kysely'
import type { Db, Tx } from '#platform/database.ts'
import { isPending } from '#platform/deadline.ts'

/** How much of the inbox the runs of a workspace and key take up; nobody else adds to it until the transaction ends. */
export async function countAsked(tx: Tx, workspaceId: string, keyId: number | null): Promise<number> {
  const name = `questions:${workspaceId}:${keyId}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx)
  const { count } = await tx
    .selectFrom('approval_requests')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', 'workflow')
    .where('key_id', 'is not distinct from', keyId)
    .where(isPending('approval_requests'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Those that the run has open, by their ids. */
export async function listOpen(db: Db, runId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('approval_requests')
    .select('id')
    .where('subject', '=', runId)
    .where('kind', '=', 'workflow')
    .where(isPending('approval_requests'))
    .execute()
  return rows.map(({ id }) => id)
}
