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

/** Every row of every table as text, by table, sorted; without the columns that are left out. */
export async function dumpRows(
  client: pg.Client,
  columns: readonly Column[],
  isLeftOut: (column: Column) => boolean = () => false,
): Promise<Record<string, string[]>> {
  const tables = [...new Set(columns.map(({ table }) => table))]
  const selects = tables.map((table) => {
    const left = columns.filter((column) => column.table === table && isLeftOut(column))
    const names = left.map(({ name }) => `'${name}'`).join(', ')
    return `select '${table}' as "table", (to_jsonb(t) - array[${names}]::text[])::text as row from ${table} t`
  })
  const { rows } = await client.query<{ table: string; row: string }>(selects.join(' union all '))
  const dump: Record<string, string[]> = Object.fromEntries(tables.map((table) => [table, []]))
  for (const { table, row } of rows) dump[table]?.push(row)
  for (const list of Object.values(dump)) list.sort()
  return dump
}
