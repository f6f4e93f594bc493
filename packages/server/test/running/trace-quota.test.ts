import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { installErrand, prepareErrand } from '../../../../test/support/executions.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

const limit = 10_000
let houses: House[]
let house: House
let person: Person
let databaseUrl: string

beforeAll(async () => {
  databaseUrl = await createDatabase()
  const env = { DATABASE_URL: databaseUrl, QUOTA_TRACE_BYTES: String(limit) }
  houses = [await openHouse(env), await openHouse(env)]
  house = houses[0] as House
  person = await house.newPerson()
  await installErrand(house, person)
})

afterAll(async () => {
  for (const each of houses ?? []) await each.close()
})

async function newTrace(): Promise<string> {
  const { token } = person
  const made = await prepareErrand(house, person, 'Never started')
  const { body } = await house.call('GET', `/api/v1/executions/${made}/status`, { token })
  return body.traceId
}

const append = (by: House, traceId: string, bytes: number) => {
  const event = { type: 'agent.text', payload: { text: 'x'.repeat(bytes - '{"text":""}'.length) } }
  return by.call('POST', `/api/v1/traces/${traceId}/events`, {
    token: person.token,
    body: { events: [event] },
  })
}

const counted = () =>
  withDatabase(databaseUrl, async (database) => {
    const { rows } = await database.query(
      `select (select bytes::int from trace_usage where workspace_id = $1) as counted,
         (select sum(octet_length(payload))::int from trace_turns u join traces t on t.id = u.trace_id
          where t.workspace_id = $1) as kept`,
      [person.workspaceId],
    )
    return rows[0]
  })

test('of appends at once, to several traces and two processes, as many are taken as there is room for', async () => {
  const traces = [await newTrace(), await newTrace(), await newTrace()]
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, n) => append(houses[n % 2] as House, traces[n % 3] as string, 1000)),
  )
  const taken = answers.filter(({ status }) => status === 201)
  const refused = answers.filter(({ status }) => status !== 201)
  expect(taken).toHaveLength(10)
  expect(refused.map(({ status, body }) => [status, body.error.details])).toEqual(
    refused.map(() => [400, { limit }]),
  )
  expect(await counted()).toEqual({ counted: limit, kept: limit })
})

test('what is deleted makes room, and nobody else is kept from appending', async () => {
  const other = await house.newPerson()
  await installErrand(house, other)
  const [mine, refused] = [person, await append(house, await newTrace(), 100)]
  expect(refused.status).toBe(400)
  person = other
  expect((await append(house, await newTrace(), 100)).status).toBe(201)
  person = mine
  await withDatabase(databaseUrl, (database) =>
    database.query('delete from traces where workspace_id = $1 and appended_bytes > 0', [person.workspaceId]),
  )
  expect(await counted()).toEqual({ counted: 0, kept: null })
  expect((await append(house, await newTrace(), 100)).status).toBe(201)
})
