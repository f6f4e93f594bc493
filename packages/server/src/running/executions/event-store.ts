import { sql } from 'kysely'
import type { Database, Db, HotStatement, Tx } from '#platform/database.ts'
import { erasedPayload } from '#running/traces/traces.ts'

const executionsPerPartition = 200_000
const partitionsAhead = 2

interface NamedExecution {
  readonly workspaceId: string
  readonly executionId: string
}

const listIdsStatement: HotStatement = {
  name: 'list-streamed-executions',
  text: `select a.position::int, e.id
    from unnest($1::uuid[], $2::text[]) with ordinality a (workspace_id, execution_id, position)
      join executions e on e.workspace_id = a.workspace_id and e.execution_id = a.execution_id`,
}

/** Their rows, in the order in which they were named; undefined for those there are not. */
export async function listRowIds(
  database: Database,
  named: readonly NamedExecution[],
): Promise<(number | undefined)[]> {
  const rows = await database.hot<{ position: number; id: number }>(listIdsStatement, [
    named.map(({ workspaceId }) => workspaceId),
    named.map(({ executionId }) => executionId),
  ])
  const byPosition = new Map(rows.map(({ position, id }) => [position, id]))
  return named.map((_, index) => byPosition.get(index + 1))
}

/** Those whose events have not been dropped with their partition. */
export async function listKeptLogs(db: Db, rowIds: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select g.id from unnest(${rowIds}::bigint[]) g (id)
    where exists (select from execution_events e where e.execution_id = g.id and e.sequence = 1)`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

/** What the event said is gone; that there was one, of which type, stays. */
export async function updateErased(tx: Tx, rowId: number, sequence: number): Promise<void> {
  await sql`update execution_events set payload = ${erasedPayload}
    where execution_id = ${rowId} and sequence = ${sequence}`.execute(tx)
}

/** How many events of an execution have nothing but this payload. */
export async function countErased(db: Db, { workspaceId, executionId }: NamedExecution): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from executions e join execution_events v on v.execution_id = e.id
    where e.workspace_id = ${workspaceId} and e.execution_id = ${executionId}
      and v.payload = ${erasedPayload}`.execute(db)
  return rows[0]?.count ?? 0
}

/** Makes the partitions that coming executions need; run it often enough that it stays ahead of them. */
export async function insertEventPartitions(db: Db): Promise<number> {
  const made = await sql<{ count: number }>`
    select make_log_partitions('execution_events', 'executions', ${executionsPerPartition}, ${partitionsAhead}) as count`.execute(
    db,
  )
  return made.rows[0]?.count ?? 0
}

/**
 * Drops partitions all of whose executions ended so long ago. Each is detached first without a lock on the log,
 * which goes on taking and giving events meanwhile. One whose dropping was broken off is found again here,
 * half detached or by itself.
 */
export async function deleteOldEventPartitions(db: Db, keptSeconds: number): Promise<number> {
  const { rows } = await sql<{ name: string; state: 'attached' | 'detaching' | 'detached' }>`
    with parts as (
      select relname as name, substring(relname from '[0-9]+$')::bigint * ${executionsPerPartition} as start,
        case when inhparent is null then 'detached' when inhdetachpending then 'detaching' else 'attached' end as state
      from pg_class left join pg_inherits on inhrelid = pg_class.oid
      where relnamespace = current_schema::regnamespace and relkind = 'r' and relname ~ '^execution_events_[0-9]+$'
    )
    select name, state from parts
    where start + ${executionsPerPartition} <= (select max(id) from executions)
      and not exists (
        select 1 from executions where id >= start and id < start + ${executionsPerPartition}
          and (completed_at is null or completed_at > guild_now() - make_interval(secs => ${keptSeconds})))
    order by start`.execute(db)
  for (const { name, state } of rows) {
    const table = sql.id(name)
    if (state !== 'detached') {
      const how = sql.raw(state === 'attached' ? 'concurrently' : 'finalize')
      await sql`alter table execution_events detach partition ${table} ${how}`.execute(db)
    }
    await sql`drop table if exists ${table}`.execute(db)
  }
  return rows.length
}
