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

/**
 * Looks at every row of every table as text, by table, sorted; without the columns that are left out. A look costs what
 * was written since the last one: of rows that stood there already the database only says which.
 */
export function watchRows(
  client: pg.Client,
  columns: readonly Column[],
  isLeftOut: (column: Column) => boolean = () => false,
): () => Promise<Record<string, string[]>> {
  const tables = [...new Set(columns.map(({ table }) => table))]
  // A row has another place or another writer as soon as it is written again.
  const selects = tables.map((table) => {
    const left = columns.filter((column) => column.table === table && isLeftOut(column))
    const names = left.map(({ name }) => `'${name}'`).join(', ')
    return `select '${table}' as "table", tableoid || ' ' || ctid || ' ' || xmin as version,
              case when xmin::text::bigint >= $1 then (to_jsonb(t) - array[${names}]::text[])::text end as row
            from ${table} t`
  })
  let seen = new Map<string, string>()
  let writtenSince = '0'
  return async () => {
    // Taken before the look: what is under way now is written since, and looked at again the next time.
    const { rows: moments } = await client.query<{ first: string }>(
      'select pg_snapshot_xmin(pg_current_snapshot())::text as first',
    )
    const { rows } = await client.query<{ table: string; version: string; row: string | null }>(
      selects.join(' union all '),
      [writtenSince],
    )
    const found = new Map<string, string>()
    const dump: Record<string, string[]> = Object.fromEntries(tables.map((table) => [table, []]))
    for (const { table, version, row } of rows) {
      const text = row ?? seen.get(version)
      if (text === undefined) throw new Error(`a row of ${table} that was not seen is taken for an old one`)
      found.set(version, text)
      dump[table]?.push(text)
    }
    for (const list of Object.values(dump)) list.sort()
    seen = found
    writtenSince = moments[0]?.first ?? '0'
    return dump
  }
}
