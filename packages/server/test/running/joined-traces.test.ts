import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { installErrand } from '../../../../test/support/executions.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** A narrow key beside the work of others. */
let house: House
let person: Person
let key: string

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
  await installErrand(house, person)
  key = (await house.newKey(person, { scopes: ['tool:execute'] })).secret
})

afterAll(() => house?.close())

type By = { readonly key: string } | { readonly token: string }

const prepare = (by: By, body: object) => house.call('POST', '/api/v1/executions', { ...by, body })

async function newTrace(by: By): Promise<string> {
  const made = await prepare(by, { skill_slug: 'errand', input: 'go' })
  expect(made.status, made.text).toBe(200)
  return (await house.call('GET', `/api/v1/executions/${made.body.id}/status`, by)).body.traceId
}

test('a key goes on with what it began; with what others began when it may write traces', async () => {
  expect((await prepare({ key }, { sessionId: await newTrace({ key }) })).status).toBe(200)
  const theirs = await newTrace({ token: person.token })
  const refused = await prepare({ key }, { sessionId: theirs })
  expect(refused.status, refused.text).toBe(403)
  expect(refused.body.error.details.missing_scopes).toEqual(['trace:write'])
  const { secret } = await house.newKey(person, { scopes: ['trace:write'] })
  expect((await prepare({ key: secret }, { sessionId: theirs })).status).toBe(200)
})

test('a key goes on with what it was handed', async () => {
  const traceId = await newTrace({ token: person.token })
  const handed = await house.call('POST', `/api/v1/traces/${traceId}/handover`, {
    token: person.token,
    body: {},
  })
  expect(handed.status, handed.text).toBeLessThan(300)
  const taken = await house.call('POST', '/api/v1/traces/pickup', { key, body: { code: handed.body.code } })
  expect(taken.status, taken.text).toBe(200)
  expect((await prepare({ key }, { sessionId: traceId })).status).toBe(200)
})

test.each(['app', 'chat', ' Workflow '])('a key does not call itself %j', async (source) => {
  const body = { skill_slug: 'errand', input: 'go', source }
  const prepared = await prepare({ key }, body)
  const run = await house.call('POST', '/api/v1/skills/errand/run', { key, body: { input: 'go', source } })
  for (const { status, text } of [prepared, run]) {
    expect([status, text]).toEqual([400, expect.stringContaining('give a name of your own')])
  }
  expect((await prepare({ key }, { ...body, source: 'ci' })).status).toBe(200)
  expect((await prepare({ token: person.token }, body)).status).toBe(200)
})
