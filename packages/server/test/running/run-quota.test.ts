import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { RunWriter } from '#running/runs/run-writer.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

const limit = 10_000
const echo = definitionOf('echo', [
  { type: 'mapping', id: 'all', mapConfig: '{"all":{"initData":true,"path":""}}' },
])
let databaseUrl: string
let houses: House[]
let house: House
let person: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  // No run may advance, so that every launch waits and needs no engine.
  const env = {
    DATABASE_URL: databaseUrl,
    DEV_TOOLS: '1',
    RUNS_PER_WORKSPACE: '0',
    QUOTA_RUN_BYTES: String(limit),
  }
  houses = [await openHouse(env), await openHouse(env)]
  house = houses[0] as House
})

beforeEach(async () => {
  person = await house.newPerson()
  await runsOf(house, person).install('echo', echo)
})

afterAll(async () => {
  for (const each of houses ?? []) await each.close()
})

const query = (text: string, values: unknown[] = [person.workspaceId]) =>
  withDatabase(databaseUrl, async (database) => (await database.query(text, values)).rows)

/** Nothing that could be stored in less. */
const input = (bytes: number) => ({ text: randomBytes(bytes / 2).toString('hex') })

const launch = (by: House, bytes: number) =>
  by.call('POST', '/api/v1/workflows/echo/launch', {
    token: person.token,
    body: { inputs: input(bytes) },
  })

const counted = async () => {
  const [row] = await query(
    `select (select coalesce(sum(bytes), 0)::int from run_usage where workspace_id = $1) as sum,
       (select coalesce(sum(stored_bytes), 0)::int from workflow_runs where workspace_id = $1) as kept`,
  )
  return row
}

const refused = { status: 400, body: { error: { code: 'INVALID_INPUT', details: { limit } } } }

test('of launches at once, in two processes, as many are taken as there is room for', async () => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => launch(houses[n % 2] as House, 3000)),
  )
  const taken = answers.filter(({ status }) => status === 201)
  expect(taken).toHaveLength(3)
  for (const answer of answers) if (answer.status !== 201) expect(answer).toMatchObject(refused)
  const { sum, kept } = await counted()
  expect(sum).toBe(kept)
  expect(sum).toBeGreaterThan(3 * 3000)
})

/** As the engine would write it. */
async function settle(runId: string, status: 'success' | 'suspended', bytes: number): Promise<void> {
  const { db } = house.deps.database
  const advancing = { queued_at: null, advancing: true }
  await db.updateTable('workflow_runs').set(advancing).where('run_id', '=', runId).execute()
  const record =
    status === 'suspended'
      ? { status, payload: {}, startedAt: 1, suspendedAt: 2, suspendPayload: input(bytes) }
      : { status, payload: {}, startedAt: 1, endedAt: 2, output: input(bytes) }
  const step = { stepId: 'all', position: [0], record, revision: 1 }
  const change = { runId, opened: 0, advancing: false, steps: [step], status }
  await new RunWriter(house.deps.database).write(status === 'suspended' ? { ...change, pause: 1 } : change)
}

test.each(['success', 'suspended'] as const)(
  'what its steps put out counts once a run is %s, and keeps from launching',
  async (status) => {
    const { body } = await launch(house, 100)
    const before = await counted()
    await settle(body.runId, status, limit)
    const { sum, kept } = await counted()
    expect(sum).toBe(kept)
    expect(sum).toBeGreaterThan(before.sum + limit)
    expect(await launch(house, 100)).toMatchObject(refused)
    if (status !== 'success') return
    const again = { token: person.token, body: {} }
    expect(await house.call('POST', `/api/v1/workflows/runs/${body.runId}/rerun`, again)).toMatchObject(
      refused,
    )
  },
)

test('what was canceled counts with its steps as they are then', async () => {
  const { body } = await launch(house, 100)
  await settle(body.runId, 'suspended', 2000)
  const path = `/api/v1/workflows/runs/${body.runId}/cancel`
  expect((await house.call('POST', path, { token: person.token })).status).toBe(200)
  const [row] = await query(
    'select stored_bytes::int as kept, stored_bytes_of_run(id)::int as now from workflow_runs where run_id = $1',
    [body.runId],
  )
  expect(row.kept).toBe(row.now)
})

test('what is deleted makes room, and a workspace that goes leaves nothing', async () => {
  const { body } = await launch(house, 100)
  await settle(body.runId, 'success', limit)
  expect(await launch(house, 100)).toMatchObject(refused)
  await query('delete from workflow_runs where workspace_id = $1')
  expect(await counted()).toEqual({ sum: 0, kept: 0 })
  expect((await launch(house, 100)).status).toBe(201)
  await query('delete from workspaces where id = $1')
  expect(await query('select * from run_usage where workspace_id = $1')).toEqual([])
})

test('of many parts of a sum one is made', async () => {
  await query('insert into run_usage select $1::uuid, 7 from generate_series(1, 100)')
  expect((await launch(house, 100)).status).toBe(201)
  const parts = await query('select bytes::int from run_usage where workspace_id = $1 order by bytes')
  expect(parts).toHaveLength(2)
  expect(parts[0]).toEqual({ bytes: 700 })
})
