import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { insertEventsFenced } from '#running/executions/event-log.ts'
import { executionReconcilers } from '#running/executions/reconcile.ts'
import { batchesPerAttempt, claimWork, updateLease } from '#running/executions/store.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { installErrand, runErrand } from '../../../../test/support/executions.ts'
import { until } from '../../../../test/support/processes.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'
import { reconcileOnce } from '../support/reconcile.ts'

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
const reconcile = () => reconcileOnce(executionReconcilers({ ...house.deps, bus: house.bus }))
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
  await reconcile()
  await change({ started_at: ago(12) })
  await reconcile()
  await reconcile()
  expect(offersOf()).toEqual(['1:0', '1:0', '1:2', '1:2'])
})

test('a worker that fell silent before it did anything is given up, and another may try', async () => {
  const first = await takenAndLapsed('first')
  await reconcile()
  expect(await row()).toMatchObject({ status: 'working', worker_id: null, attempt: first + 1 })
  await until(() => offersOf().includes(`${first + 1}:0`), 2000)
  // The first one wakes: nothing of it is its own any more.
  expect(await updateLease(house.deps.database.db, id, first)).toBeUndefined()
  const columns = { types: ['agent.info'], payloads: ['{}'] }
  const fence = { rowId: id, attempt: first, batch: first * batchesPerAttempt + 1 }
  expect(await insertEventsFenced(house.deps.database, fence, columns)).toBeUndefined()
  expect((await claimWork(house.deps.database.db, id, 'second'))?.attempt).toBe(first + 1)
})

test('but not for ever', async () => {
  for (const worker of ['first', 'second', 'third']) {
    await takenAndLapsed(worker)
    await reconcile()
  }
  expect(await row()).toMatchObject({ status: 'failed', error_code: 'SANDBOX_LOST' })
})

test('one that told something ends with the lease of its worker', async () => {
  const attempt = await takenAndLapsed('first')
  const fence = { rowId: id, attempt, batch: attempt * batchesPerAttempt + 1 }
  await insertEventsFenced(house.deps.database, fence, { types: ['agent.info'], payloads: ['{}'] })
  await reconcile()
  expect(await row()).toMatchObject({ status: 'failed', error_code: 'SANDBOX_LOST' })
})

test('nobody calls a lease lapsed before it had the database for a while', async () => {
  const young = await openHouse({ DATABASE_URL: house.deps.config.databaseUrl })
  await takenAndLapsed('first')
  await change({ cost_milli_ds: 1 })
  await reconcileOnce(executionReconcilers({ ...young.deps, bus: young.bus }))
  expect(await row()).toMatchObject({ status: 'working', worker_id: 'first' })
  await until(() => young.deps.database.steadyMs > 5000, 10_000)
  await reconcileOnce(executionReconcilers({ ...young.deps, bus: young.bus }))
  expect(await row()).toMatchObject({ status: 'failed', error_code: 'SANDBOX_LOST' })
  await young.close()
})

test('what waited for its turn has not started before it had it', async () => {
  const waiting = await house.newPerson()
  await installErrand(house, waiting)
  const { db: all } = house.deps.database
  const { answer, free } = await all.transaction().execute(async (tx) => {
    await tx
      .selectFrom('credit_accounts')
      .select('user_id')
      .where('user_id', '=', waiting.userId)
      .forUpdate()
      .execute()
    const answer = runErrand(house, waiting, 'Go.')
    await delay(600)
    return { answer, free: Date.now() }
  })
  const { executionId } = (await answer).body
  const { started_at } = await db()
    .select('started_at')
    .where('execution_id', '=', executionId)
    .executeTakeFirstOrThrow()
  expect(Date.parse(started_at ?? '')).toBeGreaterThanOrEqual(free)
})
