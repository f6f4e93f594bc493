import { CompiledQuery, sql } from 'kysely'
import type { Database, Db, HotStatement, Tx } from '../platform/database.ts'
import type { EventRow } from './event-frames.ts'

/** Types and payloads of a batch, in order. */
export interface EventColumns {
  readonly types: readonly string[]
  readonly payloads: readonly string[]
}

const executionsPerPartition = 200_000
const partitionsAhead = 2

/**
 * Numbers are allocated under the execution's row lock in the statement that writes them, so they have no gaps
 * and become visible in their order: who has seen one has seen all before it.
 */
function append(fence: string, batch: string): string {
  return `with bumped as (
      update executions set last_sequence = last_sequence + cardinality($2::text[])${batch}
      where id = $1::bigint ${fence}
      returning last_sequence - cardinality($2::text[]) as base
    ), written as (
      insert into execution_events (execution_id, sequence, type, payload)
      select $1::bigint, base + position, type, payload
      from bumped, unnest($2::text[], $3::text[]) with ordinality as given (type, payload, position)
    )
    select base from bumped`
}

const appendFenced: HotStatement = {
  name: 'append-events-fenced',
  text: append(
    `and attempt = $4 and status = 'working' and last_batch < coalesce($5::bigint, last_batch + 1)`,
    ', last_batch = coalesce($5::bigint, last_batch)',
  ),
}

const appendHeld = append('', '')

/** The number before the first one written; undefined for who may not write, or whose batch is written. */
export async function insertEventsFenced(
  database: Database,
  fence: { executionRowId: number; attempt: number; batch: number | undefined },
  { types, payloads }: EventColumns,
): Promise<number | undefined> {
  const values = [fence.executionRowId, types, payloads, fence.attempt, fence.batch ?? null]
  const [row] = await database.hot<{ base: number }>(appendFenced, values)
  return row?.base
}

export async function insertEvents(
  tx: Tx,
  executionRowId: number,
  { types, payloads }: EventColumns,
): Promise<number | undefined> {
  const values = [executionRowId, types, payloads]
  const { rows } = await tx.executeQuery<{ base: number }>(CompiledQuery.raw(appendHeld, values))
  return rows[0]?.base
}

const findBatchStatement: HotStatement = {
  name: 'find-event-batch',
  text: `select last_sequence as "lastSequence" from executions where id = $1 and last_batch = $2`,
}

/** The last number in the log, if this batch is the last one written. */
export async function findBatch(
  database: Database,
  executionRowId: number,
  batch: number,
): Promise<number | undefined> {
  const [row] = await database.hot<{ lastSequence: number }>(findBatchStatement, [executionRowId, batch])
  return row?.lastSequence
}

const listStatement: HotStatement = {
  name: 'list-events',
  text: `select sequence, type, payload from execution_events
    where execution_id = $1 and sequence > $2 and sequence <= $2 + $3::int order by sequence`,
}

/** The next events after a number; none are left when none come. */
export async function listEvents(
  database: Database,
  executionRowId: number,
  after: number,
  most = 200,
): Promise<EventRow[]> {
  const values = [executionRowId, after, most]
  const rows = await database.hotTuples<[number, string, string]>(listStatement, values)
  return rows.map(([sequence, type, payload]) => ({ sequence, type, payload }))
}

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

/** How far a log reaches, and whether that is its end. */
export interface Reach {
  readonly last: number
  readonly ended: boolean
}

const listReachStatement: HotStatement = {
  name: 'list-reach-of-logs',
  text: `select id, last_sequence as last, status in ('completed', 'failed') as ended
    from executions where id = any($1::bigint[])`,
}

/** Those that are gone are left out. */
export async function listReach(
  database: Database,
  executionRowIds: readonly number[],
): Promise<Map<number, Reach>> {
  const rows = await database.hot<Reach & { id: number }>(listReachStatement, [executionRowIds])
  return new Map(rows.map((row) => [row.id, row]))
}

/** Makes the partitions that coming executions need; run it often enough that it stays ahead of them. */
export async function insertEventPartitions(db: Db): Promise<number> {
  const made = await sql<{ count: number }>`
    select make_event_partitions(${executionsPerPartition}, ${partitionsAhead}) as count`.execute(db)
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
