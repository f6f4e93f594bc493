import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { type Holder, newHolder } from '../support/credentials.ts'
import { newTeamWith } from '../support/house.ts'
import { type OAuthHouse, openOAuthHouse, registerApp } from '../support/oauth.ts'

/** What whoever calls is told about themselves, and where the person decides whom they ask. */
let set: OAuthHouse
let holder: Holder

beforeAll(async () => {
  set = await openOAuthHouse()
  const app = await registerApp(set.house, await set.house.newPerson())
  holder = await newHolder(set, app, 'self')
})

afterAll(() => set.close())

const newPerson = () => set.house.newPerson()
const newKey = async (person: Person, scopes = ['agent:list']) =>
  (await set.house.newKey(person, { scopes })).secret
const withKey = (key: string, method: string, path: string, body?: unknown) =>
  set.house.call(method, `/api/v1${path}`, { key, ...(body !== undefined && { body }) })

describe('GET /me', () => {
  test('tells a session who it is', async () => {
    const { body } = await holder.call(holder.session, 'GET', '/me')
    expect(body).toEqual({
      credential: 'session',
      user: { id: holder.userId, email: 'self@example.test', name: expect.anything() },
      workspace: { id: holder.workspaceId, name: null },
      mode: 'basedmode',
      scopes: ['*'],
      expiresAt: expect.stringMatching(/^2/),
      session: { id: expect.any(Number) },
    })
  })

  test('tells a key, and not who its person is', async () => {
    const until = '2040-01-01T00:00:00.000Z'
    const { id, headers } = await holder.newKey({
      access: 'declared',
      scopes: ['agent:list'],
      expiresAt: until,
    })
    const { body } = await holder.call(headers, 'GET', '/me')
    expect(body).toEqual({
      credential: 'key',
      user: { id: holder.userId },
      workspace: { id: holder.workspaceId, name: null },
      mode: 'basedmode',
      scopes: ['agent:list'],
      expiresAt: until,
      key: { id, label: 'test', prefix: expect.stringMatching(/^guild_live_/) },
    })
    const own = await holder.call(headers, 'GET', '/agents/me')
    expect(own.body.key.expiresAt).toBe(until)
  })

  test('tells an app what it was allowed', async () => {
    const { body } = await holder.call(holder.oauth, 'GET', '/me')
    expect(body).toMatchObject({
      credential: 'oauth',
      user: { id: holder.userId },
      grant: { id: expect.any(Number) },
    })
    expect(body.scopes).not.toContain('*')
    expect(body.user).not.toHaveProperty('email')
  })

  test('refuses who has none', async () => {
    expect((await set.house.call('GET', '/api/v1/me')).status).toBe(401)
  })

  test('names the workspace that a session chose for the request', async () => {
    const [owner, member] = [await newPerson(), await newPerson()]
    const team = await newTeamWith(set.house, owner, member)
    const answer = await set.house.call('GET', '/api/v1/me', {
      token: member.token,
      headers: { 'x-workspace-id': team },
    })
    expect(answer.body.workspace.id).toBe(team)
  })
})

describe('what a key asked', () => {
  test('is listed with where it is decided, as long as it waits', async () => {
    const person = await newPerson()
    const key = await newKey(person)
    const other = await newKey(person)
    const asked = await withKey(key, 'POST', '/agents/request-permission', {
      scope: 'profile:read',
      reason: 'r',
    })
    const ask = await withKey(key, 'POST', '/agents/ask', { question: 'Go on?' })
    const consent = await withKey(key, 'POST', '/agents/connect', { requestedScopes: ['profile:search'] })
    const { pending } = (await withKey(key, 'GET', '/agents/me')).body
    expect(pending).toEqual([
      {
        id: asked.body.request_id,
        kind: 'permission',
        scopes: ['profile:read'],
        approval_url: asked.body.approval_url,
        poll_url: asked.body.poll_url,
        created_at: expect.any(String),
        expires_at: expect.any(String),
      },
      expect.objectContaining({ id: ask.body.ask_id, kind: 'ask', poll_url: ask.body.poll_url }),
      expect.objectContaining({ id: consent.body.consent_id, approval_url: consent.body.approval_url }),
    ])
    expect(asked.body.approval_url).toMatch(/^http.*\/approvals\/permission_/)
    expect((await withKey(other, 'GET', '/agents/me')).body.pending).toEqual([])
    await withKey(key, 'POST', `/agents/ask/${ask.body.ask_id}/withdraw`)
    await set.house.call('POST', `/api/v1/agents/request-permission/${asked.body.request_id}/deny`, {
      token: person.token,
    })
    const after = (await withKey(key, 'GET', '/agents/me')).body.pending
    expect(after.map(({ id }: { id: string }) => id)).toEqual([consent.body.consent_id])
  })

  test('is named by the refusal of what it would allow, and by no other', async () => {
    const person = await newPerson()
    const key = await newKey(person)
    const before = await withKey(key, 'GET', '/profile')
    expect(before.body.error.details).not.toHaveProperty('approval_url')
    const asked = await withKey(key, 'POST', '/agents/request-permission', {
      scope: 'profile:read',
      reason: 'r',
    })
    const details = (await withKey(key, 'GET', '/profile')).body.error.details
    expect(details).toMatchObject({ missing_scopes: ['profile:read'], approval_url: asked.body.approval_url })
    expect((await withKey(key, 'GET', '/billing')).body.error.details).not.toHaveProperty('approval_url')
    const other = await newKey(person)
    expect((await withKey(other, 'GET', '/profile')).body.error.details).not.toHaveProperty('approval_url')
  })

  test('is where the deployment says that people decide', async () => {
    const { body } = await set.house.call('GET', '/api/v1/meta')
    const key = await newKey(await newPerson())
    const asked = await withKey(key, 'POST', '/agents/connect', { requestedScopes: ['profile:read'] })
    expect(asked.body.approval_url).toBe(`${body.appUrl}/approvals/${asked.body.consent_id}`)
    expect(body.clients.cli.minimum).toMatch(/^\d+\.\d+\.\d+$/)
  })
})

describe('a key that ends itself', () => {
  test('works no more, in any process, and nobody else is touched', async () => {
    const person = await newPerson()
    const [key, other] = [await newKey(person), await newKey(person)]
    const ended = await withKey(key, 'DELETE', '/agents/me')
    const counts = { stopped: 0, stoppedRuns: 0, endedGrants: 0, droppedRequests: 0 }
    expect([ended.status, ended.body]).toEqual([200, { success: true, ...counts }])
    expect((await withKey(key, 'GET', '/agents/me')).status).toBe(401)
    expect((await withKey(key, 'DELETE', '/agents/me')).status).toBe(401)
    expect((await withKey(other, 'GET', '/agents/me')).status).toBe(200)
    const { body } = await set.house.call('GET', '/api/v1/activity?type=key.revoked', { token: person.token })
    expect(body.items).toHaveLength(1)
  })

  test('ends once, however often it is asked at once', async () => {
    const person = await newPerson()
    const key = await newKey(person)
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => withKey(key, 'DELETE', '/agents/me?stopRunning=true')),
    )
    for (const { status } of answers) expect([200, 401]).toContain(status)
    const { body } = await set.house.call('GET', '/api/v1/activity?type=key.revoked', { token: person.token })
    expect(body.items).toHaveLength(1)
  })

  test('is the only one that can: a session and an app are refused', async () => {
    for (const headers of [holder.session, holder.oauth]) {
      expect((await holder.call(headers, 'DELETE', '/agents/me')).status).toBe(403)
    }
    expect((await holder.call(holder.key, 'GET', '/agents/me')).status).toBe(200)
  })
})

describe('GET /approvals/:id', () => {
  const read = ({ token }: Person, id: string, query = '') =>
    set.house.call('GET', `/api/v1/approvals/${id}${query}`, { token })

  async function newRequest() {
    const person = await newPerson()
    const key = await newKey(person)
    const asked = await withKey(key, 'POST', '/agents/request-permission', {
      scope: 'profile:read',
      reason: 'r',
    })
    return { person, key, id: asked.body.request_id as string }
  }

  test('is the item of the list, whole, also of a pairing', async () => {
    const { person, id } = await newRequest()
    const { userCode } = await set.house.newCode()
    await set.house.call('GET', `/api/v1/activate/lookup?code=${userCode}`, { token: person.token })
    const { items } = (await set.house.call('GET', '/api/v1/approvals', { token: person.token })).body
    expect(items).toHaveLength(2)
    for (const item of items) expect((await read(person, item.id)).body).toEqual(item)
    expect((await read(person, id)).body.approval_url).toMatch(`/approvals/${id}`)
  })

  test('is not there for others, of the same workspace or another', async () => {
    const { id } = await newRequest()
    const foreign = await read(await newPerson(), id)
    const unknown = await read(await newPerson(), 'permission_00000000-0000-4000-8000-000000000000')
    expect([foreign.status, unknown.status]).toEqual([404, 404])
    expect(foreign.body.error.message).toBe(unknown.body.error.message)
  })

  test('answers who waits as soon as it is decided', async () => {
    const { person, id } = await newRequest()
    const began = performance.now()
    const waiting = read(person, id, '?wait=25')
    await new Promise((resolve) => setTimeout(resolve, 200))
    await set.house.call('POST', `/api/v1/agents/request-permission/${id}/deny`, {
      token: person.token,
      body: { reason: 'no' },
    })
    expect((await waiting).body).toMatchObject({ status: 'denied', deny_reason: 'no' })
    expectWithin(performance.now() - began, 10_000, 'the wait', 25_000)
    expect((await read(person, id, '?wait=25')).body.status).toBe('denied')
    expect((await read(person, id, '?wait=26')).status).toBe(400)
  })
})
