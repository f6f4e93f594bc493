import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Authenticator } from '../../../../test/support/authenticator.ts'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { atSize } from '../../../../test/support/sizes.ts'
import { createDatabase, type House, nowhere, openHouse, shiftClock } from '../support/house.ts'
import { expectDeviceAuthRequired, newPersonWithPasskey } from '../support/passkeys.ts'

let databaseUrl: string
let house: House
let person: Person
let authenticator: Authenticator

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  const made = await newPersonWithPasskey(house)
  person = made.person
  authenticator = made.authenticator
})

afterAll(() => house.close())

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const ask = (method: string, path: string, key: string, body?: unknown): Promise<Answer> =>
  house.call(method, `/api/v1${path}`, { key, ...(body === undefined ? {} : { body }) })
const decide = (path: string, body: unknown = {}): Promise<Answer> =>
  house.call('POST', `/api/v1/agents/${path}`, { token: person.token, body })

async function newKey(scopes?: string[]) {
  return house.newKey(person, scopes ? { scopes } : { access: 'declared' })
}

async function prove(id: string, choice: Record<string, unknown> = {}) {
  const answer = await house.call('POST', `/api/v1/approvals/${id}/challenge`, {
    token: person.token,
    body: choice,
  })
  expect(answer.status, answer.text).toBe(200)
  return authenticator.assert(answer.body.options)
}

async function requestAndApprove(
  key: string,
  scope: string,
  mode: string,
  extra: object = {},
): Promise<string> {
  const asked = await ask('POST', '/agents/request-permission', key, {
    scope,
    mode,
    reason: 'test',
    ...extra,
  })
  expect(asked.status, asked.text).toBe(202)
  const approved = await decide(`request-permission/${asked.body.request_id}/approve`)
  expect(approved.status, approved.text).toBe(200)
  return asked.body.request_id
}

describe('a refusal', () => {
  test('names every missing scope and carries the request that heals it', async () => {
    const { secret } = await newKey(['agent:list'])
    const refused = await ask('GET', '/profile', secret)
    expect(refused.status).toBe(403)
    expect(refused.body.error.code).toBe('FORBIDDEN')
    expect(refused.body.error.message).toContain('profile:read')
    expect(refused.body.error.details.missing_scopes).toEqual(['profile:read'])
    expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    const { method, path, body } = refused.body.error.details.request
    const asked = await house.call(method, path, { key: secret, body })
    expect(asked.status).toBe(202)
    await decide(`request-permission/${asked.body.request_id}/approve`)
    expect((await ask('GET', '/profile', secret)).status).toBe(200)
  })

  test('comes before the body is looked at', async () => {
    const { secret } = await newKey(['agent:list'])
    const answer = await house.call('PATCH', '/api/v1/profile', { key: secret, body: '{broken' })
    expect(answer.status).toBe(403)
  })
})

describe('consent', () => {
  test('activates a key with the subset that was approved', async () => {
    const { secret } = await newKey()
    expect((await ask('GET', '/agents/me', secret)).status).toBe(403)
    const asked = await ask('POST', '/agents/connect', secret, {
      requestedScopes: ['profile:read', 'profile:search', 'agent:list'],
    })
    expect(asked.status).toBe(202)
    const found = await decide('connect/by-code', { code: ` ${asked.body.link_code.toLowerCase()} ` })
    expect(found.body.requested_scopes.map((each: { scope: string }) => each.scope)).toHaveLength(3)
    await decide(`connect/${asked.body.consent_id}/approve`, { scopes: ['profile:read'] })
    expect((await ask('GET', asked.body.poll_url.slice(7), secret)).body).toEqual({
      status: 'granted',
      scopes: ['profile:read'],
    })
    expect((await ask('GET', '/profile', secret)).status).toBe(200)
    expect((await ask('GET', '/profile/search?q=x', secret)).status).toBe(403)
  })

  test('narrows a key with full access to exactly what was approved', async () => {
    const { secret } = await house.newKey(person, {
      access: 'full',
      device_auth: await fullAccessProof(),
    })
    const asked = await ask('POST', '/agents/connect', secret, { requestedScopes: ['profile:read'] })
    expect(asked.status).toBe(202)
    await decide(`connect/${asked.body.consent_id}/approve`, { scopes: ['profile:read'] })
    const self = await ask('GET', '/agents/me', secret)
    expect(self.body.scopes).toEqual([{ scope: 'profile:read', mode: 'persistent', expires_at: null }])
    expect((await ask('PATCH', '/profile', secret, {})).status).toBe(403)
  })

  async function fullAccessProof() {
    const options = await house.call('POST', '/api/v1/passkeys/options', {
      token: person.token,
      body: { purpose: 'create-key', access: 'full' },
    })
    return authenticator.assert(options.body.assertion)
  }

  test('sensitive scopes need a passkey that signed exactly this choice', async () => {
    const { secret } = await newKey()
    const requestedScopes = ['profile:read', 'profile:write']
    const { body: asked } = await ask('POST', '/agents/connect', secret, { requestedScopes })
    const path = `connect/${asked.consent_id}/approve`
    expectDeviceAuthRequired(await decide(path, { scopes: requestedScopes }))
    const forLess = await prove(asked.consent_id, { scopes: ['profile:write'] })
    expectDeviceAuthRequired(await decide(path, { scopes: requestedScopes, device_auth: forLess }))
    const inSession = await prove(asked.consent_id, {
      scopes: requestedScopes,
      modes: { 'profile:write': 'session' },
    })
    expectDeviceAuthRequired(await decide(path, { scopes: requestedScopes, device_auth: inSession }))
    expect((await ask('GET', asked.poll_url.slice(7), secret)).body.status).toBe('pending')
    const device_auth = await prove(asked.consent_id, { scopes: requestedScopes })
    expect((await decide(path, { scopes: requestedScopes, device_auth })).status).toBe(200)
    expect((await ask('PATCH', '/profile', secret, { bio: 'changed' })).status).toBe(200)
  })

  test('equal questions share one id, and a key cannot have more than five waiting', async () => {
    const { secret } = await newKey(['agent:list'])
    const scopes = [
      'profile:read',
      'profile:search',
      'profile:write',
      'memory:read',
      'billing:read',
      'memory:write',
    ]
    const request = (scope: string) =>
      ask('POST', '/agents/request-permission', secret, { scope, mode: 'session', reason: 'same' })
    const twins = await Promise.all(Array.from({ length: 10 }, () => request('profile:read')))
    expect(new Set(twins.map((answer) => answer.body.request_id)).size).toBe(1)
    const statuses = []
    for (const scope of scopes) statuses.push((await request(scope)).status)
    expect(statuses).toEqual([202, 202, 202, 202, 202, 429])
  })

  test('a long poll answers as soon as the person has decided, on whichever process', async () => {
    const other = await openHouse({ DATABASE_URL: databaseUrl })
    try {
      const { secret } = await newKey()
      const { body: asked } = await ask('POST', '/agents/connect', secret)
      const begun = performance.now()
      const polled = other.call('GET', `${asked.poll_url}?wait=20`, { key: secret })
      await wait(300)
      await decide(`connect/${asked.consent_id}/deny`, { reason: 'not today' })
      expect((await polled).body).toEqual({ status: 'denied', deny_reason: 'not today' })
      expectWithin(performance.now() - begun, 1500, 'the poll', 20_000)
    } finally {
      await other.close()
    }
  })

  test('another person cannot find, approve or deny it, and learns nothing from trying', async () => {
    const stranger = await house.newPerson()
    const { secret } = await newKey()
    const { body: asked } = await ask('POST', '/agents/connect', secret)
    const tries = ['approve', 'deny'].map((verb) => (id: string) => ({
      path: `/api/v1/agents/connect/${id}/${verb}`,
      body: { scopes: ['profile:read'] },
    }))
    for (const attempt of tries) {
      const answers = await Promise.all(
        [asked.consent_id, 'consent_none'].map((id) => {
          const { path, body } = attempt(id)
          return house.call('POST', path, { token: stranger.token, body })
        }),
      )
      expect(answers[0]?.status).toBe(404)
      expect(answers[0]?.text).toBe(answers[1]?.text)
    }
    const byCode = await house.call('POST', '/api/v1/agents/connect/by-code', {
      token: stranger.token,
      body: { code: asked.link_code },
    })
    expect(byCode.status).toBe(404)
  })
})

describe('permission requests', () => {
  test('the action is shown to the person exactly as it was sent', async () => {
    const { secret } = await newKey(['agent:list'])
    const action = {
      summary: '<b>Send</b> \u202e mail',
      tool: 'mail',
      args: { to: ['a@b'], n: 1.5 },
      diff: '-a\n+b',
    }
    await ask('POST', '/agents/request-permission', secret, { scope: 'profile:read', reason: 'r', action })
    const inbox = await house.call('GET', '/api/v1/approvals?status=pending&kind=permission', {
      token: person.token,
    })
    expect(inbox.body.items[0]).toMatchObject({ kind: 'permission', status: 'pending', action, reason: 'r' })
  })

  test('a malformed request does not spend a one_time grant, nor does a route that does not need it', async () => {
    const { secret } = await newKey(['agent:list'])
    await requestAndApprove(secret, 'profile:search', 'one_time')
    expect((await ask('GET', '/profile/search', secret)).status).toBe(400)
    expect((await ask('GET', '/workspaces', secret)).status).toBe(200)
    expect((await ask('GET', '/profile/search?q=a', secret)).status).toBe(200)
    expect((await ask('GET', '/profile/search?q=a', secret)).status).toBe(403)
  })

  test('a session grant is good until its hour is over, and refused at 3,601 s; a one_time grant ends after 300 s', async () => {
    const { secret } = await newKey(['agent:list'])
    await requestAndApprove(secret, 'profile:read', 'session')
    await requestAndApprove(secret, 'profile:search', 'one_time')
    try {
      await shiftClock(databaseUrl, 301)
      expect((await ask('GET', '/profile/search?q=a', secret)).status).toBe(403)
      // What the machine takes meanwhile passes for the grant too.
      await shiftClock(databaseUrl, atSize(3570, 3599))
      expect((await ask('GET', '/profile', secret)).status).toBe(200)
      await shiftClock(databaseUrl, 3601)
      expect((await ask('GET', '/profile', secret)).status).toBe(403)
    } finally {
      await shiftClock(databaseUrl, 0)
    }
  })

  test('taking a scope away ends its grants too, and foreign keys are missing', async () => {
    const { id, secret } = await newKey(['agent:list'])
    await requestAndApprove(secret, 'profile:read', 'session')
    const remove = (token: string) =>
      house.call('DELETE', `/api/v1/agents/${id}/scopes/profile:read`, { token })
    expect((await remove((await house.newPerson()).token)).status).toBe(404)
    expect((await ask('GET', '/profile', secret)).status).toBe(200)
    expect((await remove(person.token)).body).toEqual({ success: true, key_id: id, scopes: ['agent:list'] })
    expect((await ask('GET', '/profile', secret)).status).toBe(403)
  })
})

test.each([
  ['over Redis', {}, 200],
  ['without Redis', { REDIS_URL: `redis://${nowhere}` }, 1000],
])('a lost scope is refused by another process within a second %s', async (_how, env, withinMs) => {
  const other = await openHouse({ DATABASE_URL: databaseUrl, ...env })
  const here = await openHouse({ DATABASE_URL: databaseUrl, ...env })
  try {
    const { id, secret } = await here.newKey(person, { scopes: ['profile:read'] })
    const use = () => other.call('GET', '/api/v1/profile', { key: secret })
    expect((await use()).status).toBe(200)
    await here.call('DELETE', `/api/v1/agents/${id}/scopes/profile:read`, { token: person.token })
    const lost = performance.now()
    while ((await use()).status === 200) await wait(5)
    expectWithin(performance.now() - lost, withinMs)
  } finally {
    await Promise.all([other.close(), here.close()])
  }
})

test('every decision is in the activity, which cannot be changed', async () => {
  const someone = await house.newPerson()
  const { id, secret } = await house.newKey(someone, { scopes: ['agent:list'] })
  const asked = await ask('POST', '/agents/request-permission', secret, {
    scope: 'profile:read',
    reason: 'r',
  })
  await house.call('POST', `/api/v1/agents/request-permission/${asked.body.request_id}/approve`, {
    token: someone.token,
  })
  await house.call('DELETE', `/api/v1/agents/${id}/scopes/agent:list`, { token: someone.token })
  const list = await house.call('GET', '/api/v1/activity', { token: someone.token })
  const types = list.body.items.map((item: { type: string }) => item.type)
  expect(types.slice(0, 2)).toEqual(['scope.removed', 'permission.granted'])
  expect(list.body.items[1].details).toMatchObject({ keyId: id, scopes: ['profile:read'] })
  const { db } = house.deps.database
  await expect(db.updateTable('activity').set({ type: 'key.created' }).execute()).rejects.toThrow(
    /never changed/,
  )
  await expect(db.deleteFrom('activity').execute()).rejects.toThrow(/never changed/)
})

test('who has left a workspace finds nothing to decide there', async () => {
  const [owner, member] = [await house.newPerson(), await house.newPerson()]
  const team = await house.newTeam(owner)
  const headers = { 'x-workspace-id': team }
  await house.addMember(owner, team, member)
  const made = await house.call('POST', '/api/v1/keys', {
    token: member.token,
    headers,
    body: { label: 'of a member', access: 'declared' },
  })
  const asked = await ask('POST', '/agents/connect', made.body.api_key, { requestedScopes: ['agent:list'] })
  expect(asked.status, asked.text).toBe(202)
  const deny = () =>
    house.call('POST', `/api/v1/agents/connect/${asked.body.consent_id}/deny`, { token: member.token })
  const path = `/api/v1/workspaces/current/members/${member.userId}`
  expect((await house.call('DELETE', path, { token: owner.token, headers })).status).toBe(200)
  expect((await deny()).status).toBe(404)
  // Nor after coming back: the key that asked has ended.
  await house.addMember(owner, team, member)
  expect((await deny()).status).toBe(404)
})
