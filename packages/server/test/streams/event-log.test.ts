import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { appendEvents, appendEventsLocked, EventWriter, listEvents } from '#running/executions/event-log.ts'
import { deleteOldEventPartitions, insertEventPartitions } from '#running/executions/event-store.ts'
import { until } from '../../../../test/support/processes.ts'
import { tell } from '../../../../test/support/proof.ts'
import { type Executions, message, openExecutions, upTo } from '../support/event-streams.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'

let databaseUrl: string
let house: House
let executions: Executions

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  executions = await openExecutions(databaseUrl)
})

afterAll(async () => {
  await executions.close()
  await house.close()
})

test('twenty that append at once, in batches of every size, leave no gap and mix no batch', async () => {
  const { database } = house.deps
  const { id } = await executions.insert()
  const appenders = Array.from({ length: 20 }, async (_, appender) => {
    for (let batch = 0; batch < 10; batch++) {
      const size = 1 + ((appender + batch) % 7)
      const events = Array.from({ length: size }, (_, index) => message(`${appender}.${batch}.${index}`))
      const held = appender % 4 === 0
      const stored = held
        ? await database.transaction((tx) => appendEventsLocked(tx, id, events))
        : await appendEvents(database, id, 1, events)
      expect(stored?.map(({ sequence }) => sequence - (stored[0]?.sequence ?? 0))).toEqual(
        upTo(size).map((n) => n - 1),
      )
    }
  })
  await Promise.all(appenders)
  const all = await executions.sequences(id)
  expect(all).toEqual(upTo(all.length))
  expect(all.length).toBeGreaterThan(700)
})

test('what is given is what lies in the log and what comes back, with an id that stays', async () => {
  const { database } = house.deps
  const { id } = await executions.insert()
  const odd = 'a\nb\r\nid: 7\u2028\u0000\ud800 "quoted" 漢字 🙂'
  const stored = await appendEvents(database, id, 1, [message(odd), { type: 'agent.thinking', payload: {} }])
  expect(stored).toMatchObject([
    { type: 'agent.message', sequence: 1, payload: { content: [{ type: 'text', text: odd }] } },
    { type: 'agent.thinking', sequence: 2, payload: {} },
  ])
  expect(new Set(stored?.map((event) => event.id)).size).toBe(2)
  const [first] = await listEvents(database, id, 0)
  expect(JSON.parse(first?.payload ?? '')).toEqual({ content: [{ type: 'text', text: odd }] })
  expect(await appendEvents(database, id, 1, [])).toEqual([])
  expect(await listEvents(database, id, 2)).toEqual([])
})

test('the log is read in pages', async () => {
  const { database } = house.deps
  const { id } = await executions.insert()
  const large = message('x'.repeat(100_000))
  await appendEvents(database, id, 1, [large, large, large, ...Array(600).fill(message('small'))])
  const sizes = []
  for (let after = 0; after < 603; after += sizes.at(-1) ?? 0) {
    sizes.push((await listEvents(database, id, after)).length)
    if (sizes.at(-1) === 0) break
  }
  expect(sizes).toEqual([200, 200, 200, 3])
})

test('an attempt that is not the current one, or of an execution that ended, writes nothing', async () => {
  const { database, redis, logger } = house.deps
  const { id } = await executions.insert()
  expect(await appendEvents(database, id, 1, [message('mine')])).toHaveLength(1)
  const writer = new EventWriter({ database, redis, logger }, { id, attempt: 1 })
  writer.write(message('mine too'))
  await writer.flush()
  expect(writer.lost.aborted).toBe(false)
  await executions.client.query('update executions set attempt = 2 where id = $1', [id])
  expect(await appendEvents(database, id, 1, [message('late')])).toBeUndefined()
  writer.write(message('late'))
  await writer.flush()
  expect(writer.lost.aborted).toBe(true)
  writer.write(message('later'))
  await writer.flush()
  expect(await appendEvents(database, id, 3, [message('early')])).toBeUndefined()
  expect(await appendEvents(database, id, 2, [message('next')])).toHaveLength(1)
  await executions.client.query(`update executions set status = 'completed' where id = $1`, [id])
  expect(await appendEvents(database, id, 2, [message('after the end')])).toBeUndefined()
  expect(await executions.sequences(id)).toEqual([1, 2, 3])
})

test('a writer collects for a moment, keeps the order, and publishes what it has stored', async () => {
  const { database, redis, logger } = house.deps
  const { id } = await executions.insert()
  const heard: string[] = []
  const leave = redis.subscribe(`execution:${id}`, (text) => heard.push(text))
  await redis.subscribed()
  const writer = new EventWriter({ database, redis, logger }, { id, attempt: 1 })
  const written = () => executions.sequences(id)
  for (let count = 0; count < 50; count++) writer.write(message(String(count)))
  const started = performance.now()
  await until(async () => (await written()).length > 0, 1000)
  tell(`first batch visible after ${(performance.now() - started).toFixed(0)} ms`)
  expect(await written()).toEqual(upTo(50))
  writer.delta('Hel')
  writer.delta('lo')
  writer.write(message('Hello'))
  writer.delta('W')
  await writer.flush()
  expect(await written()).toEqual(upTo(51))
  await until(() => heard.length === 4, 1000)
  expect(heard.map((text) => text.split('\n')[0])).toEqual([
    'events 1 50',
    'deltas 50',
    'events 51 51',
    'deltas 51',
  ])
  expect(heard[1]).toContain('data: {"type":"agent.message_delta","payload":{"text":"Hello"}}\n\n')
  const texts = (await listEvents(database, id, 0)).map(({ payload }) => JSON.parse(payload).content[0].text)
  expect(texts).toEqual([...upTo(50).map((n) => String(n - 1)), 'Hello'])
  leave()
})

test('connections that are cut at any moment lose no event and double none', async () => {
  const { database, redis, logger } = house.deps
  const holder = new pg.Client({ connectionString: databaseUrl })
  await holder.connect()
  const { id } = await executions.insert()
  const writer = new EventWriter({ database, redis, logger }, { id, attempt: 1 })
  let written = 0
  const write = (count: number) => {
    for (let index = 0; index < count; index++) writer.write(message(String(++written)))
  }
  const cut = async (state: string) => {
    const { rowCount } = await executions.client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and query like '%written as%' and ${state}`,
    )
    return rowCount ?? 0
  }
  for (let round = 0; round < 4; round++) {
    // While the statement waits for the row.
    await holder.query('begin')
    await holder.query('select 1 from executions where id = $1 for update', [id])
    write(10)
    await until(async () => (await cut(`wait_event_type = 'Lock'`)) === 1, 3000)
    await holder.query('commit')
    await writer.flush()
    // Whatever it is doing.
    let cuts = 0
    await until(async () => {
      write(3)
      cuts += await cut('true')
      return cuts >= 5
    }, 10_000)
    await writer.flush()
  }
  await holder.end()
  expect(writer.lost.aborted).toBe(false)
  // Not through the pool, whose connections were just cut.
  const { rows } = await executions.client.query(
    'select payload from execution_events where execution_id = $1 order by sequence',
    [id],
  )
  const texts = rows.map(({ payload }) => JSON.parse(payload).content[0].text)
  expect(texts).toEqual(upTo(written).map(String))
})

test('a batch that was stored although its answer was lost is not stored again', async () => {
  const { database, redis, logger } = house.deps
  const { id } = await executions.insert()
  const writer = new EventWriter({ database, redis, logger }, { id, attempt: 1 })
  const heard: string[] = []
  const leave = redis.subscribe(`execution:${id}`, (text) => heard.push(text))
  await redis.subscribed()
  // What the first try left behind, as if its connection had been cut after the commit.
  await executions.client.query(
    `with bumped as (update executions set last_sequence = 1, last_batch = 4294967297 where id = $1)
     insert into execution_events (execution_id, sequence, type, payload) values ($1, 1, 'agent.thinking', '{}')`,
    [id],
  )
  writer.write({ type: 'agent.thinking', payload: {} })
  await writer.flush()
  expect(writer.lost.aborted).toBe(false)
  writer.write(message('next'))
  await writer.flush()
  expect(await executions.sequences(id)).toEqual([1, 2])
  await until(() => heard.length === 2, 1000)
  expect(heard.map((text) => text.split('\n')[0])).toEqual(['events 1 1', 'events 2 2'])
  leave()
})

test('old partitions are dropped while the live ones are written, and new ones are made ahead', async () => {
  const { database } = house.deps
  const partitions = async () => {
    const { rows } = await executions.client.query(
      `select relname from pg_class where relname ~ '^execution_events_[0-9]+$' and relkind = 'r' order by relname`,
    )
    return rows.map(({ relname }) => relname)
  }
  const old = await executions.insert({ id: 150_000 })
  const oldToo = await executions.insert({ id: 250_000 })
  const live = await executions.insert({ id: 450_000 })
  for (const { id } of [old, oldToo, live]) await appendEvents(database, id, 1, [message('kept')])
  expect(await insertEventPartitions(database.db)).toBe(2)
  expect(await insertEventPartitions(database.db)).toBe(0)
  const all = [0, 1, 2, 3, 4].map((range) => `execution_events_${range}`)
  expect(await partitions()).toEqual(all)
  const week = 7 * 86_400
  await executions.client.query(
    `update executions set status = 'completed', completed_at = guild_now() where id < 300000`,
  )
  expect(await deleteOldEventPartitions(database.db, week)).toBe(0)
  await shiftClock(databaseUrl, week + 1)
  // One that has not ended keeps its whole range.
  await executions.client.query(
    `update executions set status = 'working', completed_at = null where id = $1`,
    [oldToo.id],
  )
  // Left half-way by a process that died in between.
  await executions.client.query(
    `alter table execution_events detach partition execution_events_0 concurrently`,
  )

  let appended = 0
  let done = false
  const appending = (async () => {
    while (!done) appended += (await appendEvents(database, live.id, 1, [message('live')]))?.length ?? 0
  })()
  expect(await deleteOldEventPartitions(database.db, week)).toBe(1)
  expect(await partitions()).toEqual(all.slice(1))
  await executions.client.query(
    `update executions set status = 'completed', completed_at = guild_now() - interval '8 days' where id = $1`,
    [oldToo.id],
  )
  const started = performance.now()
  expect(await deleteOldEventPartitions(database.db, week)).toBe(1)
  tell(
    `a partition dropped in ${(performance.now() - started).toFixed(0)} ms, ${appended} appended beside it`,
  )
  await until(() => appended > 50, 5000)
  done = true
  await appending
  expect(await partitions()).toEqual(all.slice(2))
  expect(await executions.sequences(old.id)).toEqual([])
  expect(await executions.sequences(live.id)).toEqual(upTo(appended + 1))
  expect(await deleteOldEventPartitions(database.db, week)).toBe(0)
})
