import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Bearer } from '#operations/signed-url.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import {
  type ExecutionRow,
  type Executions,
  type OpenStream,
  openExecutions,
  openStream,
  openStreamServer,
} from '../support/event-streams.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { countStatements, type StatementCounter } from '../support/statement-counter.ts'

const openings = 30
/** Each has to read a prepared statement once. */
const connections = 10
let databaseUrl: string
let counter: StatementCounter
let house: House
let server: Awaited<ReturnType<typeof openStreamServer>>
let executions: Executions
let person: Person
let key: { id: number; secret: string }
let sessionId: number

beforeAll(async () => {
  databaseUrl = await createDatabase()
  counter = await countStatements(databaseUrl)
  house = await openHouse({
    DATABASE_URL: counter.url,
    DATABASE_POOL_SIZE: String(connections),
    DEV_TOOLS: '1',
    RUNS_PER_WORKSPACE: '0',
  })
  server = await openStreamServer(house)
  executions = await openExecutions(databaseUrl)
  person = await house.newPerson()
  key = await house.newKey(person)
  const { rows } = await executions.client.query('select id from sessions')
  sessionId = Number(rows[0].id)
})

afterAll(async () => {
  await server?.close()
  await executions?.close()
  await house?.close()
  counter?.close()
})

/** Where the machine is slow, a look falls in between that one would not have needed; a second for each is half of them. */
const two = 1.5

/** Opens streams one after the other and closes them; gives what one cost, without what the process does every second. */
async function costOf(open: (n: number) => Promise<OpenStream>) {
  counter.take()
  const began = performance.now()
  for (let n = 0; n < openings; n++) {
    const stream = await open(n)
    expect(stream.status).toBe(200)
    stream.close()
  }
  const seconds = Math.ceil((performance.now() - began) / 1000)
  const { statements, texts } = counter.take()
  // Looks at open streams and at credentials, and a credential that was not believed any more.
  return { statements: (statements - 4 * seconds) / openings, texts }
}

const bearerOf = (kind: 'key' | 'session', { workspaceId }: ExecutionRow): Bearer => ({
  kind,
  credentialId: kind === 'key' ? key.id : sessionId,
  userId: person.userId,
  workspaceId,
})

for (const kind of ['key', 'session'] as const)
  test(`who comes back to an execution's stream, by ${kind}, costs one prepared statement`, async () => {
    const execution = await executions.insert({ workspaceId: person.workspaceId, status: 'idle' })
    const address = server.address(bearerOf(kind, execution), execution.executionId)
    const open = () => openStream(address)
    await costOf(open)
    const { statements, texts } = await costOf(open)
    expect(statements).toBeLessThan(two)
    expect(texts).toBeLessThanOrEqual(connections)
  })

test('many who come at once are looked up together', async () => {
  const rows = await Promise.all(
    Array.from({ length: 200 }, () => executions.insert({ workspaceId: person.workspaceId, status: 'idle' })),
  )
  counter.take()
  const streams = await Promise.all(
    rows.map((row) => openStream(server.address(bearerOf('key', row), row.executionId))),
  )
  expect(streams.map(({ status }) => status)).toEqual(rows.map(() => 200))
  // Three for each by itself: its row, its credential, how far its log reaches.
  expect(counter.take().statements).toBeLessThan(rows.length)
  for (const stream of streams) stream.close()
})

test('the stream of a run costs one prepared statement, by itself and beside others', async () => {
  const runs = runsOf(house, person)
  await runs.install('nap', definitionOf('nap', [{ type: 'sleep', id: 'z', duration: 1000 }]))
  const runId = await runs.start('nap')
  const url = `${house.url}/api/v1/workflows/runs/${runId}/events`
  const open = () => openStream(url, { 'x-api-key': key.secret })
  await costOf(open)
  const alone = await costOf(open)
  expect(alone.statements).toBeLessThan(two)
  const beside = await open()
  const shared = await costOf(open)
  expect(shared.statements).toBeLessThan(two)
  expect(alone.texts + shared.texts).toBeLessThanOrEqual(connections)
  beside.close()
})

test('a credential that ended is believed by no opening after word of it', async () => {
  const execution = await executions.insert({ workspaceId: person.workspaceId, status: 'idle' })
  const own = await house.newKey(person)
  const bearer = { ...bearerOf('key', execution), credentialId: own.id }
  const address = server.address(bearer, execution.executionId)
  const before = await openStream(address)
  expect(before.status).toBe(200)
  const revoked = await house.call('DELETE', `/api/v1/keys/${own.id}`, { token: person.token })
  expect(revoked.status, revoked.text).toBe(200)
  await before.closed
  expect((await openStream(address)).status).toBe(401)
})
