import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { newPersonWithPasskey } from '../support/passkeys.ts'

let house: House

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
})

afterAll(() => house.close())

const newKey = async (person: Person) => (await house.newKey(person, { scopes: ['agent:list'] })).secret

async function askFor(key: string, wish: object = {}): Promise<string> {
  const asked = await house.call('POST', '/api/v1/agents/request-permission', {
    key,
    body: { scope: 'profile:read', mode: 'session', reason: 'r', ...wish },
  })
  expect(asked.status, asked.text).toBe(202)
  return asked.body.request_id
}

/** The same person, signed in on one more device. */
async function onDevice({ email }: Person, name: string): Promise<string> {
  const answer = await house.call('POST', '/api/v1/auth/dev', {
    body: { email },
    headers: { 'user-agent': name },
  })
  return answer.body.auth_token
}

const decide = (token: string, id: string, verb: string, body: object = {}) =>
  house.call('POST', `/api/v1/agents/request-permission/${id}/${verb}`, { token, body })
const itemOf = async (token: string, id: string) =>
  (await house.call('GET', `/api/v1/approvals/${id}`, { token })).body
const listed = async (token: string, query = '') =>
  (await house.call('GET', `/api/v1/approvals?${query}`, { token })).body.items
const sessionOf = async (token: string) =>
  (await house.call('GET', '/api/v1/auth/session', { token })).body.session_id

describe('who decided', () => {
  test('is nobody while it waits, then the person with the device, and it is known where they are now', async () => {
    const person = await house.newPerson()
    const [phone, desk] = [await onDevice(person, 'Phone'), await onDevice(person, 'Desk')]
    const id = await askFor(await newKey(person))
    expect(await itemOf(phone, id)).toMatchObject({ status: 'pending', decided_by: null, decided_at: null })
    expect((await decide(phone, id, 'approve')).status).toBe(200)
    const device = { session_id: await sessionOf(phone), name: 'Phone' }
    const decider = { user_id: person.userId, you: true, key_id: null, passkey: null }
    const seen = async (token: string) => (await itemOf(token, id)).decided_by
    expect(await seen(phone)).toMatchObject({ ...decider, device: { ...device, current: true } })
    expect(await seen(desk)).toMatchObject({ ...decider, device: { ...device, current: false } })
    expect((await listed(desk))[0].decided_by).toEqual(await seen(desk))
    // Also when that device is signed out.
    await house.call('POST', '/api/v1/auth/sign-out', { token: phone })
    expect(await seen(desk)).toMatchObject({ device })
  })

  test('is told with the passkey that proved it', async () => {
    const { person, authenticator, id: passkey } = await newPersonWithPasskey(house)
    const id = await askFor(await newKey(person), { scope: 'profile:write' })
    const challenge = await house.call('POST', `/api/v1/approvals/${id}/challenge`, {
      token: person.token,
      body: { modes: { 'profile:write': 'session' } },
    })
    const device_auth = authenticator.assert(challenge.body.options)
    expect((await decide(person.token, id, 'approve', { device_auth })).status).toBe(200)
    expect((await itemOf(person.token, id)).decided_by).toMatchObject({ passkey, you: true })
  })

  test('is nobody of what expired, and of what strangers ask about', async () => {
    const [person, stranger] = [await house.newPerson(), await house.newPerson()]
    const { id: keyId, secret } = await house.newKey(person, { scopes: ['agent:list'] })
    const [ended, decided] = [
      await askFor(secret),
      await askFor(await newKey(person), { scope: 'memory:read' }),
    ]
    await house.call('DELETE', `/api/v1/keys/${keyId}`, { token: person.token })
    await decide(person.token, decided, 'deny')
    expect(await itemOf(person.token, ended)).toMatchObject({ status: 'expired', decided_by: null })
    expect(await listed(stranger.token)).toEqual([])
    for (const verb of ['approve', 'deny']) {
      const refused = await decide(stranger.token, decided, verb)
      expect(refused.status).toBe(404)
      expect(refused.text).not.toContain(person.userId)
    }
  })
})

test('of two devices that race one wins, and the other is told which', async () => {
  const person = await house.newPerson()
  const devices = [await onDevice(person, 'Phone'), await onDevice(person, 'Desk')]
  const sessions = await Promise.all(devices.map(sessionOf))
  const key = await newKey(person)
  const wins = [0, 0]
  for (let round = 0; round < 100; round++) {
    const id = await askFor(key, { mode: 'one_time', reason: `number ${round}` })
    const verbs = round % 2 === 0 ? ['approve', 'deny'] : ['deny', 'approve']
    const answers = await Promise.all(devices.map((token, at) => decide(token, id, verbs[at] ?? '')))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const winner = answers.findIndex(({ status }) => status === 200)
    const status = verbs[winner] === 'approve' ? 'granted' : 'denied'
    const { decided_at, decided_by, ...item } = await itemOf(devices[winner] ?? '', id)
    expect(item.status).toBe(status)
    expect(decided_by.device).toMatchObject({ session_id: sessions[winner], current: true })
    expect(answers[1 - winner]?.body.error).toMatchObject({
      code: 'CONFLICT',
      details: { status, decided_at, decided_by: { ...decided_by, device: { current: false } } },
    })
    wins[winner] = (wins[winner] ?? 0) + 1
  }
  expect(wins.reduce((sum, count) => sum + count)).toBe(100)
})

describe('a card', () => {
  const args = { text: 'x'.repeat(60_000), list: [1, 2] }
  const diff = 'a\nb\nc'

  test('leaves out what is long and tells how long it is; the one is whole', async () => {
    const person = await house.newPerson()
    const key = await newKey(person)
    const action = { summary: 'Send it', tool: 'mail', target: 'Ann', args, diff }
    const id = await askFor(key, { action })
    const [card] = await listed(person.token, 'view=card')
    expect(card.action).toEqual({
      summary: 'Send it',
      tool: 'mail',
      target: 'Ann',
      argsBytes: JSON.stringify(args).length,
      diffLines: 3,
      unusual: false,
    })
    expect(JSON.stringify(card).length).toBeLessThan(4000)
    expect((await itemOf(person.token, id)).action).toEqual(action)
    expect((await listed(person.token))[0].action).toEqual(action)
  })

  test.each([
    ['turns text around', { summary: 'Send \u202etxt.exe' }],
    ['is not seen', { summary: 'a', args: { deep: [{ 'na\u200bme': 1 }] } }],
    ['is a control', { summary: 'a', args: ['\u001b[2K'] }],
    ['is a tag', { summary: 'a', diff: 'x\u{e0041}' }],
    ['is a format of music', { summary: 'a\u{1d173}b' }],
    ['is blank', { summary: 'a', args: ['\u2800'] }],
    ['is half a character', { summary: 'a', target: '\ud800' }],
  ])('says that something in it %s', async (_what, action) => {
    const person = await house.newPerson()
    const asked = await house.call('POST', '/api/v1/agents/request-permission', {
      key: await newKey(person),
      body: { scope: 'profile:read', reason: 'r', action },
    })
    // What cannot be stored is refused, and is on no card.
    if (asked.status === 400) return
    expect((await listed(person.token, 'view=card'))[0].action.unusual).toBe(true)
  })

  test('of ordinary text in any script is not unusual, with its lines and tabs', async () => {
    const person = await house.newPerson()
    await askFor(await newKey(person), { action: { summary: 'Größe 大 שלום', diff: '-\ta\n+\tb' } })
    expect((await listed(person.token, 'view=card'))[0].action.unusual).toBe(false)
  })

  test('of another view is refused', async () => {
    const { token } = await house.newPerson()
    expect((await house.call('GET', '/api/v1/approvals?view=whole', { token })).status).toBe(400)
  })
})

test('what is asked again while it waits is counted, and is one request', async () => {
  const person = await house.newPerson()
  const key = await newKey(person)
  const ids = await Promise.all(Array.from({ length: 7 }, () => askFor(key)))
  expect(new Set(ids).size).toBe(1)
  expect(await listed(person.token, 'status=pending')).toMatchObject([{ id: ids[0], times: 7 }])
})
