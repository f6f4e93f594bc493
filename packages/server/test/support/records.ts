import type pg from 'pg'

export interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
}

/** Every column of every table of a migrated database; the parts of a partitioned table are that table. */
export async function listColumns(client: pg.Client): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select c.table_name as "table", c.column_name as name, c.data_type as type
     from information_schema.columns c
     join pg_class on pg_class.relname = c.table_name and pg_class.relnamespace = 'public'::regnamespace
     where c.table_schema = 'public' and pg_class.relkind in ('r', 'p') and not pg_class.relispartition
       and c.table_name <> 'migrations'
     order by c.table_name, c.ordinal_position`,
  )
  return rows
}

export interface Row {
  readonly table: string
  readonly text: string
}

/** What is there that was not at the last look, and what is no longer; a row that was written again is in both. */
export interface Changes {
  readonly added: readonly Row[]
  readonly removed: readonly Row[]
}

/** The rows of a table by their version, and all versions in one number. */
interface Seen {
  readonly rows: Map<string, { readonly row: Row; readonly hash: bigint }>
  sum: bigint
}

interface Found {
  readonly table: string
  /** How many rows stood there already, and their versions in one number. */
  readonly count: string
  readonly sum: string
  readonly written: readonly [version: string, hash: string, text: string][] | null
}

/**
 * Looks at every row of every table as text; without the columns that are left out. The first look finds all of them
 * added. A later one costs what was written since: of rows that stood there already the database makes one number for
 * each table, and says which they are only where that is another than it was.
 */
export function watchRows(
  client: pg.Client,
  columns: readonly Column[],
  isLeftOut: (column: Column) => boolean = () => false,
): () => Promise<Changes> {
  const tables = [...new Set(columns.map(({ table }) => table))]
  // A row has another place or another writer as soon as it is written again.
  const version = `tableoid || ' ' || ctid || ' ' || xmin`
  const hash = `hashtidextended(ctid, xmin::text::bigint + (tableoid::bigint << 32))`
  const isWritten = `xmin::text::bigint >= $1`
  const selects = tables.map((table) => {
    const left = columns.filter((column) => column.table === table && isLeftOut(column))
    const names = left.map(({ name }) => `'${name}'`).join(', ')
    const text = `(to_jsonb(t) - array[${names}]::text[])::text`
    return `select '${table}' as "table", count(*) filter (where not ${isWritten}) as count,
              coalesce(sum(${hash}) filter (where not ${isWritten}), 0) as sum,
              json_agg(json_build_array(${version}, (${hash})::text, ${text})) filter (where ${isWritten}) as written
            from ${table} t`
  })
  // Planning it, or starting workers for it, costs many times what running it does.
  const thrift = 'set plan_cache_mode = force_generic_plan; set max_parallel_workers_per_gather = 0'
  const statement = { name: `changes-${++watches}`, text: selects.join(' union all ') }
  const seen = new Map<string, Seen>(tables.map((table) => [table, { rows: new Map(), sum: 0n }]))
  let writtenSince = '0'
  return async () => {
    if (writtenSince === '0') await client.query(thrift)
    // Taken before the look: what is under way now is written since, and looked at again the next time.
    const { rows: moments } = await client.query<{ first: string }>(
      'select pg_snapshot_xmin(pg_current_snapshot())::text as first',
    )
    // One snapshot for all tables and for which of their rows are left.
    await client.query('begin isolation level repeatable read read only')
    const { rows: found } = await client.query<Found>({ ...statement, values: [writtenSince] })
    const added: Row[] = []
    const removed: Row[] = []
    for (const { table, count, sum, written } of found) {
      const known = seen.get(table) as Seen
      const fresh = (written ?? []).filter(([name]) => !known.rows.has(name))
      const again = (written ?? []).filter(([name]) => known.rows.has(name))
      const sumAgain = again.reduce((all, [, hash]) => all + BigInt(hash), 0n)
      if (known.rows.size !== Number(count) + again.length || known.sum !== BigInt(sum) + sumAgain) {
        const { rows } = await client.query<{ name: string }>(`select ${version} as name from ${table}`)
        const left = new Set(rows.map(({ name }) => name))
        for (const [name, { row, hash }] of known.rows) {
          if (left.has(name)) continue
          removed.push(row)
          known.rows.delete(name)
          known.sum -= hash
        }
        if (left.size !== known.rows.size + fresh.length) {
          throw new Error(`a row of ${table} that was not seen is taken for an old one`)
        }
      }
      for (const [name, hash, text] of fresh) {
        const row = { table, text }
        known.rows.set(name, { row, hash: BigInt(hash) })
        known.sum += BigInt(hash)
        added.push(row)
      }
    }
    await client.query('commit')
    writtenSince = moments[0]?.first ?? '0'
    return { added, removed }
  }
}

let watches = 0
