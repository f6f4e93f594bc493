import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let databaseUrl: string
let house: House
let person: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  person = await house.newPerson()
})

afterAll(() => house?.close())

test('what a credential is believed for and what a call is admitted for stay under a second together', async () => {
  const { id, secret: key } = await house.newKey(person, { scopes: ['workspace:files:read'] })
  const read = () => house.call('GET', '/api/v1/artifacts', { key })
  expect((await read()).status).toBe(200)
  await withDatabase(databaseUrl, async (client) => {
    await client.query('begin')
    await client.query('lock table artifacts in access exclusive mode')
    // Past every word that is sent when a key ends.
    await house.deps.database.db
      .updateTable('api_keys')
      .set({ revoked_at: new Date() })
      .where('id', '=', id)
      .execute()
    // Let in by what is remembered of the key, and then kept waiting for what it wants to read.
    await wait(400)
    const reading = read()
    await wait(650)
    await client.query('commit')
    const answer = await reading
    expect(answer.status, answer.text).toBe(401)
  })
})
