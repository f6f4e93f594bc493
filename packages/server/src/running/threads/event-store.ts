import { sql } from 'kysely'
import type { Db, Tx } from '#platform/database.ts'
import { erasedPayload } from '#running/traces/traces.ts'

export interface LoggedEvent {
  readonly sequence: number
  readonly type: string
  readonly runId: string | null
  readonly payload: string
  readonly at: string
  /** All of what the event tells only the beginning of. */
  readonly output: string | null
}

interface LoggedRange {
  readonly after: number
  readonly through: number
  readonly types: readonly string[]
  /** Sequences that are wanted although they are not in the range. */
  readonly besides?: readonly number[]
}

/** What an agent is told of a thread: its events of these types, with what tools got and gave in whole. */
export async function listLogged(
  db: Db,
  threadRowId: number,
  { after, through, types, besides = [] }: LoggedRange,
): Promise<LoggedEvent[]> {
  const { rows } = await sql<LoggedEvent>`
    select e.sequence, e.type, e.run_id as "runId", e.payload, e.at, o.output
    from thread_events e
      left join thread_outputs o on o.thread_row_id = e.thread_row_id and o.sequence = e.sequence
    where e.thread_row_id = ${threadRowId} and e.type = any(${types}::text[])
      and (e.sequence > ${after} and e.sequence <= ${through} or e.sequence = any(${besides}::int[]))
    order by e.sequence`.execute(db)
  return rows
}

/** How far the newest summary of a thread reaches, and what it does not stand for all the same. */
export async function findSummary(
  db: Db,
  { id, summary_sequence }: { id: number; summary_sequence: number | null },
): Promise<{ throughSequence: number; keeps: readonly number[] } | undefined> {
  if (summary_sequence === null) return undefined
  const { rows } = await sql<{ payload: string }>`select payload from thread_events
    where thread_row_id = ${id} and sequence = ${summary_sequence}`.execute(db)
  const { throughSequence, keeps } = JSON.parse(rows[0]?.payload ?? '{}')
  // What it said may have been erased: then the log is told from its beginning.
  return typeof throughSequence === 'number' ? { throughSequence, keeps: keeps ?? [] } : undefined
}

/** The next of these types after a number. */
export async function listNext(
  db: Db,
  threadRowId: number,
  { after, types, limit }: { after: number; types: readonly string[]; limit: number },
): Promise<LoggedEvent[]> {
  const { rows } = await sql<LoggedEvent>`
    select e.sequence, e.type, e.run_id as "runId", e.payload, e.at, null as output
    from thread_events e
    where e.thread_row_id = ${threadRowId} and e.sequence > ${after} and e.type = any(${types}::text[])
    order by e.sequence limit ${limit}`.execute(db)
  return rows
}

/** What a run said last, or what was said of it. */
export async function findLastSaid(
  db: Db,
  threadRowId: number,
  runId: string,
  after: number,
  type: 'agent.message' | 'error' = 'agent.message',
): Promise<string | undefined> {
  const { rows } = await sql<{ payload: string }>`
    select payload from thread_events
    where thread_row_id = ${threadRowId} and sequence > ${after} and run_id = ${runId} and type = ${type}
    order by sequence desc limit 1`.execute(db)
  return rows[0]?.payload
}

export async function insertOutputs(
  tx: Tx,
  threadRowId: number,
  outputs: readonly { sequence: number; output: string }[],
): Promise<void> {
  if (outputs.length === 0) return
  await tx
    .insertInto('thread_outputs')
    .values(outputs.map(({ sequence, output }) => ({ thread_row_id: threadRowId, sequence, output })))
    .execute()
}

/** Those whose threads are still there. */
export async function listKeptLogs(db: Db, rowIds: readonly number[]): Promise<Set<number>> {
  const rows = await db.selectFrom('threads').select('id').where('id', 'in', rowIds).execute()
  return new Set(rows.map(({ id }) => id))
}

/** What the event said is gone; that there was one, of which type, stays. */
export async function updateErased(tx: Tx, rowId: number, sequence: number): Promise<void> {
  await sql`update thread_events set payload = ${erasedPayload}
    where thread_row_id = ${rowId} and sequence = ${sequence}`.execute(tx)
  await tx
    .deleteFrom('thread_outputs')
    .where('thread_row_id', '=', rowId)
    .where('sequence', '=', sequence)
    .execute()
}
