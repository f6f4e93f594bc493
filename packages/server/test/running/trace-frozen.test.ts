import { setTimeout as delay } from 'node:timers/promises'
import type { NewExecutionEvent } from '@guildhall/contract'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { appendEvents } from '#running/executions/event-log.ts'
import { insertTurns } from '#running/traces/store.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { newExecution, stageIn } from '../support/writing-stage.ts'

/** Another process stands still while it gives out numbers of a trace: a connection that holds the trace's row plays it. */
let databaseUrl: string
let house: House
let person: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  person = await house.newPerson()
})

afterAll(() => house.close())

const call = (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: person.token, ...(body === undefined ? {} : { body }) })

/** Begun as by a start, with an attempt that may write, in a workspace of its own. */
async function newProducer(): Promise<{ traceId: string; rowId: number }> {
  person = await house.newPerson()
  const executionId = await newExecution(stageIn(house, 'frozen'), person)
  const row = await house.deps.database.db
    .updateTable('executions')
    .set({ status: 'working', attempt: 1 })
    .where('execution_id', '=', executionId)
    .returning(['id', 'trace_id'])
    .executeTakeFirstOrThrow()
  return { traceId: row.trace_id, rowId: row.id }
}

const told: NewExecutionEvent = {
  type: 'agent.message',
  payload: { content: [{ type: 'text', text: 'Done.' }] },
}
const write = (rowId: number) => appendEvents(house.deps.database, rowId, 1, [told])
const turn = { type: 'agent.text', payload: { content: [] } }

const waitingForLocks = `select count(*)::int as n from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`
/** By a connection of its own: within a transaction the server shows the same picture again and again. */
const countWaiting = () =>
  withDatabase(
    databaseUrl,
    async (other) => (await other.query<{ n: number }>(waitingForLocks)).rows[0]?.n ?? 0,
  )

async function whileHeld(traceId: string, work: () => Promise<void>): Promise<void> {
  await withDatabase(databaseUrl, async (holder) => {
    await holder.query('begin')
    await holder.query('select from traces where id = $1 for no key update', [traceId])
    await work()
    await holder.query('rollback')
  })
}

test('a list tells a moment before which nothing comes to light, however long somebody stands still', async () => {
  const { traceId } = await newProducer()
  const touched = async () => (await call('GET', `/traces/${traceId}`)).body.lastActivityAt
  const before = await touched()
  let asOf = ''
  await house.deps.database.transaction(async (tx) => {
    const by = { userId: person.userId, apiKeyId: null, agentSlug: null }
    await insertTurns(tx, traceId, by, [{ seq: 1, type: 'agent.text', payload: '{}' }])
    // Twice, and each time for less than ends a transaction.
    for (let stop = 0; stop < 2; stop++) {
      await delay(8000)
      await sql`select 1`.execute(tx)
    }
    const listed = (await call('GET', '/traces')).body
    asOf = listed.asOf
    expect(listed.items[0].lastActivityAt).toBe(before)
  })
  expect((await touched()) >= asOf).toBe(true)
  const since = (await call('GET', `/traces?since=${asOf}`)).body.items
  expect(since.map(({ id }: { id: string }) => id)).toContain(traceId)
})

test('however many read and append to a trace that stands still, others are answered as ever', async () => {
  const { traceId, rowId } = await newProducer()
  const path = `/traces/${traceId}/events`
  const readers: Promise<{ status: number; body: { items: unknown[] } }>[] = []
  const appends: Promise<{ status: number }>[] = []
  await whileHeld(traceId, async () => {
    await write(rowId)
    for (let n = 0; n < 30; n++) readers.push(call('GET', path))
    for (let n = 0; n < 30; n++) appends.push(call('POST', path, { events: [turn] }))
    await until(async () => (await countWaiting()) > 0, 5000)
    await delay(300)
    // One connection of this process waits, so those of a process that stands still can take the row once and not in turns.
    expect(await countWaiting()).toBe(1)
    // The log of what works does not wait for those who look at it, nor does another trace.
    const started = performance.now()
    await write(rowId)
    expect((await call('GET', '/traces')).status).toBe(200)
    expectWithin(performance.now() - started, 1500)
  })
  const statuses = (await Promise.all(readers)).map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(new Set((await Promise.all(appends)).map(({ status }) => status))).toEqual(new Set([201]))
  const { items, lastSeq } = (await call('GET', `${path}?limit=200`)).body
  expect([items.length, lastSeq]).toEqual([32, 32])
})

test('nor do receipts of a lineage whose last one is being made by somebody who stands still', async () => {
  const { traceId, rowId } = await newProducer()
  const { db } = house.deps.database
  await db.updateTable('executions').set({ status: 'completed' }).where('id', '=', rowId).execute()
  await db.updateTable('traces').set({ status: 'completed' }).where('id', '=', traceId).execute()
  const { traceKey } = (await call('GET', `/traces/${traceId}`)).body
  const asked: Promise<{ status: number }>[] = []
  await withDatabase(databaseUrl, async (holder) => {
    await holder.query('begin')
    await holder.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`receipts:${traceKey}`])
    for (let n = 0; n < 30; n++) asked.push(call('POST', `/traces/${traceId}/receipts`))
    await until(async () => (await countWaiting()) > 0, 5000)
    await delay(300)
    expect(await countWaiting()).toBe(1)
    expect((await call('GET', '/traces')).status).toBe(200)
    await holder.query('rollback')
  })
  expect(new Set((await Promise.all(asked)).map(({ status }) => status)).size).toBe(1)
  expect((await asked[0])?.status).toBeLessThan(300)
})
