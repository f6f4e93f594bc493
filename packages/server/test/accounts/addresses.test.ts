import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { foldAddress } from '#accounts/users/users.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let databaseUrl: string
let house: House

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
})

afterAll(() => house?.close())

test('an address is the same here and in the database, whatever letters it is of', async () => {
  const letters = fc.string({ unit: 'binary', minLength: 1 }).map((text) => text.replaceAll('\0', '').trim())
  const addresses = [
    ...fc.sample(letters, 2000),
    ...['\u212a', '\u0130', '\u1e9e', 'ΑΣ', 'ǅ', 'ＡＢ', 'Ⅷ', 'Å@Ä.Example'],
  ].filter((address) => address.isWellFormed())
  const { rows } = await withDatabase(databaseUrl, (database) =>
    database.query(`select lower(address collate "C") as folded from unnest($1::text[]) as address`, [
      addresses,
    ]),
  )
  expect(rows.map(({ folded }) => folded)).toEqual(addresses.map(foldAddress))
})

// The sign for kelvin is a small k to JavaScript, and to PostgreSQL where it is set up for a language.
test('who has a letter that becomes another one in lower case is not taken for who has that one', async () => {
  const owner = await house.newPerson()
  const look = await house.newPerson({ email: 'loo\u212a@example.test' })
  const headers = { 'x-workspace-id': await house.newTeam(owner) }
  const body = { email: 'LOOK@example.test', role: 'member' }
  const invited = await house.call('POST', '/api/v1/workspaces/current/members', {
    token: owner.token,
    headers,
    body,
  })
  expect(invited.status, invited.text).toBe(202)
  const listOf = async (token: string) =>
    (await house.call('GET', '/api/v1/invitations', { token })).body.items
  expect(await listOf(look.token)).toEqual([])
  const meant = await house.newPerson({ email: 'look@example.test' })
  expect(await listOf(meant.token)).toHaveLength(1)
})
