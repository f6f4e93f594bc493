import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { inWorkspace, listKeys, newKey, newPerson } from './support/actors.ts'
import type { Caller } from './support/client.ts'
import {
  approveRequest,
  callGuarded,
  connect,
  mustConnect,
  type PendingRequest,
  pollAt,
  request,
} from './support/consent.ts'
import { callRoute, publishedRoutes } from './support/published.ts'
import { type ErrorBody, expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const servedBeforeActivation = [
  'POST /api/v1/agents/connect',
  'GET /api/v1/agents/connect/poll/{consentId}',
  'POST /api/v1/agents/request-permission',
]

describe('a key that is not activated', () => {
  test('is refused on every route but three', async () => {
    verifies('auth:unactivated:every-call-403')
    const routes = (await publishedRoutes()).filter(({ isPublic }) => !isPublic)
    const named = routes.map(({ method, path }) => `${method} ${path}`)
    expect(named).toEqual(expect.arrayContaining(servedBeforeActivation))
    expect(routes.length).toBeGreaterThan(30)
    const person = await newPerson()
    let key = await newKey(person, { access: 'declared' })
    for (const [index, route] of routes.entries()) {
      if (servedBeforeActivation.includes(named[index] ?? '')) continue
      // There are more routes than one key may call in a minute.
      if (index % 80 === 79) key = await newKey(person, { access: 'declared' })
      const answer = await callRoute(key, route)
      expect([named[index], answer.status]).toEqual([named[index], 403])
      expectRefusal(answer, 403, 'FORBIDDEN')
    }
    const keys = await listKeys(person)
    expect(keys.length).toBeGreaterThan(0)
    for (const each of keys) expect(each).toMatchObject({ activated: false, scopes: [] })
  })

  test('is served by those three', async () => {
    verifies('auth:unactivated:every-call-403')
    const key = await newKey(await newPerson(), { access: 'declared' })
    const { status, body } = await connect(key, ['profile:read'])
    expect(status).toBe(202)
    expect((await pollAt(key, body.poll_url)).body).toEqual({ status: 'pending' })
    expectRefusal(await request(key, 'profile:read'), 409, 'ACTIVATION_REQUIRED')
  })
})

describe('a key that lacks a scope', () => {
  const guarded: [scope: string, call: (key: Caller) => ReturnType<Caller['send']>][] = [
    ['profile:read', (key) => key.get('/profile')],
    ['profile:search', (key) => key.get('/profile/search?q=tea')],
    ['profile:write', (key) => key.patch('/profile', { bio: 'Likes tea' })],
  ]

  test.each(guarded)('is told that it is %s', async (scope, call) => {
    verifies('auth:scope:missing-403-names-scope', 'auth:scope:route-map-profile')
    const person = await newPerson()
    const others = guarded.flatMap(([other]) => (other === scope ? [] : [other]))
    for (const scopes of [['agent:list'], others]) {
      const refusal = expectRefusal(await call(await newKey(person, { scopes })), 403, 'FORBIDDEN')
      expect(refusal.message).toContain(scope)
      for (const other of others) expect(refusal.message).not.toContain(other)
    }
    for (const fields of [{ scopes: [scope] }, {}]) {
      expect((await call(await newKey(person, fields))).status).toBe(200)
    }
    expect((await call(person)).status).toBe(200)
  })

  test.each(guarded)('is handed the request that asks for %s', async (scope, call) => {
    verifies('auth:scope:refusal-heals')
    const person = await newPerson()
    const key = await newKey(person, { scopes: ['agent:list'] })
    const answer = await call(key)
    const { details } = expectRefusal(answer, 403, 'FORBIDDEN')
    expect(details?.['missing_scopes']).toEqual([scope])
    expect(answer.headers['www-authenticate']).toMatch(/\berror="insufficient_scope"/)
    expect(details?.['request']).toEqual({
      method: expect.any(String),
      path: expect.any(String),
      body: expect.any(Object),
    })
    const healing = details?.['request'] as { method: string; path: string; body: object } | undefined
    const asked = await key.send<PendingRequest>(healing?.method ?? '', `root:${healing?.path}`, {
      body: healing?.body,
    })
    expect(asked.status).toBe(202)
    const { items } = (await person.get<{ items: object[] }>('/approvals')).body
    expect(items).toMatchObject([{ id: asked.body.request_id, kind: 'permission', scopes: [{ scope }] }])
    if (scope === 'profile:write') return
    expect((await approveRequest(person, asked.body.request_id)).status).toBe(200)
    expect((await call(key)).status).toBe(200)
  })

  test('is refused before its request is looked at', async () => {
    verifies('auth:scope:missing-403-names-scope')
    const key = await newKey(await newPerson(), { scopes: ['agent:list'] })
    const headers = { 'content-type': 'application/json' }
    for (const rawBody of ['{"bio":7}', '{']) {
      const answer = await key.send('PATCH', '/profile', { rawBody, headers })
      expect(expectRefusal(answer, 403, 'FORBIDDEN').message).toContain('profile:write')
    }
  })
})

test('forbidden is one code for a key that waits, a missing scope and a foreign workspace', async () => {
  verifies('errors:code:forbidden')
  const [person, other] = [await newPerson(), await newPerson()]
  const answers = [
    await (await newKey(person, { access: 'declared' })).get<ErrorBody>('/workspaces'),
    await callGuarded(await newKey(person, { scopes: ['agent:list'] })),
    await person.get<ErrorBody>('/workspaces', inWorkspace(other.workspaceId)),
    await person.get<ErrorBody>('/workspaces', inWorkspace(randomUUID())),
  ]
  for (const answer of answers) expectRefusal(answer, 403, 'FORBIDDEN')
})

test.each([[['nope']], [['profile:read', 'nope']], [['profile:read', '']], [['*', 'nope']]])(
  'no key is made with scopes that do not exist: %j',
  async (scopes) => {
    verifies('keys:create:unknown-scope-400')
    const person = await newPerson()
    for (const more of [{}, { access: 'declared' }]) {
      expectRefusal(await person.post('/keys', { label: 'A key', scopes, ...more }), 400, 'INVALID_INPUT')
    }
    expect(await listKeys(person)).toEqual([])
  },
)

test('what only a person may decide is refused to a key with full access', async () => {
  verifies('auth:session-only:key-403')
  const person = await newPerson()
  const [key, asking] = [await newKey(person), await newKey(person, { scopes: ['agent:list'] })]
  const { consent_id, link_code, poll_url } = await mustConnect(asking, ['profile:read'])
  const { body: asked } = await request(asking, 'billing:read')
  const calls: [method: string, path: string, body?: object][] = [
    ['POST', '/agents/connect/by-code', { code: link_code }],
    ['POST', `/agents/connect/${consent_id}/approve`, { scopes: ['profile:read'] }],
    ['POST', `/agents/connect/${consent_id}/deny`],
    ['POST', `/agents/request-permission/${asked.request_id}/approve`],
    ['POST', `/agents/request-permission/${asked.request_id}/deny`],
    ['DELETE', `/agents/${asking.id}/scopes/agent:list`],
    ['GET', '/approvals'],
    ['POST', `/approvals/${consent_id}/challenge`],
    ['GET', '/passkeys'],
    ['POST', '/passkeys/options'],
    ['POST', '/passkeys', { credential: {} }],
    ['DELETE', '/passkeys/x'],
    ['GET', '/oauth/clients'],
    ['POST', '/oauth/clients', { name: 'App', redirect_uris: ['https://app.example/cb'] }],
    ['DELETE', '/oauth/clients/x'],
  ]
  for (const [method, path, body] of calls) {
    for (const caller of [key, asking]) {
      const answer = await caller.send(method, path, body ? { body } : {})
      expect([method, path, answer.status]).toEqual([method, path, 403])
      expectRefusal(answer, 403, 'FORBIDDEN')
    }
  }
  for (const url of [poll_url, asked.poll_url]) {
    expect((await pollAt(asking, url)).body).toEqual({ status: 'pending' })
  }
  expect((await connect(asking, ['agent:list'])).status).toBe(200)
})
