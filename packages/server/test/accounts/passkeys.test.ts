import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAuthenticator, type Knobs } from '../../../../test/support/authenticator.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import {
  assertFor,
  expectDeviceAuthRequired,
  givePasskey,
  houseOrigin,
  newPersonWithPasskey,
} from '../support/passkeys.ts'

let databaseUrl: string
let house: House
let other: House

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  other = await openHouse({ DATABASE_URL: databaseUrl })
})

afterAll(() => Promise.all([house.close(), other.close()]))

const fullKey = { purpose: 'create-key', access: 'full' }

const prepare = async (person: Person, body?: unknown) =>
  (await house.call('POST', '/api/v1/passkeys/options', { token: person.token, body })).body
const list = async (person: Person) =>
  (await house.call('GET', '/api/v1/passkeys', { token: person.token })).body
const register = (person: Person, body: unknown, at = house, headers = {}) =>
  at.call('POST', '/api/v1/passkeys', { token: person.token, body, headers })
const remove = (person: Person, id: string, body?: unknown) =>
  house.call('DELETE', `/api/v1/passkeys/${id}`, { token: person.token, ...(body ? { body } : {}) })
const createKey = (person: Person, body: Record<string, unknown>, at = house) =>
  at.call('POST', '/api/v1/keys', { token: person.token, body: { label: 'made by hand', ...body } })

async function query(text: string, values: unknown[] = []) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

describe('registration', () => {
  test('a first passkey, right after signing in', async () => {
    const person = await house.newPerson()
    const { registration, assertion, expires_at } = await prepare(person)
    expect(assertion).toBeNull()
    expect(registration).toMatchObject({
      rp: { id: 'house.test' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: [],
    })
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(290_000)
    const credential = createAuthenticator({ origin: houseOrigin }).register(registration)
    const answer = await register(person, { name: ' Laptop ', credential })
    expect(answer.status, answer.text).toBe(201)
    expect(answer.body).toMatchObject({ name: 'Laptop', lastUsedAt: null, backedUp: false })
    expect(await list(person)).toEqual([answer.body])
    const [entry] = await query(
      "select type, details from activity where user_id = $1 and type like 'passkey%'",
      [person.userId],
    )
    const { id } = answer.body
    expect(entry).toEqual({ type: 'passkey.added', details: { id, name: 'Laptop', by: 'sign-in' } })
  })

  test('needs a sign-in less than ten minutes old, however busy the session was since', async () => {
    const person = await house.newPerson()
    const authenticator = createAuthenticator({ origin: houseOrigin })
    await shiftClock(databaseUrl, 599)
    try {
      const { registration } = await prepare(person)
      await shiftClock(databaseUrl, 601)
      const answer = await register(person, { credential: authenticator.register(registration) })
      expect(answer.status).toBe(403)
      expect(answer.body.error).toMatchObject({
        code: 'FORBIDDEN',
        details: { reason: 'SIGN_IN_TOO_OLD', sign_in_url: '/api/v1/auth/start' },
      })
    } finally {
      await shiftClock(databaseUrl, 0)
    }
    expect(await list(person)).toEqual([])
  })

  test('a further one needs an assertion by an existing one, and says so', async () => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    const { registration, assertion } = await prepare(person)
    expect(registration.excludeCredentials).toHaveLength(1)
    expect(assertion).toMatchObject({ userVerification: 'required', rpId: 'house.test' })
    expect(assertion.allowCredentials).toHaveLength(1)
    const credential = createAuthenticator({ origin: houseOrigin }).register(registration)
    expectDeviceAuthRequired(await register(person, { credential }))
    const elsewhere = await assertFor(house, person, authenticator, fullKey)
    expectDeviceAuthRequired(await register(person, { credential, device_auth: elsewhere }))
    const answer = await register(person, { credential, device_auth: authenticator.assert(assertion) })
    expect(answer.status, answer.text).toBe(201)
    const both = await list(person)
    expect(both.map((passkey: { lastUsedAt: unknown }) => passkey.lastUsedAt !== null)).toEqual([true, false])
  })

  test('a further one does not ask for a fresh sign-in', async () => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    await shiftClock(databaseUrl, 3600)
    try {
      await givePasskey(house, person, authenticator)
    } finally {
      await shiftClock(databaseUrl, 0)
    }
    expect(await list(person)).toHaveLength(2)
  })

  test.each<[string, Knobs]>([
    ['without user verification', { userVerified: false }],
    ['from another origin', { origin: 'http://evil.test' }],
    ['for another relying party', { rpId: 'evil.test' }],
    ['tampered with', { tampered: true }],
  ])('a credential made %s is refused', async (_name, knobs) => {
    const person = await house.newPerson()
    const { registration } = await prepare(person)
    const credential = createAuthenticator({ origin: houseOrigin }).register(registration, knobs)
    const answer = await register(person, { credential })
    expect(answer.status).toBe(400)
    expect(answer.body.error.code).toBe('INVALID_INPUT')
    expect(await list(person)).toEqual([])
  })

  test.each([
    ['nothing but an id', { id: 'x' }],
    ['a response that is a text', { id: 'x', rawId: 'x', type: 'public-key', response: 'x' }],
    [
      'client data that is no JSON',
      { id: 'x', rawId: 'x', type: 'public-key', response: { clientDataJSON: '!' } },
    ],
  ])('malformed credentials are refused: %s', async (_name, credential) => {
    const { person } = await newPersonWithPasskey(house)
    const newcomer = await house.newPerson()
    expect((await register(newcomer, { credential })).status).toBe(400)
    expectDeviceAuthRequired(await createKey(person, { device_auth: credential }))
  })

  test("a registration's challenge is good once, for one person, for five minutes, and for nothing else", async () => {
    const [person, stranger] = [await house.newPerson(), await house.newPerson()]
    const { registration } = await prepare(person)
    const foreign = createAuthenticator({ origin: houseOrigin }).register(registration)
    expect((await register(stranger, { credential: foreign })).status).toBe(400)
    const authenticator = createAuthenticator({ origin: houseOrigin })
    const credential = authenticator.register(registration)
    expect((await register(person, { credential })).status).toBe(201)
    const { assertion } = await prepare(person)
    const again = { credential: foreign, device_auth: authenticator.assert(assertion) }
    expect((await register(person, again)).status).toBe(400)
    const stale = (await prepare(person)).registration
    const asserted = { credential: createAuthenticator({ origin: houseOrigin }).register(stale) }
    await shiftClock(databaseUrl, 301)
    try {
      const device_auth = await assertFor(house, person, authenticator, {})
      expect((await register(person, { ...asserted, device_auth })).status).toBe(400)
    } finally {
      await shiftClock(databaseUrl, 0)
    }
    // An assertion's challenge does not register anything.
    const next = await prepare(person)
    const swapped = createAuthenticator({ origin: houseOrigin }).register({
      ...next.registration,
      ...next.assertion,
    })
    const device_auth = await assertFor(house, person, authenticator, {})
    expect((await register(person, { credential: swapped, device_auth })).status).toBe(400)
    expect(await list(person)).toHaveLength(1)
  })

  test('of parallel first registrations exactly one goes without an assertion', async () => {
    for (let round = 0; round < 5; round++) {
      const person = await house.newPerson()
      const credentials = await Promise.all(
        Array.from({ length: 10 }, async () =>
          createAuthenticator({ origin: houseOrigin }).register((await prepare(person)).registration),
        ),
      )
      const answers = await Promise.all(
        credentials.map((credential, index) =>
          register(person, { credential }, index % 2 === 0 ? house : other),
        ),
      )
      expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1)
      for (const answer of answers) if (answer.status !== 201) expectDeviceAuthRequired(answer)
      expect(await list(person)).toHaveLength(1)
    }
  })

  test('a repeat under one Idempotency-Key gets the first answer and adds nothing', async () => {
    const person = await house.newPerson()
    const credential = createAuthenticator({ origin: houseOrigin }).register(
      (await prepare(person)).registration,
    )
    const answers = [
      await register(person, { credential }, house, { 'idempotency-key': 'once' }),
      await register(person, { credential }, other, { 'idempotency-key': 'once' }),
    ]
    expect(answers.map((answer) => answer.status)).toEqual([201, 201])
    expect(answers[1]?.text).toBe(answers[0]?.text)
    expect(await list(person)).toHaveLength(1)
  })

  test('a person has at most twenty, also when two are added at once', async () => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    for (let count = 1; count < 18; count++) await givePasskey(house, person, authenticator)
    const nineteenth = await givePasskey(house, person, authenticator)
    const attempts = []
    for (const existing of [authenticator, nineteenth.authenticator]) {
      const { registration, assertion } = await prepare(person)
      const credential = createAuthenticator({ origin: houseOrigin }).register(registration)
      attempts.push({ credential, device_auth: existing.assert(assertion) })
    }
    const answers = await Promise.all(attempts.map((body) => register(person, body)))
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409])
    const refused = answers.find((answer) => answer.status === 409)
    expect(refused?.body.error).toMatchObject({ code: 'CONFLICT', details: { limit: 20 } })
    expect(await list(person)).toHaveLength(20)
  })
})

describe('removal', () => {
  test('needs an assertion for exactly this passkey, also when it is the last', async () => {
    const { person, authenticator, id } = await newPersonWithPasskey(house)
    const second = await givePasskey(house, person, authenticator)
    expectDeviceAuthRequired(await remove(person, id))
    const forSecond = await assertFor(house, person, authenticator, {
      purpose: 'remove',
      passkeyId: second.id,
    })
    expectDeviceAuthRequired(await remove(person, id, { device_auth: forSecond }))
    expect((await remove(person, second.id, { device_auth: forSecond })).status).toBe(200)
    const last = await assertFor(house, person, authenticator, { purpose: 'remove', passkeyId: id })
    expectDeviceAuthRequired(await remove(person, id, {}))
    expect((await remove(person, id, { device_auth: last })).body).toEqual({ success: true })
    expect(await list(person)).toEqual([])
    expect((await createKey(person, {})).status).toBe(201)
    const types = await query(
      "select type from activity where user_id = $1 and type like 'passkey%' order by id",
      [person.userId],
    )
    expect(types.map((row) => row.type)).toEqual([
      'passkey.added',
      'passkey.added',
      'passkey.removed',
      'passkey.removed',
    ])
  })

  test('a removed passkey proves nothing any more', async () => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    const lost = await givePasskey(house, person, authenticator)
    const device_auth = await assertFor(house, person, lost.authenticator, fullKey)
    const consent = await assertFor(house, person, authenticator, { purpose: 'remove', passkeyId: lost.id })
    expect((await remove(person, lost.id, { device_auth: consent })).status).toBe(200)
    expectDeviceAuthRequired(await createKey(person, { device_auth }))
  })

  test('what is not there is missing, whether or not it is somebody else’s', async () => {
    const [mine, theirs] = [await newPersonWithPasskey(house), await newPersonWithPasskey(house)]
    const input = { purpose: 'remove', passkeyId: theirs.id }
    const options = await house.call('POST', '/api/v1/passkeys/options', {
      token: mine.person.token,
      body: input,
    })
    expect(options.status).toBe(404)
    const [foreign, missing] = [await remove(mine.person, theirs.id), await remove(mine.person, 'never-was')]
    expect(foreign.status).toBe(404)
    expect(foreign.text).toBe(missing.text)
    expect(await list(mine.person)).toHaveLength(1)
  })

  test('options say what they lack', async () => {
    const { person } = await newPersonWithPasskey(house)
    for (const purpose of ['remove', 'confirm']) {
      const answer = await house.call('POST', '/api/v1/passkeys/options', {
        token: person.token,
        body: { purpose },
      })
      expect(answer.status).toBe(400)
    }
  })
})
