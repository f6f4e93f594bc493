import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, nowhere, openHouse } from '../support/house.ts'

/** The second process hears of nothing: what it knows of a key is as old as it is believed. */
let house: House
let deaf: House
let person: Person

beforeAll(async () => {
  const databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  deaf = await openHouse({ DATABASE_URL: databaseUrl, REDIS_URL: `redis://${nowhere}` })
  person = await house.newPerson()
})
afterAll(() => Promise.all([house.close(), deaf.close()]))

const newKey = async (scopes: string[]) => (await house.newKey(person, { scopes })).secret
const read = (key: string) => deaf.call('GET', '/api/v1/profile', { key }).then(({ status }) => status)

async function approve(key: string, scope: string): Promise<void> {
  const asked = await house.call('POST', '/api/v1/agents/request-permission', {
    key,
    body: { scope, mode: 'persistent', reason: 'x' },
  })
  const path = `/api/v1/agents/request-permission/${asked.body.request_id}/approve`
  const done = await house.call('POST', path, { token: person.token, body: {} })
  if (done.status !== 200) throw new Error(`${asked.text} ${done.text}`)
}

test('a scope that was granted for good counts at once in a process that has not heard of it', async () => {
  for (let turn = 0; turn < 3; turn++) {
    const key = await newKey(['agent:list'])
    expect(await read(key)).toBe(403)
    await approve(key, 'profile:read')
    expect(await read(key)).toBe(200)
  }
})

test('a key that was let in counts at once too', async () => {
  const { secret: key } = await house.newKey(person, { access: 'declared' })
  expect(await read(key)).toBe(403)
  const asked = await house.call('POST', '/api/v1/agents/connect', {
    key,
    body: { requestedScopes: ['profile:read'] },
  })
  const path = `/api/v1/agents/connect/${asked.body.consent_id}/approve`
  const approved = await house.call('POST', path, {
    token: person.token,
    body: { scopes: ['profile:read'] },
  })
  expect(approved.status, approved.text).toBe(200)
  expect(await read(key)).toBe(200)
})

test('who is refused stays refused: nothing is granted by asking twice', async () => {
  const key = await newKey(['agent:list'])
  expect([await read(key), await read(key)]).toEqual([403, 403])
})
