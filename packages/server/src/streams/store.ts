import { CompiledQuery } from 'kysely'
import type { Database, Db, HotStatement, Tx } from '#platform/database.ts'
import type { EventRow } from './frames.ts'

/** Where a log is kept. Names of tables and conditions are SQL and come from the code alone. */
export interface LogStoreKind {
  /** Where the events lie, and its column that says whose they are. */
  readonly table: string
  readonly key: string
  /** The table with a row for each log: `id`, `last_sequence`, `last_batch`. */
  readonly counters: string
  /** Of that row: whether the attempt `$4` may write. */
  readonly fence: string
  /** Of that row: whether nothing more comes. */
  readonly ended: string
  /**
   * For a log that several runs write to: the column that says which, a uuid, and, in SQL, what frames have beside their
   * usual fields.
   */
  readonly runs?: { readonly column: string; readonly more: string }
  /** Of the names of its statements, which a connection has only once. */
  readonly suffix?: string
}

/** Types and payloads of a batch, in order. */
export interface EventColumns {
  readonly types: readonly string[]
  readonly payloads: readonly string[]
  readonly runIds?: readonly (string | null)[]
}

/** What an event got when it was written. */
export type Written = Pick<EventRow, 'sequence' | 'more'>

/** Who writes a batch; without a number it is not told apart from one that is sent again. */
export interface Fence {
  readonly rowId: number
  readonly attempt: number
  readonly batch: number | undefined
}

/** How far a log reaches, and whether that is its end. */
export interface Reach {
  readonly last: number
  readonly ended: boolean
}

/** Events of one log, by their numbers. */
export interface EventRange {
  readonly rowId: number
  readonly first: number
  readonly last: number
}

export interface RangedEvent {
  readonly rowId: number
  readonly sequence: number
  readonly type: string
  /** JSON, as it was written. */
  readonly payload: string
  readonly at: string
}

/** The statements of one kind of log, built once. */
export function createLogStore({ table, key, counters, fence, ended, runs, suffix = '' }: LogStoreKind) {
  const named = (name: string, text: string): HotStatement => ({ name: `${name}${suffix}`, text })

  /**
   * Numbers are allocated under the lock of the counters' row in the statement that writes them, so they have no gaps
   * and become visible in their order: who has seen one has seen all before it.
   */
  const append = (condition: string, batch: string) => `with bumped as (
      update ${counters} set last_sequence = last_sequence + cardinality($2::text[])${batch}
      where id = $1::bigint ${condition}
      returning last_sequence - cardinality($2::text[]) as base
    ), written as (
      insert into ${table} (${key}, sequence, type, payload)
      select $1::bigint, base + position, type, payload
      from bumped, unnest($2::text[], $3::text[]) with ordinality as given (type, payload, position)
    )
    select base from bumped`
  const appendHeld = append('', '')
  /** What frames have beside is made by the statement that writes and by the one that reads: the same text, then. */
  const appendOfRuns = `with bumped as (
      update ${counters} set last_sequence = last_sequence + cardinality($2::text[])
      where id = $1::bigint
      returning last_sequence - cardinality($2::text[]) as base
    ), written as (
      insert into ${table} (${key}, sequence, type, payload, ${runs?.column})
      select $1::bigint, base + position, type, payload, run
      from bumped, unnest($2::text[], $3::text[], $4::uuid[]) with ordinality as given (type, payload, run, position)
      returning sequence, ${runs?.more} as more
    )
    select sequence, more from written order by sequence`
  const appendFenced = named(
    'append-events-fenced',
    append(
      `and ${fence} and last_batch < coalesce($5::bigint, last_batch + 1)`,
      ', last_batch = coalesce($5::bigint, last_batch)',
    ),
  )
  const findBatchStatement = named(
    'find-event-batch',
    `select last_sequence as "lastSequence" from ${counters} where id = $1 and last_batch = $2`,
  )
  const listStatement = named(
    'list-events',
    `select sequence, type, payload${runs ? `, ${runs.column}, ${runs.more}` : ''} from ${table}
    where ${key} = $1 and sequence > $2 and sequence <= $2 + $3::int order by sequence`,
  )
  const listReachStatement = named(
    'list-reach-of-logs',
    `select id, last_sequence as last, ${ended} as ended
    from ${counters} where id = any($1::bigint[])`,
  )

  const listRanges = `select e.${key} as "rowId", e.sequence, e.type, e.payload, e.at
    from unnest($1::bigint[], $2::int[], $3::int[]) r (row_id, first, last)
      cross join lateral (select * from ${table}
        where ${key} = r.row_id and sequence between r.first and r.last and type = any($4::text[])
        order by sequence) e
    order by e.${key}, e.sequence`

  return {
    /** The number before the first one written; undefined for who may not write, or whose batch is written. */
    insertEventsFenced: async (
      database: Database,
      { rowId, attempt, batch }: Fence,
      { types, payloads }: EventColumns,
    ): Promise<number | undefined> => {
      const values = [rowId, types, payloads, attempt, batch ?? null]
      const [row] = await database.hot<{ base: number }>(appendFenced, values)
      return row?.base
    },

    /** Undefined when there is no such log. */
    insertEvents: async (
      tx: Tx,
      rowId: number,
      { types, payloads, runIds }: EventColumns,
    ): Promise<readonly Written[] | undefined> => {
      if (runs) {
        const query = CompiledQuery.raw(appendOfRuns, [rowId, types, payloads, runIds])
        const { rows } = await tx.executeQuery<Written>(query)
        return rows.length === 0 ? undefined : rows
      }
      const query = CompiledQuery.raw(appendHeld, [rowId, types, payloads])
      const [row] = (await tx.executeQuery<{ base: number }>(query)).rows
      return row && types.map((_, index) => ({ sequence: row.base + index + 1 }))
    },

    /** The last number in the log, if this batch is the last one written. */
    findBatch: async (database: Database, rowId: number, batch: number): Promise<number | undefined> => {
      const [row] = await database.hot<{ lastSequence: number }>(findBatchStatement, [rowId, batch])
      return row?.lastSequence
    },

    /** The next events after a number; none are left when none come. */
    listEvents: async (database: Database, rowId: number, after: number, most = 200): Promise<EventRow[]> => {
      const values = [rowId, after, most]
      const rows = await database.hotTuples<[number, string, string, string | null, string]>(
        listStatement,
        values,
      )
      if (!runs) return rows.map(([sequence, type, payload]) => ({ sequence, type, payload }))
      return rows.map(([sequence, type, payload, of, more]) => ({ sequence, type, payload, of, more }))
    },

    /** Events of several logs at once, those of some types only, each log's in its order. */
    listEventsInRanges: async (
      db: Db,
      ranges: readonly EventRange[],
      types: readonly string[],
    ): Promise<RangedEvent[]> => {
      const [rowIds, firsts, lasts] = [
        ranges.map(({ rowId }) => rowId),
        ranges.map(({ first }) => first),
        ranges.map(({ last }) => last),
      ]
      const query = CompiledQuery.raw(listRanges, [rowIds, firsts, lasts, types])
      return (await db.executeQuery<RangedEvent>(query)).rows
    },

    /** The same as `listReach`, within a transaction. */
    listReachIn: async (db: Db, rowIds: readonly number[]): Promise<Map<number, Reach>> => {
      const query = CompiledQuery.raw(listReachStatement.text, [rowIds])
      const { rows } = await db.executeQuery<Reach & { id: number }>(query)
      return new Map(rows.map((row) => [row.id, row]))
    },

    /** Those that are gone are left out. */
    listReach: async (database: Database, rowIds: readonly number[]): Promise<Map<number, Reach>> => {
      const rows = await database.hot<Reach & { id: number }>(listReachStatement, [rowIds])
      return new Map(rows.map((row) => [row.id, row]))
    },
  }
}
