import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { now, secondsFromNow } from '#platform/clock.ts'
import { until } from '../../../../test/support/processes.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'

/**
 * When something happened is not when its transaction began, which may have waited for another since: what is written is
 * the moment of the writing (`guild_moment`, `thisMoment`), else two that waited for each other are told the wrong way
 * round. `guild_now` compares, and brings a deadline about.
 */
const sources = join(import.meta.dirname, '../../src')
const deadlines = new Set(['expires_at'])

let databaseUrl: string
let house: House
let database: pg.Client

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
})
afterAll(async () => {
  await database?.end()
  await house?.close()
})

test('no column is filled in with the time at which a transaction began', async () => {
  const { rows } = await database.query(
    `select attrelid::regclass::text || '.' || attname as name, pg_get_expr(d.adbin, d.adrelid) as filled
     from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
     where a.atttypid = 'timestamptz'::regtype and attrelid <> 'migrations'::regclass`,
  )
  const filled = new Set(rows.map((row) => row.filled))
  expect(rows.length).toBeGreaterThan(40)
  expect([...filled].filter((expression) => /now\(\)|current_timestamp/i.test(expression))).toEqual([])
  expect(filled).toContain('guild_statement()')
})

test('no function of the database writes it', async () => {
  const { rows } = await database.query(
    "select proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace",
  )
  expect(rows.filter(({ prosrc }) => writesOf(prosrc).length > 0).map(({ proname }) => proname)).toEqual([])
})

test('no statement writes it', async () => {
  const found: string[] = []
  for await (const name of glob('**/*.ts', { cwd: sources, exclude: (path) => path.endsWith('.test.ts') })) {
    const text = await readFile(join(sources, name), 'utf8')
    if (/platform\/clock|guild_/.test(text)) found.push(...writesOf(text).map((write) => `${name}: ${write}`))
  }
  expect(found).toEqual([])
})

/** `name: now`, `name = guild_now()` and the same within a case or a coalesce, unless it is a deadline. */
function writesOf(text: string): string[] {
  const begun = String.raw`(?:\bnow\b(?!\()|guild_now\(\)(?! [-+]))`
  const name = String.raw`\b(\w+_(?:at|since))`
  const writes = [
    ...text.matchAll(new RegExp(`${name}: (?:sql[^\`]*\`)?(?:coalesce\\(\\w+, )?${begun}`, 'g')),
    ...text.matchAll(new RegExp(`${name} = (?:case when [^\n]*?)?(?:coalesce\\(\\w+, )?${begun}`, 'g')),
    ...text.matchAll(new RegExp(`'(\\w+_(?:at|since))', ${begun}\\)`, 'g')),
    ...text.matchAll(/case when place\.free then (?:null else )?guild_now\(\)/g),
  ]
  return writes.filter(([, column = '']) => !deadlines.has(column)).map(([write]) => write)
}

test('the search for such statements finds them', () => {
  for (const write of [
    '.set({ ended_at: now })',
    '.set({ ended_at: now as never })',
    'set({ sent_at: sql<string>`coalesce(sent_at, guild_now())` })',
    'update runs set updated_at = guild_now(), version = 2',
    'left_at = case when $1 then guild_now() end',
    "e.fn.coalesce('taken_at', now)",
    'case when place.free then null else guild_now() end',
  ])
    expect(writesOf(write), write).not.toEqual([])
  for (const other of [
    ".where('ended_at', '>', now)",
    'expires_at = guild_now()',
    'where ended_at <= guild_now()',
    '.set({ ended_at: thisMoment })',
    "sql`floor(extract(epoch from guild_now() - started_at))`.as('offer')",
  ])
    expect(writesOf(other), other).toEqual([])
})

test('what waited for another is told as having come after it', async () => {
  const person = await house.newPerson()
  const key = await house.newKey(person)
  await database.query('begin')
  await database.query('select from api_keys where id = $1 for update', [key.id])
  const answer = house.call('DELETE', `/api/v1/keys/${key.id}`, { token: person.token })
  await until(async () => {
    const { rows } = await database.query(
      'select from pg_locks where not granted and pg_blocking_pids(pid) <> $1',
      ['{}'],
    )
    return rows.length > 0
  }, 10_000)
  const { rows } = await database.query('select clock_timestamp()::timestamptz(3) as at')
  await database.query('commit')
  expect((await answer).status).toBe(200)
  const told = await database.query(
    `select revoked_at >= $2 as ended, (select a.at >= $2 from activity a where type = 'key.revoked') as noted
     from api_keys where id = $1`,
    [key.id, rows[0].at],
  )
  expect(told.rows).toEqual([{ ended: true, noted: true }])
})

test('what has a lifetime lasts exactly that long, however long its transaction waited before', async () => {
  const [{ exactly, waited }] = await house.deps.database.transaction(async (tx) => {
    await sql`select pg_sleep(0.05)`.execute(tx)
    const { rows } = await sql<{ exactly: boolean; waited: boolean }>`
      insert into blobs (checksum, size_bytes) values (${'0'.repeat(64)}, 0)
      returning (${secondsFromNow(600)})::timestamptz(3) = touched_at + interval '600 seconds' as exactly,
        touched_at >= (${now} + interval '49 milliseconds')::timestamptz(3) as waited`.execute(tx)
    return rows as [(typeof rows)[number]]
  })
  expect({ exactly, waited }).toEqual({ exactly: true, waited: true })
})

test('the moment follows the clock that the tests move', async () => {
  await shiftClock(databaseUrl, 3600)
  const { rows } = await database.query(
    `select extract(epoch from guild_moment() - clock_timestamp())::float8 as moment,
       extract(epoch from guild_statement() - statement_timestamp())::float8 as statement`,
  )
  await shiftClock(databaseUrl, 0)
  expect(rows[0].moment).toBeCloseTo(3600, 0)
  expect(rows[0].statement).toBe(3600)
})
