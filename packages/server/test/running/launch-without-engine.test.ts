import { afterAll, beforeAll, expect, test } from 'vitest'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { breaksOff, type Ingress, openIngress, takes } from '../support/ingress.ts'

const nap = definitionOf('nap', [{ type: 'sleep', id: 's', duration: 60_000 }])

let ingress: Ingress
let house: House

beforeAll(async () => {
  ingress = await openIngress()
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    RESTATE_INGRESS_URL: ingress.url,
    RUNS_PER_WORKSPACE: '1',
  })
})

afterAll(async () => {
  await house?.close()
  await ingress?.close()
})

/** Everything that is kept of runs, shown or not. */
async function statuses(runIds: readonly string[]): Promise<string[]> {
  const rows = await house.deps.database.db
    .selectFrom('workflow_runs')
    .select('status')
    .where('run_id', 'not in', runIds)
    .execute()
  return rows.map(({ status }) => status)
}

test('a launch that would wait for a place is refused while the engine is away, and leaves no run', async () => {
  const person = await house.newPerson()
  const runs = runsOf(house, person)
  await runs.install('nap', nap)
  const first = await runs.start('nap')
  const { token } = person
  const get = async (path: string) => (await house.call('GET', `/api/v1/workflows/${path}`, { token })).body
  const launch = () =>
    house.call('POST', '/api/v1/workflows/nap/launch', {
      token,
      body: {},
      headers: { 'idempotency-key': 'once' },
    })

  ingress.behave(breaksOff)
  const refused = await launch()
  expect(refused.status, refused.text).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await runs.list('running')).toEqual([first])
  expect((await get('queue')).total).toBe(1)
  expect(await statuses([first])).toEqual(['void'])

  // Nothing of it stands in the way of the next, nor is the key it was sent with used up.
  ingress.behave(takes)
  const launched = await launch()
  expect(launched.status, launched.text).toBe(201)
  expect((await get('queue')).queued).toMatchObject([
    { runId: first, status: 'running' },
    { runId: launched.body.runId, status: 'queued' },
  ])
  const again = await Promise.all([launch(), launch()])
  expect(again.map(({ text }) => text)).toEqual([launched.text, launched.text])
  expect(ingress.asked.filter(({ path }) => path.includes(launched.body.runId))).toEqual([])

  // Once the place is free it is handed over like any other.
  expect((await runs.cancel(first)).status).toBe(200)
  await expect
    .poll(() => ingress.asked.some(({ path }) => path.includes(launched.body.runId)), { timeout: 10_000 })
    .toBe(true)
})
