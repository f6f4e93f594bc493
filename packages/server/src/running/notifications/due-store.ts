import type { Db } from '#platform/database.ts'

export type DueRow = Awaited<ReturnType<typeof listDue>>[number]

/** What can be told now, oldest first: a skill has ended. */
export async function listDue(db: Db, limit: number) {
  return db
    .selectFrom('thread_notices_due as d')
    .leftJoin('executions as e', (join) =>
      join.onRef('e.execution_id', '=', 'd.ref').on('d.source', '=', 'execution'),
    )
    .select([
      'd.thread_row_id',
      'd.source',
      'd.ref',
      'd.payload',
      'e.status as execution_status',
      'e.skill_slug',
    ])
    .where((q) => q.or([q('d.source', '!=', 'execution'), q('e.status', 'in', ['completed', 'failed'])]))
    .orderBy('d.due_at')
    .limit(limit)
    .execute()
}

/** False when somebody else has told it. */
export async function deleteDue(
  db: Db,
  { thread_row_id, source, ref }: Pick<DueRow, 'thread_row_id' | 'source' | 'ref'>,
): Promise<boolean> {
  const deleted = await db
    .deleteFrom('thread_notices_due')
    .where('thread_row_id', '=', thread_row_id)
    .where('source', '=', source)
    .where('ref', '=', ref)
    .returning('ref')
    .executeTakeFirst()
  return deleted !== undefined
}
