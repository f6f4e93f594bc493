import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listQuery } from '#running/traces/list.ts'
import { listTraces } from '#running/traces/store.ts'
import { crowded, everyFilter, everyPlace, insertTraces, pageLimits } from '../../../../bench/trace-rows.ts'
import { findMissed } from '../../../../bench/trace-walk.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** The short form of `npm run prove -- scale-traces`: the plans and the answers, not the time. */
const rows = 50_000
let house: House
let client: pg.Client

beforeAll(async () => {
  const databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await insertTraces(client, 1, rows)
}, 120_000)

afterAll(async () => {
  await client.end()
  await house.close()
})

const places = Object.entries(everyPlace(rows))
const filters = everyFilter(rows)

test('no way to ask reads the table from end to end, nor sorts more than it shows', async () => {
  for (const [, after] of places) {
    for (const filter of filters) {
      for (const limit of pageLimits) {
        const query = listQuery(crowded, filter, { limit, after })
        const { rows: lines } = await client.query(`explain ${query?.text}`, [...(query?.values ?? [])])
        const plan = lines.map((line) => line['QUERY PLAN']).join('\n')
        expect(plan).not.toMatch(/Seq Scan|Bitmap/)
        expect(plan).toMatch(/Index Scan using traces_listed/)
      }
    }
  }
})

test('every way to ask shows what a plain query shows', async () => {
  for (const [, after] of places) {
    for (const filter of filters) {
      const shown = await listTraces(house.deps.database.db, crowded, filter, { limit: 50, after })
      const { rows: plain } = await client.query(
        `select id from traces where workspace_id = $1 and ($2::text is null or kind = $2)
           and ($3::text is null or status = $3) and ($4::text is null or agent_slug = $4)
           and ($5::bigint is null or api_key_id = $5) and ($6::timestamptz is null or last_activity_at >= $6)
           and ($7::timestamptz is null or last_activity_at < $7)
           and ($8::timestamptz is null or (last_activity_at, row_id) < ($8, $9::bigint))
         order by last_activity_at desc, row_id desc limit 50`,
        [
          crowded,
          filter.kind,
          filter.status,
          filter.agent,
          filter.apiKeyId,
          filter.since,
          filter.until,
          after?.lastActivityAt,
          after?.rowId,
        ],
      )
      expect(shown.map(({ id }) => id)).toEqual(plain.map(({ id }) => id))
    }
  }
})

test('a walk and another one from asOf on show all, while fifty a second become active', async () => {
  const walk = await findMissed(house.deps.database, client, {
    workspaceId: crowded,
    status: 'completed',
    kind: 'execution',
  })
  expect(walk).toMatchObject({ missed: 0 })
  expect(walk.rows).toBeGreaterThan(10_000)
  expect(walk.touched).toBeGreaterThan(0)
})
