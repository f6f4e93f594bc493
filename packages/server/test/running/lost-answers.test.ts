import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { end } from '#running/executions/executions.ts'
import { executionReconcilers } from '#running/executions/reconcile.ts'
import { claimWork } from '#running/executions/store.ts'
import { runReconcilers } from '#running/runs/reconcile.ts'
import { claimLaunched } from '#running/runs/store.ts'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { installErrand, prepareErrand, runErrand } from '../../../../test/support/executions.ts'
import { until } from '../../../../test/support/processes.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { breaksOff, type Ingress, openIngress, takes } from '../support/ingress.ts'
import { reconcileOnce } from '../support/reconcile.ts'
import { runParts } from '../support/runs.ts'

const nap = definitionOf('nap', [{ type: 'sleep', id: 's', duration: 60_000 }])

let databaseUrl: string
let ingress: Ingress
let house: House
let person: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  ingress = await openIngress()
  house = await openHouse({
    DATABASE_URL: databaseUrl,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
  })
})

/** One at a time runs in a workspace, so every test has its own. */
beforeEach(async () => {
  ingress.behave(takes)
  person = await house.newPerson()
  await installErrand(house, person)
})

afterAll(async () => {
  await house?.close()
  await ingress?.close()
})

const parts = () => ({ ...house.deps, bus: house.bus })
const executionsOf = () =>
  house.deps.database.db
    .selectFrom('executions')
    .selectAll()
    .where('workspace_id', '=', person.workspaceId)
    .orderBy('id')
    .execute()
const rowIdOf = (body: string) => (JSON.parse(body) as { executionRowId: number }).executionRowId
const claim = (id: number) => claimWork(house.deps.database.db, id, 'somewhere')
const recordsOf = async (id: string) =>
  (
    await house.deps.database.db
      .selectFrom('idempotency_keys')
      .select('answer')
      .where('resource_id', '=', id)
      .execute()
  ).length

/** Holds a row until `release`, as a process does that stands still in the middle of a transaction. */
async function hold(table: 'executions' | 'workflow_runs', column: string, value: unknown) {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let done: Promise<void> | undefined
  await new Promise<void>((held) => {
    done = withDatabase(databaseUrl, async (client) => {
      await client.query('begin')
      await client.query(`select from ${table} where ${column} = $1 for update`, [value])
      held()
      await released
      await client.query('rollback')
    })
  })
  return async () => {
    release()
    await done
  }
}

describe('a start whose answer from the engine is lost', () => {
  const start = (headers: Record<string, string>) => runErrand(house, person, 'Go.', { headers })
  const rerun = async (headers: Record<string, string>) => {
    const [parent] = await executionsOf()
    return house.call('POST', `/api/v1/executions/${parent?.execution_id}/rerun`, {
      token: person.token,
      headers,
      body: { input: 'Again.' },
    })
  }

  test.each([
    ['a worker has it', (id: number) => claim(id)],
    [
      'a worker has finished it',
      async (id: number) => {
        const row = await claim(id)
        await end(
          parts(),
          id,
          { status: 'completed', stopReason: 'end_turn' },
          { attempt: row?.attempt ?? 0 },
        )
      },
    ],
  ])('%s: the answer is that it started, and a repeat finds it', async (_name, work) => {
    ingress.behave(async (asked, response) => {
      await work(rowIdOf(asked.body))
      breaksOff(asked, response)
    })
    const headers = { 'idempotency-key': randomUUID() }
    const first = await start(headers)
    expect(first.status, first.text).toBe(200)
    ingress.behave(takes)
    expect((await start(headers)).body).toEqual(first.body)
    const rows = await executionsOf()
    expect(rows.map(({ execution_id }) => execution_id)).toEqual([first.body.executionId])
    expect(rows[0]?.worker_id).toBe('somewhere')
  })

  test('nobody has it: it is refused, nothing is charged, and a repeat under the same key starts it', async () => {
    ingress.behave(breaksOff)
    const headers = { 'idempotency-key': randomUUID() }
    for (let round = 1; round <= 2; round++) {
      expect(await start(headers)).toMatchObject({ status: 500, body: { error: 'EXECUTION_FAILED' } })
    }
    ingress.behave(takes)
    const started = await start(headers)
    expect(started.status, started.text).toBe(200)
    expect((await start(headers)).body).toEqual(started.body)
    const rows = await executionsOf()
    expect(rows.map(({ status, error_code }) => [status, error_code])).toEqual([
      ['failed', 'EXECUTION_FAILED'],
      ['failed', 'EXECUTION_FAILED'],
      ['working', null],
    ])
    const { rows: open } = await withDatabase(databaseUrl, (client) =>
      client.query('select execution_id from reservations where user_id = $1 and closed_at is null', [
        person.userId,
      ]),
    )
    expect(open).toEqual([{ execution_id: started.body.executionId }])
  })

  test('its row is held by another: the start stands, is answered soon, and a repeat finds it', async () => {
    let release = async () => {}
    ingress.behave(async (asked, response) => {
      release = await hold('executions', 'id', rowIdOf(asked.body))
      breaksOff(asked, response)
    })
    const headers = { 'idempotency-key': randomUUID() }
    const first = await start(headers)
    await release()
    expect(first.status, first.text).toBe(200)
    expect((await start(headers)).body).toEqual(first.body)
    expect((await executionsOf()).map(({ status }) => status)).toEqual(['working'])
  })

  test('that no worker ever came for ends later, and then a repeat under its key starts anew', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const first = await start(headers)
    expect(first.status).toBe(200)
    const { db } = house.deps.database
    const past = new Date(Date.now() - 1000).toISOString()
    await db
      .updateTable('executions')
      .set({ lease_until: past })
      .where('execution_id', '=', first.body.executionId)
      .execute()
    expect(await recordsOf(first.body.executionId)).toBe(1)
    await until(() => house.deps.database.steadyMs > 5000, 10_000)
    await reconcileOnce(executionReconcilers(parts()))
    expect((await executionsOf()).map(({ error_code }) => error_code)).toEqual(['EXECUTION_FAILED'])
    expect(await recordsOf(first.body.executionId)).toBe(0)
    const second = await start(headers)
    expect(second.status, second.text).toBe(200)
    expect(second.body.executionId).not.toBe(first.body.executionId)
  })

  test('also of a rerun and of a message', async () => {
    const claiming = async (
      asked: { path: string; body: string },
      response: Parameters<typeof breaksOff>[1],
    ) => {
      await claim(rowIdOf(asked.body))
      breaksOff(asked, response)
    }
    const executionId = await prepareErrand(house, person, 'Go.')
    ingress.behave(claiming)
    const said = await house.call('POST', `/api/v1/executions/${executionId}/events`, {
      token: person.token,
      body: { events: [{ type: 'user.message', content: [{ type: 'text', text: 'Now.' }] }] },
    })
    expect(said.status, said.text).toBe(200)
    const [row] = await executionsOf()
    await end(parts(), row?.id ?? 0, { status: 'completed', stopReason: 'end_turn' })
    const headers = { 'idempotency-key': randomUUID() }
    const first = await rerun(headers)
    expect(first.status, first.text).toBe(200)
    expect((await rerun(headers)).body).toEqual(first.body)
    expect(await executionsOf()).toHaveLength(2)
  })
})

describe('a launch whose answer from the engine is lost', () => {
  const runIdOf = (path: string) => /\/WorkflowRun\/(run_[^/]+)\//.exec(path)?.[1] ?? ''
  const launch = (headers: Record<string, string>): Promise<Answer> =>
    house.call('POST', '/api/v1/workflows/nap/launch', { token: person.token, headers, body: {} })
  const runs = () =>
    house.deps.database.db
      .selectFrom('workflow_runs')
      .select(['run_id', 'status'])
      .where('workspace_id', '=', person.workspaceId)
      .orderBy('id')
      .execute()

  beforeEach(() => runsOf(house, person).install('nap', nap))

  test('a worker drives it: launched, and a repeat finds it', async () => {
    ingress.behave(async (asked, response) => {
      await claimLaunched(house.deps.database.db, runIdOf(asked.path), 'inv_1Other')
      breaksOff(asked, response)
    })
    const headers = { 'idempotency-key': randomUUID() }
    const first = await launch(headers)
    expect(first.status, first.text).toBe(201)
    expect((await launch(headers)).body).toEqual(first.body)
    expect(await runs()).toEqual([{ run_id: first.body.runId, status: 'running' }])
  })

  test('its row is held by another: nobody knows yet, and a repeat goes on with the same run', async () => {
    let release = async () => {}
    ingress.behave(async (asked, response) => {
      release = await hold('workflow_runs', 'run_id', runIdOf(asked.path))
      breaksOff(asked, response)
    })
    const headers = { 'idempotency-key': randomUUID() }
    const first = await launch(headers)
    await release()
    expect(first).toMatchObject({ status: 503, body: { error: { code: 'SERVICE_UNAVAILABLE' } } })
    ingress.behave(takes)
    const second = await launch(headers)
    expect(second.status, second.text).toBe(201)
    expect(await runs()).toEqual([{ run_id: second.body.runId, status: 'running' }])
  })

  test('nobody confirmed it for a minute: void with its record, and a repeat launches anew', async () => {
    let release = async () => {}
    ingress.behave(async (asked, response) => {
      release = await hold('workflow_runs', 'run_id', runIdOf(asked.path))
      breaksOff(asked, response)
    })
    const headers = { 'idempotency-key': randomUUID() }
    expect((await launch(headers)).status).toBe(503)
    await release()
    const [left] = await runs()
    expect(await recordsOf(left?.run_id ?? '')).toBe(1)
    const past = new Date(Date.now() - 61_000).toISOString()
    const { db } = house.deps.database
    await db
      .updateTable('workflow_runs')
      .set({ launched_at: past })
      .where('run_id', '=', left?.run_id ?? '')
      .execute()
    await reconcileOnce(runReconcilers(runParts(house)))
    expect(await recordsOf(left?.run_id ?? '')).toBe(0)
    ingress.behave(takes)
    expect((await launch(headers)).status).toBe(201)
    expect((await runs()).map(({ status }) => status)).toEqual(['void', 'running'])
  })
})

test('a process that stood still asks the engine once more before it gives up', async () => {
  let asked = 0
  ingress.behave((one, response) => {
    if (++asked > 1) return takes(one, response)
    // The whole process, as when it is stopped: what was asked before is past its deadline when it goes on.
    const until = performance.now() + 2000
    while (performance.now() < until);
  })
  const answer = await runErrand(house, person, 'Go.')
  expect(answer.status, answer.text).toBe(200)
  expect((await executionsOf()).map(({ status }) => status)).toEqual(['working'])
})
