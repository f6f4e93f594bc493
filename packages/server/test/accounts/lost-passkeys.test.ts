import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Authenticator, createAuthenticator } from '../../../../test/support/authenticator.ts'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import { assertFor, expectDeviceAuthRequired, givePasskey, houseOrigin } from '../support/passkeys.ts'

let databaseUrl: string
let house: House
let other: House
let person: Person
let authenticator: Authenticator

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  other = await openHouse({ DATABASE_URL: databaseUrl })
})

afterAll(() => Promise.all([house.close(), other.close()]))

beforeEach(async () => {
  await shiftClock(databaseUrl, 0)
  person = await house.newPerson()
  authenticator = (await givePasskey(house, person)).authenticator
})

const call = (method: string, path: string, body?: unknown, by = person): Promise<Answer> =>
  house.call(method, `/api/v1/passkeys${path}`, { token: by.token, ...(body ? { body } : {}) })
const signed = async (purpose: string) => ({
  device_auth: await assertFor(house, person, authenticator, { purpose }),
})
const count = async (by = person) => (await call('GET', '', undefined, by)).body.length
const recovery = async () => (await call('GET', '/recovery')).body

/** A new passkey, with what is to stand for an existing one. */
async function add(proof: object, at = house, by = person): Promise<Answer> {
  const { registration } = (await at.call('POST', '/api/v1/passkeys/options', { token: by.token })).body
  const credential = createAuthenticator({ origin: houseOrigin }).register(registration)
  return at.call('POST', '/api/v1/passkeys', { token: by.token, body: { credential, ...proof } })
}

async function sweep() {
  for (const { table, run } of house.sweeps) if (table.startsWith('passkey_')) await run()
}

/** Every way to make codes needs a passkey's signature for exactly that. */
test.each(['/invites', '/recovery-codes'])('%s: nothing without a passkey that signed it', async (path) => {
  expectDeviceAuthRequired(await call('POST', path))
  expectDeviceAuthRequired(await call('POST', path, await signed('register')))
  expectDeviceAuthRequired(await call('POST', path, await signed('cancel-reset')))
})

describe('an invitation of another device', () => {
  const invite = async () => (await call('POST', '/invites', await signed('invite'))).body

  test('adds one passkey, typed in any way', async () => {
    const { code, expires_at } = await invite()
    expect(code).toMatch(/^[A-Z2-9]{4}-[A-Z2-9]{4}$/)
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(590_000)
    const added = await add({ invite: ` ${code.toLowerCase().replace('-', ' ')} ` })
    expect(added.status, added.text).toBe(201)
    expect(await count()).toBe(2)
    expect((await add({ invite: code })).status).toBe(400)
  })

  test('of twenty who try it at once on two processes one gets in', async () => {
    const { code } = await invite()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => add({ invite: code }, index % 2 ? house : other)),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(await count()).toBe(2)
  })

  test('is for this person, for ten minutes, and the newest alone', async () => {
    const { code: older } = await invite()
    const { code } = await invite()
    expect((await add({ invite: older })).status).toBe(400)
    const stranger = await house.newPerson()
    await givePasskey(house, stranger)
    expect((await add({ invite: code }, house, stranger)).status).toBe(400)
    await shiftClock(databaseUrl, 601)
    expect((await add({ invite: code })).status).toBe(400)
    await sweep()
    expect(await count()).toBe(1)
    expect(await count(stranger)).toBe(1)
  })

  test('stays good when what came with it was no passkey', async () => {
    const { code } = await invite()
    expect((await call('POST', '', { credential: { id: 'none' }, invite: code })).status).toBe(400)
    expect((await add({ invite: code })).status).toBe(201)
  })

  test('is not told again to who repeats under its key', async () => {
    const headers = { 'idempotency-key': 'an-invitation' }
    const body = await signed('invite')
    const path = '/api/v1/passkeys/invites'
    const first = await house.call('POST', path, { token: person.token, body, headers })
    expect(first.status, first.text).toBe(201)
    const again = await house.call('POST', path, { token: person.token, body, headers })
    expect(again.text).not.toContain(first.body.code)
  })
})

describe('recovery codes', () => {
  const make = async () => (await call('POST', '/recovery-codes', await signed('recovery-codes'))).body.codes

  test('are ten, each adds a passkey once, and new ones take their place', async () => {
    const old: string[] = await make()
    expect(new Set(old).size).toBe(10)
    expect(await recovery()).toEqual({ codes_left: 10, reset: null })
    expect((await add({ recovery_code: old[3]?.toLowerCase().replaceAll('-', ' ') })).status).toBe(201)
    expect((await add({ recovery_code: old[3] })).status).toBe(400)
    expect(await recovery()).toEqual({ codes_left: 9, reset: null })
    const fresh: string[] = await make()
    expect((await add({ recovery_code: old[4] })).status).toBe(400)
    expect((await add({ recovery_code: fresh[0] })).status).toBe(201)
  })

  test('of twenty who use one at once one gets in', async () => {
    const [code] = await make()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => add({ recovery_code: code }, index % 2 ? house : other)),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  })

  test('are of no use to somebody else, nor to a session that was left open', async () => {
    const [code] = await make()
    const stranger = await house.newPerson()
    await givePasskey(house, stranger)
    expect((await add({ recovery_code: code }, house, stranger)).status).toBe(400)
    await shiftClock(databaseUrl, 601)
    const late = await add({ recovery_code: code })
    expect(late.status).toBe(403)
    expect(late.body.error.details).toMatchObject({ reason: 'SIGN_IN_TOO_OLD' })
    expect((await recovery()).codes_left).toBe(10)
  })

  test('are nowhere in the database', async () => {
    const codes: string[] = await make()
    const rows = await house.deps.database.db.selectFrom('passkey_recovery_codes').selectAll().execute()
    const kept = JSON.stringify(rows.map((row) => row.code_hash.toString('latin1')))
    for (const code of codes) expect(kept).not.toContain(code.replaceAll('-', ''))
  })
})

describe('taking all passkeys away', () => {
  const hours = (n: number) => n * 3600

  test('comes after 72 hours; then a first passkey is added as on the first day', async () => {
    const asked = await call('POST', '/reset')
    expect(asked.status, asked.text).toBe(202)
    expect((await call('POST', '/reset')).body).toEqual(asked.body)
    expect((await recovery()).reset.effective_at).toBe(asked.body.effective_at)
    await shiftClock(databaseUrl, hours(72) - 5)
    await sweep()
    expect(await count()).toBe(1)
    await shiftClock(databaseUrl, hours(72) + 1)
    await Promise.all([sweep(), sweep()])
    // Who asked signed in three days ago: without a passkey that session could do what needs one of others.
    const body = { label: 'mine', access: 'full' }
    expect((await house.call('POST', '/api/v1/keys', { token: person.token, body })).status).toBe(401)
    const newly = await house.newPerson({ email: person.email })
    expect(newly.userId).toBe(person.userId)
    expect(await count(newly)).toBe(0)
    const log = await house.call('GET', '/api/v1/activity?type=passkey.reset', { token: newly.token })
    expect(log.body.entries ?? log.body.items ?? log.body).toHaveLength(1)
    expect((await add({}, house, newly)).status).toBe(201)
  })

  test('needs a sign-in of a moment ago, and something to take away', async () => {
    await shiftClock(databaseUrl, 601)
    expect((await call('POST', '/reset')).status).toBe(403)
    await shiftClock(databaseUrl, 0)
    expect((await call('POST', '/reset', undefined, await house.newPerson())).status).toBe(409)
  })

  test('is canceled by a passkey and by nothing less', async () => {
    expect((await call('DELETE', '/reset')).status).toBe(404)
    await call('POST', '/reset')
    expectDeviceAuthRequired(await call('DELETE', '/reset'))
    expectDeviceAuthRequired(await call('DELETE', '/reset', await signed('invite')))
    expect((await call('DELETE', '/reset', await signed('cancel-reset'))).status).toBe(200)
    await shiftClock(databaseUrl, hours(73))
    await sweep()
    expect(await count()).toBe(1)
  })

  test('leaves what was added since, also by a process that did not know of it', async () => {
    await call('POST', '/reset')
    await shiftClock(databaseUrl, 5)
    const { database } = house.deps
    const { userId } = person
    const asked = await database.db
      .selectFrom('passkey_resets')
      .selectAll()
      .where('user_id', '=', userId)
      .execute()
    expect((await add({ ...(await signed('register')) })).status).toBe(201)
    await database.db.insertInto('passkey_resets').values(asked).execute()
    await shiftClock(databaseUrl, hours(72) + 1)
    await sweep()
    expect(await count(await house.newPerson({ email: person.email }))).toBe(1)
  })

  test('is over when a passkey was added', async () => {
    const { codes } = (await call('POST', '/recovery-codes', await signed('recovery-codes'))).body
    await call('POST', '/reset')
    expect((await add({ recovery_code: codes[0] })).status).toBe(201)
    expect((await recovery()).reset).toBeNull()
  })

  test('canceled in the moment in which it takes effect, it is one or the other', async () => {
    for (let round = 0; round < 10; round++) {
      await shiftClock(databaseUrl, 0)
      person = await house.newPerson()
      authenticator = (await givePasskey(house, person)).authenticator
      await call('POST', '/reset')
      await shiftClock(databaseUrl, hours(72) + 1)
      const body = await signed('cancel-reset')
      const [canceled] = await Promise.all([call('DELETE', '/reset', body), sweep()])
      expect([200, 404, 401], canceled.text).toContain(canceled.status)
      expect(await count(await house.newPerson({ email: person.email }))).toBe(
        canceled.status === 200 ? 1 : 0,
      )
    }
  })
})
