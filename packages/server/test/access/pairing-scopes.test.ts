import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import { assertFor, expectDeviceAuthRequired, newPersonWithPasskey } from '../support/passkeys.ts'

/**
 * A pairing that asks for scopes. Whoever starts one chooses what it asks for, so nothing of it counts before a person
 * has seen it and said so, scope by scope; what is sensitive with a passkey over exactly that.
 */
let databaseUrl: string
let house: House
let second: House

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  second = await openHouse({ DATABASE_URL: databaseUrl })
})

afterAll(async () => {
  await house.close()
  await second.close()
})

async function start(requested_scopes?: string[]) {
  const answer = await house.call('POST', '/api/v1/activate', {
    ...(requested_scopes && { body: { requested_scopes } }),
  })
  expect(answer.status, answer.text).toBe(200)
  return { deviceCode: answer.body.device_code as string, code: answer.body.user_code as string }
}

const confirm = ({ token }: Person, body: object) =>
  house.call('POST', '/api/v1/activate/confirm', { token, body })
const lookup = ({ token }: Person, code: string) =>
  house.call('GET', `/api/v1/activate/lookup?code=${code}`, { token })
const poll = (deviceCode: string, wait?: number, at: House = house) =>
  at.call('POST', '/api/v1/activate/poll', {
    body: { device_code: deviceCode, ...(wait !== undefined && { wait }) },
  })

/** What the key may do that comes of it. */
async function collect(deviceCode: string) {
  const { body } = await poll(deviceCode)
  expect(body.status).toBe('approved')
  const me = await house.call('GET', '/api/v1/agents/me', { key: body.api_key })
  const scopes = me.status === 200 ? me.body.scopes : []
  return {
    activated: body.activated,
    key: body.api_key as string,
    modes: Object.fromEntries(scopes.map((one: { scope: string; mode: string }) => [one.scope, one.mode])),
  }
}

const ok = (answer: Answer) => expect([answer.status, answer.text]).toEqual([200, '{"success":true}'])

test('the card shows what is asked for, in words, and so does the inbox', async () => {
  const person = await house.newPerson()
  const { code } = await start(['tool:execute', 'profile:read', 'profile:read'])
  const shown = await lookup(person, code)
  expect(shown.body.requested_scopes).toEqual([
    expect.objectContaining({ scope: 'profile:read', sensitive: false, default_mode: 'persistent' }),
    expect.objectContaining({ scope: 'tool:execute', sensitive: true, default_mode: 'session' }),
  ])
  const { body } = await house.call('GET', '/api/v1/approvals?kind=activation', { token: person.token })
  expect(body.items[0].scopes).toEqual(shown.body.requested_scopes)
  const plain = await start()
  expect((await lookup(person, plain.code)).body.requested_scopes).toEqual([])
})

test('what is no scope cannot be asked for, nor full access', async () => {
  for (const scope of ['*', 'profile:own', 'tool:execute:*', 'admin']) {
    const body = { requested_scopes: ['profile:read', scope] }
    const answer = await house.call('POST', '/api/v1/activate', { body })
    expect(answer.status, scope).toBe(400)
    expect(answer.body.error.details).toEqual({ unknown: [scope] })
  }
})

test('the whole or a part is granted, each in its mode, and works at once', async () => {
  const person = await house.newPerson()
  const { code, deviceCode } = await start(['profile:read', 'profile:search', 'agent:list'])
  const modes = { 'profile:search': 'session' }
  ok(await confirm(person, { code, scopes: ['profile:read', 'profile:search'], modes }))
  const paired = await collect(deviceCode)
  expect(paired).toMatchObject({
    activated: true,
    modes: { 'profile:read': 'persistent', 'profile:search': 'session' },
  })
  const read = (path: string) => house.call('GET', `/api/v1${path}`, { key: paired.key })
  expect((await read('/profile')).status).toBe(200)
  expect((await read('/profile/search?q=a')).status).toBe(200)
  expect((await read('/agents')).status).toBe(403)
})

test('a key that is granted something for a while only is active, and then has nothing', async () => {
  const person = await house.newPerson()
  const { code, deviceCode } = await start(['profile:read'])
  ok(await confirm(person, { code, scopes: ['profile:read'], modes: { 'profile:read': 'one_time' } }))
  const { key, activated } = await collect(deviceCode)
  expect(activated).toBe(true)
  expect((await house.call('GET', '/api/v1/profile', { key })).status).toBe(200)
  expect((await house.call('GET', '/api/v1/profile', { key })).status).toBe(403)
})

describe('a confirmation without a word about scopes', () => {
  test.each([{}, { access: 'declared' }, { scopes: [] }, { modes: { 'profile:read': 'persistent' } }])(
    'grants none of them: %j',
    async (said) => {
      const person = await house.newPerson()
      const { code, deviceCode } = await start(['profile:read'])
      ok(await confirm(person, { code, ...said }))
      const { key, activated } = await collect(deviceCode)
      expect(activated).toBe(false)
      expect((await house.call('GET', '/api/v1/profile', { key })).status).toBe(403)
      const rows = await house.deps.database.db
        .selectFrom('grants as g')
        .innerJoin('api_keys as k', 'k.id', 'g.key_id')
        .select('g.id')
        .where('k.user_id', '=', person.userId)
        .execute()
      expect(rows).toEqual([])
    },
  )

  test('is one for full access where none were asked for, as ever', async () => {
    const person = await house.newPerson()
    const { code, deviceCode } = await start()
    ok(await confirm(person, { code }))
    expect(await collect(deviceCode)).toMatchObject({ activated: true, modes: { '*': 'persistent' } })
  })
})

test('nothing is granted that was not asked for, and the code stays open', async () => {
  const person = await house.newPerson()
  const { code, deviceCode } = await start(['profile:read'])
  for (const scopes of [['agent:list'], ['profile:read', 'agent:list']]) {
    const answer = await confirm(person, { code, scopes })
    expect(answer.status, answer.text).toBe(400)
    expect(answer.body.error.details).toEqual({ beyond: ['agent:list'] })
  }
  const both = await confirm(person, { code, access: 'full', scopes: ['profile:read'] })
  expect(both.status, both.text).toBe(400)
  expect((await poll(deviceCode)).body).toEqual({ status: 'pending' })
  ok(await confirm(person, { code, scopes: ['profile:read'] }))
  const plain = await start()
  expect((await confirm(person, { code: plain.code, scopes: ['profile:read'] })).status).toBe(400)
})

test('what is sensitive is granted with a passkey over exactly this, and to nobody without one', async () => {
  const without = await house.newPerson()
  const first = await start(['profile:write', 'profile:read'])
  const scopes = ['profile:write', 'profile:read']
  expectDeviceAuthRequired(await confirm(without, { code: first.code, scopes }))
  ok(await confirm(without, { code: first.code, scopes: ['profile:read'] }))
  expect((await collect(first.deviceCode)).modes).toEqual({ 'profile:read': 'persistent' })

  const { person, authenticator } = await newPersonWithPasskey(house)
  const { code, deviceCode } = await start(['profile:write', 'profile:read'])
  const modes = { 'profile:write': 'session' }
  const signed = { purpose: 'confirm', code, scopes, modes }
  const prove = (input: object) => assertFor(house, person, authenticator, { ...signed, ...input })
  // Signed for something else than what is then sent.
  for (const other of [
    { modes: {} },
    { scopes: ['profile:write'] },
    { scopes: undefined, modes: undefined },
    { access: 'full' },
    { code: (await start(['profile:write'])).code },
  ]) {
    const device_auth = await prove(other)
    expectDeviceAuthRequired(await confirm(person, { code, scopes, modes, device_auth }))
  }
  const device_auth = await prove({})
  ok(await confirm(person, { code, scopes, modes, device_auth }))
  expect((await confirm(person, { code, scopes, modes, device_auth })).status).toBe(403)
  expect((await collect(deviceCode)).modes).toEqual({
    'profile:read': 'persistent',
    'profile:write': 'session',
  })
})

test('of 20 confirmations at once by two people one counts, and grants what it said', async () => {
  const people = [await house.newPerson(), await house.newPerson()]
  const { code, deviceCode } = await start(['profile:read', 'agent:list'])
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => {
      const scopes = index % 2 ? ['profile:read'] : ['agent:list']
      const at = index % 4 < 2 ? house : second
      const token = people[index % 2]?.token ?? ''
      return at.call('POST', '/api/v1/activate/confirm', { token, body: { code, scopes } })
    }),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const won = answers.findIndex(({ status }) => status === 200)
  const { modes } = await collect(deviceCode)
  expect(modes).toEqual({ [won % 2 ? 'profile:read' : 'agent:list']: 'persistent' })
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(19)
})

test('what was granted is in the log, scope by scope', async () => {
  const person = await house.newPerson()
  const { code } = await start(['profile:read', 'agent:list'])
  ok(await confirm(person, { code, scopes: ['profile:read'], modes: { 'profile:read': 'session' } }))
  const { body } = await house.call('GET', '/api/v1/activity?type=activation.approved', {
    token: person.token,
  })
  expect(body.items[0].details).toMatchObject({ access: 'declared', modes: { 'profile:read': 'session' } })
})

test('a poll that waits is answered by the decision, also by one in another process', async () => {
  for (const [decide, status] of [
    ['confirm', 'approved'],
    ['deny', 'denied'],
  ]) {
    const person = await house.newPerson()
    const { code, deviceCode } = await start()
    const waiting = poll(deviceCode, 25, second)
    const began = performance.now()
    await new Promise((resolve) => setTimeout(resolve, 300))
    await house.call('POST', `/api/v1/activate/${decide}`, { token: person.token, body: { code } })
    expect((await waiting).body.status).toBe(status)
    expectWithin(performance.now() - began, 10_000, 'the poll', 25_000)
  }
})

test('of ten polls that wait one gets the key', async () => {
  const person = await house.newPerson()
  const { code, deviceCode } = await start()
  const waiting = Array.from({ length: 10 }, (_, index) => poll(deviceCode, 20, index % 2 ? house : second))
  ok(await confirm(person, { code }))
  const bodies = (await Promise.all(waiting)).map(({ body }) => body)
  expect(bodies.filter(({ api_key }) => api_key !== undefined)).toHaveLength(1)
  expect(bodies.filter(({ status }) => status === 'consumed')).toHaveLength(9)
})

test('nobody waits for what never was, and nobody longer than a while', async () => {
  expect((await poll('guild_device_none', 25)).body).toEqual({ status: 'expired' })
  const { deviceCode } = await start()
  expect((await poll(deviceCode, 1)).body).toEqual({ status: 'pending' })
  expect((await poll(deviceCode, 26)).status).toBe(400)
})

// Last: the clock of this database stays ahead.
test('after its time nothing is granted', async () => {
  const person = await house.newPerson()
  const { code, deviceCode } = await start(['profile:read'])
  await shiftClock(databaseUrl, 601)
  expect((await confirm(person, { code, scopes: ['profile:read'] })).status).toBe(410)
  expect((await poll(deviceCode, 5)).body).toEqual({ status: 'expired' })
})
