import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import type { House } from '../support/house.ts'
import {
  type App,
  authorizeUrl,
  bearer,
  browserFor,
  callback,
  exchange,
  newAuthorization,
  newTokens,
  type OAuthHouse,
  openOAuthHouse,
  publicUrl,
  reachConsent,
  registerApp,
} from '../support/oauth.ts'

let set: OAuthHouse
let house: House
let owner: Person
let app: App

beforeAll(async () => {
  set = await openOAuthHouse()
  ;({ house, owner } = set)
  app = await registerApp(house, owner)
})

afterAll(() => set.close())

const listWith = (token: string) => house.call('GET', '/api/v1/workspaces', bearer(token))

test.each([
  'http://app.example/cb',
  'https://app.example/cb#fragment',
  'https://*.example/cb',
  'https://user@app.example/cb',
  'https://App.example/cb',
  'https://app.example/a/../b',
  'https://localhost/cb',
  'https://localhost./cb',
  'http://localhost./cb',
  'https://app.example./cb',
  'com.example.app://host./cb',
  'javascript:alert(1)',
  'data:text/html,x',
  'myapp:/cb',
  '/relative',
  'https://app.example/cb x',
])('cannot be registered: %s', async (uri) => {
  const body = { name: 'x', redirect_uris: [uri] }
  const answer = await house.call('POST', '/api/v1/oauth/clients', { token: owner.token, body })
  expect(answer.status, answer.text).toBe(400)
  expect(answer.body.error.code).toBe('INVALID_INPUT')
})

test.each(['https://app.example', 'http://localhost:1/cb', 'http://[::1]:9/cb', 'com.example.app:/cb'])(
  'can be registered: %s',
  async (uri) => {
    const other = await registerApp(house, owner, { redirect_uris: [uri] })
    const answer = await house.call('GET', authorizeUrl(other, { redirect_uri: uri }).slice(publicUrl.length))
    expect(answer.status).toBe(303)
  },
)

test('removing an app ends its tokens at once', async () => {
  const gone = await registerApp(house, owner)
  const { access_token, refresh_token } = await newTokens(house, gone)
  expect((await listWith(access_token)).status).toBe(200)
  const removed = await house.call('DELETE', `/api/v1/oauth/clients/${gone.id}`, { token: owner.token })
  expect(removed.status).toBe(200)
  expect((await listWith(access_token)).status).toBe(401)
  const refresh = await exchange(house, gone, { grant_type: 'refresh_token', refresh_token })
  expect(refresh.body.error).toBe('invalid_client')
  expect(await set.query('select model from oauth_records where client_id = $1', [gone.id])).toEqual([])
})

test('a person keeps at most fifty apps, also when they are made at once', async () => {
  const keen = await house.newPerson()
  const body = { name: 'One of many', redirect_uris: [callback] }
  const answers = await Promise.all(
    Array.from({ length: 60 }, () =>
      house.call('POST', '/api/v1/oauth/clients', { token: keen.token, body }),
    ),
  )
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(50)
  expect(answers.filter((answer) => answer.status === 409)).toHaveLength(10)
  const list = await house.call('GET', '/api/v1/oauth/clients', { token: keen.token })
  expect(list.body).toHaveLength(50)
  expect(list.text).not.toContain('secret')
})

test('a token may not do what only a person may', async () => {
  const { access_token } = await newTokens(house, app, { query: { scope: 'read write admin' } })
  const sessionOnly = Object.values<Route>(routes).filter((route) => route.audience === 'session')
  expect(sessionOnly.length).toBeGreaterThan(10)
  for (const route of sessionOnly) {
    const answer = await house.call(route.method, route.path.replace(/:\w+/g, '1'), {
      ...bearer(access_token),
      ...(route.method === 'GET' ? {} : { body: {} }),
    })
    expect(answer.status, route.path).toBe(403)
    expect(answer.body.error.details).toEqual({ credential: 'oauth' })
  }
})

test('no secret is stored or logged in the clear', async () => {
  const redirect = await newAuthorization(house, app)
  const first = await exchange(house, app, { code: redirect.get('code') })
  const second = await exchange(house, app, {
    grant_type: 'refresh_token',
    refresh_token: first.body.refresh_token,
  })
  const secrets = [
    app.secret,
    redirect.get('code'),
    ...[first, second].flatMap(({ body }) => [body.access_token, body.refresh_token]),
  ]
  const tables = ['oauth_clients', 'oauth_records', 'activity', 'idempotency_keys']
  let stored = ''
  for (const table of tables) stored += JSON.stringify(await set.query(`select * from ${table}`))
  expect(stored.length).toBeGreaterThan(1000)
  for (const secret of secrets) {
    const bare = String(secret).replace(/^guild_[a-z]+_/, '')
    expect(stored).not.toContain(bare.slice(0, 20))
    expect(house.log()).not.toContain(bare.slice(0, 20))
  }
})

test('what happened is in the audit log', async () => {
  const logged = await registerApp(house, owner)
  const browser = browserFor(house)
  const page = await reachConsent(browser, authorizeUrl(logged), 'alice')
  await browser.submit(page, { decision: 'deny' })
  const { access_token: token } = await newTokens(house, logged)
  const body = { token, client_id: logged.id, client_secret: logged.secret }
  await house.call('POST', '/oauth/revoke', { body })
  await house.call('DELETE', `/api/v1/oauth/clients/${logged.id}`, { token: owner.token })
  const lines = await set.query(
    "select type, actor_kind, workspace_id from activity where details->>'clientId' = $1 order by id",
    [logged.id],
  )
  expect(lines.map((line) => [line.type, line.actor_kind])).toEqual([
    ['oauth_client.created', 'session'],
    ['oauth_grant.denied', 'session'],
    ['oauth_grant.allowed', 'session'],
    ['oauth_grant.revoked', 'oauth'],
    ['oauth_client.deleted', 'session'],
  ])
  expect(lines.every((line) => line.workspace_id !== null)).toBe(true)
})
