import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Person } from '../../../test/support/caller.ts'
import { installErrand, runErrand } from '../../../test/support/executions.ts'
import { until } from '../../../test/support/processes.ts'
import { insertEventsFenced } from '../src/executions/event-store.ts'
import { batchesPerAttempt, claimWork, updateLease } from '../src/executions/store.ts'
import { executionTending } from '../src/executions/tend.ts'
import { createDatabase, type House, openHouse } from './support/house.ts'
import { type Ingress, openIngress } from './support/ingress.ts'
import { tendOnce } from './support/tending.ts'

let ingress: Ingress
let house: House
let person: Person
let id: number

beforeAll(async () => {
  ingress = await openIngress()
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
  })
  await until(() => house.deps.database.steadyMs > 5000, 10_000)
})

afterAll(async () => {
  await house?.close()
  await ingress?.close()
})

beforeEach(async () => {
  person = await house.newPerson()
  await installErrand(house, person)
  const answer = await runErrand(house, person, 'Go.')
  expect(answer.status, answer.text).toBe(200)
  const rows = await db().select('id').where('execution_id', '=', answer.body.executionId).execute()
  id = rows[0]?.id ?? 0
})

const db = () => house.deps.database.db.selectFrom('executions')
const row = () => db().selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const change = (to: Record<string, unknown>) =>
  house.deps.database.db.updateTable('executions').set(to).where('id', '=', id).execute()
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString()
const tend = () => tendOnce(executionTending({ ...house.deps, bus: house.bus }))
const offersOf = () =>
  ingress.asked
    .map(({ body }) => (body.startsWith('{') ? JSON.parse(body) : {}))
    .filter(({ executionRowId }) => executionRowId === id)
    .map(({ attempt, offer }) => `${attempt}:${offer}`)

/** A worker takes it, and falls silent for longer than its lease. */
async function takenAndLapsed(worker: string): Promise<number> {
  const taken = await claimWork(house.deps.database.db, id, worker)
  await change({ lease_until: ago(1) })
  return taken?.attempt ?? 0
}

test('what nobody took is offered again under another key every few seconds', async () => {
  await change({ started_at: ago(3) })
  await tend()
  await change({ started_at: ago(12) })
  await tend()
  await tend()
  expect(offersOf()).toEqual(['1:0', '1:0', '1:2', '1:2'])
})

test('a worker that fell silent before it did anything is given up, and another may try', async () => {
  const first = await takenAndLapsed('first')
  await tend()
  expect(await row()).toMatchObject({ status: 'working', worker_id: null, attempt: first + 1 })
  await until(() => offersOf().includes(`${first + 1}:0`), 2000)
  // The first one wakes: nothing of it is its own any more.
  expect(await updateLease(house.deps.database.db, id, first)).toBeUndefined()
  const columns = { types: ['agent.info'], payloads: ['{}'] }
  const fence = { executionRowId: id, attempt: first, batch: first * batchesPerAttempt + 1 }
  expect(await insertEventsFenced(house.deps.database, fence, columns)).toBeUndefined()
  expect((await claimWork(house.deps.database.db, id, 'second'))?.attempt).toBe(first + 1)
})

test('but not for ever', async () => {
  for (const worker of ['first', 'second', 'third']) {
    await takenAndLapsed(worker)
    await tend()
  }
  expect(await row()).toMatchObject({ status: 'failed', error_code: 'SANDBOX_LOST' })
})

test('one that told something ends with the lease of its worker', async () => {
  const attempt = await takenAndLapsed('first')
  const fence = { executionRowId: id, attempt, batch: attempt * batchesPerAttempt + 1 }
  await insertEventsFenced(house.deps.database, fence, { types: ['agent.info'], payloads: ['{}'] })
  await tend()
  expect(await row()).toMatchObject({ status: 'failed', error_code: 'SANDBOX_LOST' })
})

test('nobody calls a lease lapsed before it had the database for a while', async () => {
  const young = await openHouse({ DATABASE_URL: house.deps.config.databaseUrl })
  await takenAndLapsed('first')
  await change({ cost_milli_ds: 1 })
  await tendOnce(executionTending({ ...young.deps, bus: young.bus }))
  expect(await row()).toMatchObject({ status: 'working', worker_id: 'first' })
  await until(() => young.deps.database.steadyMs > 5000, 10_000)
  await tendOnce(executionTending({ ...young.deps, bus: young.bus }))
  expect(await row()).toMatchObject({ status: 'failed', error_code: 'SANDBOX_LOST' })
  await young.close()
})
