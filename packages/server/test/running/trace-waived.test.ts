import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Tx } from '#platform/database.ts'
import { endExecution } from '#running/executions/lifecycle.ts'
import { lockExecution } from '#running/executions/store.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { by, newExecution, stageIn } from '../support/writing-stage.ts'

let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
})

afterAll(() => house.close())

async function newWorking(costMilliDs: number) {
  const executionId = await newExecution(stageIn(house, 'waived'), person)
  return house.deps.database.db
    .updateTable('executions')
    .set({ status: 'working', attempt: 1, cost_milli_ds: costMilliDs })
    .where('execution_id', '=', executionId)
    .returning(['id', 'trace_id', 'execution_id'])
    .executeTakeFirstOrThrow()
}

const shown = (traceId: string) => by(stageIn(house, 'waived'), person)('GET', `/traces/${traceId}`)

const inTransaction = <T>(work: (tx: Tx) => Promise<T>) => house.deps.database.transaction(work)

test('what ends free of charge leaves the sum as it was shown', async () => {
  const { id, trace_id: traceId } = await newWorking(7000)
  expect(await shown(traceId)).toMatchObject({ totalCost: 7, ownCost: 7, status: 'idle' })
  await inTransaction(async (tx) => {
    const row = await lockExecution(tx, id)
    if (row)
      await endExecution(tx, row, {
        status: 'failed',
        stopReason: 'error',
        code: 'STORAGE_UNAVAILABLE',
        free: true,
      })
  })
  expect(await shown(traceId)).toMatchObject({ totalCost: 7, ownCost: 0, status: 'failed' })
})

test('the cost of a trace cannot be made to fall', async () => {
  const { id, trace_id: traceId } = await newWorking(0)
  const { db } = house.deps.database
  const set = (cost: number) =>
    db.updateTable('traces').set({ total_cost_milli_ds: cost }).where('id', '=', traceId).execute()
  await set(5000)
  await expect(set(4000)).rejects.toThrow('does not fall')
  expect(await shown(traceId)).toMatchObject({ totalCost: 5, ownCost: 5 })
  await db.updateTable('executions').set({ status: 'completed' }).where('id', '=', id).execute()
})

test('one that never ran says nothing about what ran on its trace', async () => {
  const { id, trace_id: traceId } = await newWorking(0)
  const { db } = house.deps.database
  await db.updateTable('traces').set({ status: 'running' }).where('id', '=', traceId).execute()
  const next = await by(stageIn(house, 'waived'), person)('POST', '/executions', {
    sessionId: traceId,
    input: 'Later.',
  })
  await by(stageIn(house, 'waived'), person)('POST', `/executions/${next.id}/cancel`)
  expect((await shown(traceId)).status).toBe('running')
  await db.updateTable('executions').set({ status: 'completed' }).where('id', '=', id).execute()
})
