import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { createDatabase } from '../support/house.ts'
import { type ColumnShape, readRowTypes } from '../support/row-types.ts'

interface Column {
  table: string
  column: string
  type: string
  nullable: boolean
}

let columns: Column[]
let rows: ReturnType<typeof readRowTypes>

beforeAll(async () => {
  const client = new pg.Client({ connectionString: await createDatabase() })
  await client.connect()
  // Not the partitions of a table, and not what is there to be searched and never read.
  const answer = await client.query<Column>(`
    select c.relname as table, a.attname as column, t.typname as type, not a.attnotnull as nullable
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and t.typname <> 'tsvector'
    order by 1, a.attnum`)
  await client.end()
  columns = answer.rows
  rows = readRowTypes()
}, 60_000)

/** What the driver gives for each type, as `platform/database.ts` sets it up. */
const given: Readonly<Record<string, string>> = {
  text: 'string',
  uuid: 'string',
  cidr: 'string',
  timestamptz: 'string',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  float8: 'number',
  bool: 'boolean',
  bytea: 'Buffer',
  _text: 'string[]',
  _int4: 'number[]',
  _int8: 'number[]',
}

function misfit(
  { table, column, type, nullable }: Column,
  told: ColumnShape | undefined,
): string | undefined {
  const where = `${table}.${column}`
  if (!told) return `${where} is not in tables.ts`
  const isJson = type === 'json' || type === 'jsonb'
  if (!isJson && told.holds !== given[type]) return `${where} is ${type}, in tables.ts ${told.holds}`
  if (told.nullable === nullable || told.holds === 'unknown') return undefined
  return `${where} ${nullable ? 'may be null' : 'is never null'}, in tables.ts it is otherwise`
}

test('the row types are those of a migrated database', () => {
  expect(columns.length).toBeGreaterThan(100)
  const wrong = columns.map((column) => misfit(column, rows.get(column.table)?.get(column.column)))
  expect(wrong.filter((problem) => problem !== undefined)).toEqual([])
  const there = new Set(columns.map(({ table, column }) => `${table}.${column}`))
  const invented = [...rows].flatMap(([table, row]) => [...row.keys()].map((column) => `${table}.${column}`))
  expect(invented.filter((name) => !there.has(name))).toEqual([])
})

test('a type that is wrong, a null that is not told and a column that is missing are found', () => {
  const amount = { table: 'reservations', column: 'amount_milli_ds', type: 'int8', nullable: false }
  expect(misfit(amount, { holds: 'number', nullable: false })).toBeUndefined()
  expect(misfit(amount, { holds: 'string', nullable: false })).toContain('int8')
  expect(misfit({ ...amount, nullable: true }, { holds: 'number', nullable: false })).toContain('may be null')
  expect(misfit(amount, { holds: 'number', nullable: true })).toContain('never null')
  expect(misfit(amount, undefined)).toContain('not in tables.ts')
})
