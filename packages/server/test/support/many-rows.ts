import type { ClientBase } from 'pg'

/** How a value is made another one of its kind, by the number `n`. */
const another: Readonly<Record<string, (column: string) => string>> = {
  text: (column) => `${column} || '-' || n`,
  uuid: (column) => `md5(${column}::text || n)::uuid`,
  bytea: (column) => `sha256(${column} || n::text::bytea)`,
  int4: (column) => `${column} + n * 1000000`,
  int8: (column) => `${column} + n * 1000000`,
  timestamptz: (column) => `${column} - n * interval '1 second'`,
}

/** Of whom a row is stays as it is: it is they who get many. */
const owners = ['workspace_id', 'user_id']

interface Column {
  readonly name: string
  readonly type: string
  readonly isGenerated: boolean
}

/**
 * Gives whoever has a row of a table so many more of them, twice: one time each differs as far down in a unique index as
 * can be, so that what has parts gets many of them, and one time as far up, so that there are many that have parts.
 * Returns the tables of which there can be one only.
 */
export async function multiplyRows(client: ClientBase, times: number): Promise<string[]> {
  await client.query('set session_replication_role = replica')
  await dropChecks(client)
  const single: string[] = []
  for (const table of await tablesOf(client)) {
    await client.query(`create temporary table first as select * from ${table}`)
    const before = await countOf(client, 'first')
    for (const [turn, place] of [-1, 0].entries()) {
      const values = await valuesOf(client, table, place)
      await client.query(
        `insert into ${table} (${values.map(([column]) => column)}) overriding system value
           select ${values.map(([, value]) => value)}
           from first, generate_series(${turn * times + 1}, ${(turn + 1) * times}) n
           on conflict do nothing`,
      )
    }
    if (before > 0 && (await countOf(client, table)) === before) single.push(table)
    await client.query('drop table first')
  }
  await client.query('analyze')
  return single
}

async function tablesOf(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and not relispartition and relname <> 'migrations' order by 1`,
  )
  return rows.map(({ name }) => name)
}

/** Another name or checksum need not be a good one. */
async function dropChecks(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string; table: string }>(
    `select quote_ident(conname) as name, conrelid::regclass::text as table from pg_constraint
       where contype = 'c' and conrelid <> 0 and connamespace = 'public'::regnamespace`,
  )
  for (const { name, table } of rows) await client.query(`alter table ${table} drop constraint ${name}`)
}

async function countOf(client: ClientBase, table: string): Promise<number> {
  const { rows } = await client.query(`select count(*)::int as count from ${table}`)
  return rows[0].count
}

/** The columns with what is put into them: of each unique index another value at this place. */
async function valuesOf(client: ClientBase, table: string, place: number): Promise<[string, string][]> {
  const { rows: columns } = await client.query<Column>(
    `select quote_ident(attname) as name, typname as type, attgenerated <> '' as "isGenerated"
       from pg_attribute join pg_type on pg_type.oid = atttypid
       where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
    [table],
  )
  const { rows: unique } = await client.query<{ names: string[] }>(
    `select array(select quote_ident(attname) from unnest(indkey) with ordinality as k (num, place)
         join pg_attribute on attrelid = indrelid and attnum = num
         -- What tells in which partition a row is.
         where num not in (select unnest(partattrs) from pg_partitioned_table where partrelid = indrelid)
         order by place) as names
       from pg_index where indrelid = $1::regclass and indisunique and indpred is null`,
    [table],
  )
  const changed = new Set(
    unique.map(({ names }) => names.filter((name) => !owners.includes(name)).at(place) ?? names.at(-1)),
  )
  return columns
    .filter(({ isGenerated }) => !isGenerated)
    .map(({ name, type }) => [name, changed.has(name) ? (another[type]?.(name) ?? name) : name])
}
