import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Knobs } from '../../../../test/support/authenticator.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import { assertFor, expectDeviceAuthRequired, newPersonWithPasskey } from '../support/passkeys.ts'

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

describe('an assertion', () => {
  test.each<[string, Knobs]>([
    ['without user verification', { userVerified: false }],
    ['from another origin', { origin: 'http://evil.test' }],
    ['for another relying party', { rpId: 'evil.test' }],
    ['with a tampered signature', { tampered: true }],
  ])('%s is refused, and leaves the challenge good', async (_name, knobs) => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    const { assertion } = await prepare(person, fullKey)
    expectDeviceAuthRequired(await createKey(person, { device_auth: authenticator.assert(assertion, knobs) }))
    const right = await createKey(person, { device_auth: authenticator.assert(assertion) })
    expect(right.status, right.text).toBe(201)
  })

  test('with a counter that does not grow is refused', async () => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    const first = await assertFor(house, person, authenticator, fullKey, { counter: 7 })
    expect((await createKey(person, { device_auth: first })).status).toBe(201)
    for (const counter of [7, 6, 0]) {
      const stale = await assertFor(house, person, authenticator, fullKey, { counter })
      expectDeviceAuthRequired(await createKey(person, { device_auth: stale }))
    }
    const next = await assertFor(house, person, authenticator, fullKey, { counter: 8 })
    expect((await createKey(person, { device_auth: next })).status).toBe(201)
  })

  test('works again and again where an authenticator keeps no counter', async () => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    for (let i = 0; i < 3; i++) {
      const device_auth = await assertFor(house, person, authenticator, fullKey, { counter: 0 })
      expect((await createKey(person, { device_auth })).status).toBe(201)
      expectDeviceAuthRequired(await createKey(person, { device_auth }))
    }
  })

  test('is too late after five minutes', async () => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    const device_auth = await assertFor(house, person, authenticator, fullKey)
    await shiftClock(databaseUrl, 301)
    try {
      expectDeviceAuthRequired(await createKey(person, { device_auth }))
    } finally {
      await shiftClock(databaseUrl, 0)
    }
  })

  test('is good for its own subject only', async () => {
    const { person, authenticator, id } = await newPersonWithPasskey(house)
    const scopes = ['memory:write', 'profile:read']
    const narrow = await assertFor(house, person, authenticator, { purpose: 'create-key', scopes })
    expectDeviceAuthRequired(await createKey(person, { device_auth: narrow }))
    expectDeviceAuthRequired(await createKey(person, { scopes: ['memory:write'], device_auth: narrow }))
    const more = [...scopes, 'tool:execute']
    expectDeviceAuthRequired(await createKey(person, { scopes: more, device_auth: narrow }))
    expectDeviceAuthRequired(await remove(person, id, { device_auth: narrow }))
    const reordered = await createKey(person, { scopes: scopes.toReversed(), device_auth: narrow })
    expect(reordered.status, reordered.text).toBe(201)
  })

  test("of another person, or with another person's passkey, is refused", async () => {
    const [mine, theirs] = [await newPersonWithPasskey(house), await newPersonWithPasskey(house)]
    const device_auth = await assertFor(house, theirs.person, theirs.authenticator, fullKey)
    expectDeviceAuthRequired(await createKey(mine.person, { device_auth }))
    const { assertion } = await prepare(mine.person, fullKey)
    const { allowCredentials } = (await prepare(theirs.person, fullKey)).assertion
    const borrowed = theirs.authenticator.assert({ ...assertion, allowCredentials })
    expectDeviceAuthRequired(await createKey(mine.person, { device_auth: borrowed }))
    const [myId] = assertion.allowCredentials.map((allowed: { id: string }) => allowed.id)
    const disguised = { ...borrowed, id: myId, rawId: myId }
    expectDeviceAuthRequired(await createKey(mine.person, { device_auth: disguised }))
  })

  test('used fifty times at once over two processes counts once', async () => {
    for (const counter of [undefined, 0]) {
      const { person, authenticator } = await newPersonWithPasskey(house)
      const knobs = counter === undefined ? {} : { counter }
      const device_auth = await assertFor(house, person, authenticator, fullKey, knobs)
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          createKey(person, { device_auth }, index % 2 === 0 ? house : other),
        ),
      )
      expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1)
      expect(answers.filter((answer) => answer.status === 403)).toHaveLength(49)
      const keys = await house.call('GET', '/api/v1/keys', { token: person.token })
      expect(keys.body).toHaveLength(1)
    }
  })

  test('that was refused while another one with the same challenge was under way does not spoil it', async () => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    const { assertion } = await prepare(person, fullKey)
    const right = authenticator.assert(assertion, { counter: 0 })
    const wrong = authenticator.assert(assertion, { counter: 0, tampered: true })
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        createKey(person, { device_auth: index === 20 ? right : wrong }, index % 2 === 0 ? house : other),
      ),
    )
    expect(answers.findIndex((answer) => answer.status === 201)).toBe(20)
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1)
  })
})

describe('a person with a passkey', () => {
  test('needs it for full keys and sensitive scopes, and for nothing less', async () => {
    const { person } = await newPersonWithPasskey(house)
    expectDeviceAuthRequired(await createKey(person, {}))
    expectDeviceAuthRequired(await createKey(person, { access: 'full' }))
    expectDeviceAuthRequired(await createKey(person, { scopes: ['profile:read', 'tool:execute'] }))
    expectDeviceAuthRequired(await createKey(person, { scopes: ['connector:mail:exec'] }))
    expect((await createKey(person, { scopes: ['profile:read'] })).status).toBe(201)
    expect((await createKey(person, { access: 'declared' })).status).toBe(201)
  })

  test('needs it for more time of such a key, also when its time is over, and for nothing else about it', async () => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    const soon = new Date(Date.now() + 3_600_000).toISOString()
    const later = new Date(Date.now() + 7_200_000).toISOString()
    const past = new Date(Date.now() - 60_000).toISOString()
    const change = (id: number, body: object) =>
      house.call('PATCH', `/api/v1/keys/${id}`, { token: person.token, body })
    const sensitive = { access: 'declared', scopes: ['tool:execute'] }
    for (const input of [fullKey, { purpose: 'create-key', ...sensitive }]) {
      const proof = () => assertFor(house, person, authenticator, input)
      const { purpose: _, ...wanted } = input
      const { id } = (await createKey(person, { ...wanted, device_auth: await proof() })).body
      for (const body of [{ expiresAt: later }, { expiresAt: soon, label: 'Mine' }, { expiresAt: past }])
        expect((await change(id, body)).status).toBe(200)
      for (const expiresAt of [soon, null]) expectDeviceAuthRequired(await change(id, { expiresAt }))
      expectDeviceAuthRequired(await change(id, { expiresAt: later, device_auth: { id: 'x', response: {} } }))
      expect((await change(id, { label: 'Still mine', spendLimit: 5 })).status).toBe(200)
      expect((await change(id, { expiresAt: later, device_auth: await proof() })).body.expiresAt).toBe(later)
    }
    const { id } = (await createKey(person, { scopes: ['profile:read'], expiresAt: past })).body
    expect((await change(id, { expiresAt: null })).status).toBe(200)
  })

  test('confirms a pairing of full access with it, in whatever spelling the code is typed', async () => {
    const { person, authenticator } = await newPersonWithPasskey(house)
    const [{ userCode, deviceCode }, another] = [await house.newCode(), await house.newCode()]
    const confirm = (body: Record<string, unknown>) =>
      house.call('POST', '/api/v1/activate/confirm', { token: person.token, body })
    expectDeviceAuthRequired(await confirm({ code: userCode }))
    const input = { purpose: 'confirm', code: ` ${userCode.toLowerCase()} ` }
    const device_auth = await assertFor(house, person, authenticator, input)
    expectDeviceAuthRequired(await confirm({ code: another.userCode, device_auth }))
    const answer = await confirm({ code: userCode, access: 'full', device_auth })
    expect(answer.status, answer.text).toBe(200)
    const poll = await house.call('POST', '/api/v1/activate/poll', { body: { device_code: deviceCode } })
    expect(poll.body.status).toBe('approved')
    expect((await confirm({ code: another.userCode, access: 'declared' })).status).toBe(200)
  })

  test('gets the same refusal for a code that never was, and no miss is counted for it', async () => {
    const { person } = await newPersonWithPasskey(house)
    for (const code of ['ZZZZ-ZZZZ', (await house.newCode()).userCode]) {
      const answer = await house.call('POST', '/api/v1/activate/confirm', {
        token: person.token,
        body: { code },
      })
      expectDeviceAuthRequired(answer)
    }
    expect(await query('select 1 from code_misses where user_id = $1', [person.userId])).toEqual([])
  })

  test('one without is not asked', async () => {
    const person = await house.newPerson()
    const none = { registration: null, assertion: null, expires_at: null }
    expect(await prepare(person, fullKey)).toEqual(none)
    expect((await createKey(person, { scopes: ['tool:execute'] })).status).toBe(201)
    const { userCode } = await house.newCode()
    const answer = await house.call('POST', '/api/v1/activate/confirm', {
      token: person.token,
      body: { code: userCode },
    })
    expect(answer.status).toBe(200)
  })
})

test('challenges are kept hashed, and swept when their time is over', async () => {
  const { person, authenticator } = await newPersonWithPasskey(house)
  const { assertion } = await prepare(person, fullKey)
  const rows = await query(
    'select row_to_json(c)::text as text from passkey_challenges c where user_id = $1',
    [person.userId],
  )
  expect(rows).toHaveLength(1)
  expect(rows[0].text).not.toContain(Buffer.from(assertion.challenge).toString('hex'))
  expect(rows[0].text).not.toContain(Buffer.from(assertion.challenge, 'base64url').toString('hex'))
  const sweep = house.sweeps.find(({ table }) => table === 'passkey_challenges')
  await sweep?.run()
  expect((await createKey(person, { device_auth: authenticator.assert(assertion) })).status).toBe(201)
  await prepare(person, fullKey)
  await shiftClock(databaseUrl, 301)
  try {
    expect(await sweep?.run()).toBeGreaterThan(0)
  } finally {
    await shiftClock(databaseUrl, 0)
  }
  expect(await query('select 1 from passkey_challenges where user_id = $1', [person.userId])).toEqual([])
})
