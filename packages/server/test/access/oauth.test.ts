import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { type House, openHouse, shiftClock } from '../support/house.ts'
import {
  type App,
  authorizeUrl,
  bearer,
  callback,
  exchange,
  newAuthorization,
  newPkce,
  newTokens,
  type OAuthHouse,
  openOAuthHouse,
  publicUrl,
  registerApp,
  wayBack,
} from '../support/oauth.ts'
import { redisUrl } from '../support/redis.ts'

let set: OAuthHouse
let house: House
let owner: Person
let app: App
let publicApp: App

beforeAll(async () => {
  set = await openOAuthHouse()
  ;({ house, owner } = set)
  app = await registerApp(house, owner)
  publicApp = await registerApp(house, owner, { public: true })
})

afterAll(() => set.close())

const listWith = (token: string) => house.call('GET', '/api/v1/workspaces', bearer(token))

test('a person lets an app in, and the app acts in the chosen workspace', async () => {
  const tokens = await newTokens(house, app, { query: { scope: 'read write admin' } })
  expect(tokens).toEqual({
    access_token: expect.stringMatching(/^guild_access_[0-9A-Za-z]{49}$/),
    refresh_token: expect.stringMatching(/^guild_refresh_/),
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'read write admin',
  })
  const answer = await listWith(tokens.access_token)
  expect(answer.status, answer.text).toBe(200)
  expect(answer.body).toMatchObject([{ kind: 'personal', current: true }])
})

test('the redirect carries the code, the state as it was sent and who issued it', async () => {
  const redirect = await newAuthorization(house, app)
  expect(Object.fromEntries(redirect)).toEqual({
    code: expect.stringMatching(/^guild_code_/),
    state: 'a b/&=%',
    iss: publicUrl,
  })
})

test('a public app must use PKCE with S256, and its verifier must fit', async () => {
  const errorOf = async (query: Record<string, string>) => {
    const answer = await house.call('GET', authorizeUrl(publicApp, query).slice(publicUrl.length))
    return wayBack(answer).searchParams.get('error')
  }
  const { challenge, verifier } = newPkce()
  expect(await errorOf({})).toBe('invalid_request')
  expect(await errorOf({ code_challenge: challenge, code_challenge_method: 'plain' })).toBe('invalid_request')
  expect(await errorOf({ code_challenge: challenge })).toBe('invalid_request')
  const redirect = await newAuthorization(house, publicApp, {
    query: { code_challenge: challenge, code_challenge_method: 'S256' },
  })
  const code = redirect.get('code')
  for (const wrong of [{}, { code_verifier: newPkce().verifier }]) {
    expect((await exchange(house, publicApp, { code, ...wrong })).body.error).toBe('invalid_grant')
  }
  expect((await exchange(house, publicApp, { code, code_verifier: verifier })).status).toBe(200)
})

test('the token endpoint takes JSON and forms, with the secret in the body or the header', async () => {
  const basic = `Basic ${Buffer.from(`${app.id}:${app.secret}`).toString('base64')}`
  const redirect = await newAuthorization(house, app)
  const fields = {
    grant_type: 'authorization_code',
    redirect_uri: callback,
    code: redirect.get('code') ?? '',
  }
  const answer = await house.call('POST', '/oauth/token', {
    headers: { authorization: basic, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
  expect(answer.status, answer.text).toBe(200)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('x-ratelimit-remaining')).not.toBeNull()
  const revoked = await house.call('POST', '/oauth/revoke', {
    headers: { authorization: basic, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: answer.body.access_token }).toString(),
  })
  expect(revoked.status).toBe(200)
  expect((await listWith(answer.body.access_token)).status).toBe(401)
})

test('refusals of the token endpoint have the shape of the RFC', async () => {
  const redirect = await newAuthorization(house, app)
  const code = redirect.get('code')
  const wrong = await exchange(house, { ...app, secret: 'guild_oauth_wrong' }, { code })
  expect(wrong.status).toBe(401)
  expect(wrong.body).toEqual({ error: 'invalid_client', error_description: expect.any(String) })
  const bodies: [unknown, string][] = [
    [{ grant_type: 'password', client_id: app.id, client_secret: app.secret }, 'unsupported_grant_type'],
    [{ client_id: app.id, client_secret: app.secret, code: { nested: true } }, 'invalid_request'],
    [[], 'invalid_request'],
    ['{', 'invalid_request'],
    [{ grant_type: 'x', client_id: 'a\u0000b' }, 'invalid_request'],
    [{}, 'invalid_request'],
  ]
  for (const [body, error] of bodies) {
    const answer = await house.call('POST', '/oauth/token', { body, headers: { accept: 'text/html' } })
    expect(answer.status, answer.text).toBe(400)
    expect(answer.body).toEqual({ error, error_description: expect.any(String) })
  }
  const large = await house.call('POST', '/oauth/token', { body: { code: 'x'.repeat(70_000) } })
  expect(large.body.error).toBe('invalid_request')
  expect((await exchange(house, publicApp, { code })).body.error).toBe('invalid_grant')
})

test('the API itself still refuses forms', async () => {
  const answer = await house.call('POST', '/api/v1/oauth/clients', {
    token: owner.token,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'name=x',
  })
  expect(answer.body.error.code).toBe('INVALID_INPUT')
  expect((await house.call('GET', '/api/v1/oauth/authorize', { token: owner.token })).status).toBe(404)
})

test('a code works once; its second use ends the grant with all its tokens', async () => {
  const redirect = await newAuthorization(house, app)
  const code = redirect.get('code')
  const first = await exchange(house, app, { code })
  expect(first.status).toBe(200)
  expect((await listWith(first.body.access_token)).status).toBe(200)
  const second = await exchange(house, app, { code })
  expect(second.status).toBe(400)
  expect(second.body.error).toBe('invalid_grant')
  expect((await listWith(first.body.access_token)).status).toBe(401)
  const refresh = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token }
  expect((await exchange(house, app, refresh)).body.error).toBe('invalid_grant')
})

test('of twenty exchanges at once one gets tokens', async () => {
  for (let round = 0; round < 3; round++) {
    const redirect = await newAuthorization(house, app)
    const code = redirect.get('code')
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(house, app, { code })))
    const won = answers.filter((answer) => answer.status === 200)
    expect(won).toHaveLength(1)
    expect(answers.filter((answer) => answer.body.error === 'invalid_grant')).toHaveLength(19)
    // Nineteen replays: what the one got is good for nothing.
    expect((await listWith(won[0]?.body.access_token)).status).toBe(401)
  }
})

test('refresh tokens rotate, and one that comes back ends the grant', async () => {
  const first = await newTokens(house, app, { query: { scope: 'read write' } })
  const refresh = (refresh_token: string, more = {}) =>
    exchange(house, app, { grant_type: 'refresh_token', refresh_token, ...more })
  const second = await refresh(first.refresh_token)
  expect(second.status, second.text).toBe(200)
  expect(second.body).toMatchObject({ scope: 'read write', expires_in: 3600, token_type: 'Bearer' })
  expect(second.body.refresh_token).not.toBe(first.refresh_token)
  expect((await listWith(second.body.access_token)).status).toBe(200)
  const narrower = await refresh(second.body.refresh_token, { scope: 'read' })
  expect(narrower.body.scope).toBe('read')
  expect((await refresh(narrower.body.refresh_token, { scope: 'admin' })).body.error).toBe('invalid_scope')
  expect((await refresh(first.refresh_token)).body.error).toBe('invalid_grant')
  expect((await listWith(narrower.body.access_token)).status).toBe(401)
  expect((await refresh(narrower.body.refresh_token)).body.error).toBe('invalid_grant')
})

test('of twenty refreshes at once one gets tokens', async () => {
  const { refresh_token } = await newTokens(house, app)
  const body = { grant_type: 'refresh_token', refresh_token }
  const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(house, app, body)))
  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
})

test('revocation is 200 for whatever token, and takes back only the own ones', async () => {
  const tokens = await newTokens(house, app)
  const revoke = (token: string, by: App) =>
    house.call('POST', '/oauth/revoke', {
      body: { token, client_id: by.id, ...(by.secret ? { client_secret: by.secret } : {}) },
    })
  const foreign = await registerApp(house, owner)
  const jwt = `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.x`
  for (const [token, by] of [
    ['never-was', app],
    [jwt, app],
    [tokens.access_token, foreign],
    [tokens.refresh_token, publicApp],
  ] as const) {
    const answer = await revoke(token, by)
    expect(answer.status, answer.text).toBe(200)
  }
  expect((await listWith(tokens.access_token)).status).toBe(200)
  expect((await revoke(tokens.access_token, { ...app, secret: 'wrong' })).status).toBe(401)
  expect((await revoke(tokens.refresh_token, app)).status).toBe(200)
  expect((await listWith(tokens.access_token)).status).toBe(401)
  expect((await revoke(tokens.access_token, app)).status).toBe(200)
})

test('deadlines are the database\u2019s: codes 60 s, access 1 h, refresh 30 days from its last use', async () => {
  const redirect = await newAuthorization(house, app)
  const tokens = await newTokens(house, app)
  const refresh = (refresh_token: string) =>
    exchange(house, app, { grant_type: 'refresh_token', refresh_token })
  try {
    await shiftClock(set.databaseUrl, 61)
    expect((await exchange(house, app, { code: redirect.get('code') })).body.error).toBe('invalid_grant')
    expect((await listWith(tokens.access_token)).status).toBe(200)
    await shiftClock(set.databaseUrl, 3601)
    await until(async () => (await listWith(tokens.access_token)).status === 401, 1000)
    const day = 24 * 3600
    await shiftClock(set.databaseUrl, 29 * day)
    const renewed = await refresh(tokens.refresh_token)
    expect(renewed.status, renewed.text).toBe(200)
    await shiftClock(set.databaseUrl, 58 * day)
    const again = await refresh(renewed.body.refresh_token)
    expect(again.status, again.text).toBe(200)
    expect((await listWith(again.body.access_token)).status).toBe(200)
    await shiftClock(set.databaseUrl, 89 * day)
    expect((await refresh(again.body.refresh_token)).body.error).toBe('invalid_grant')
    for (const sweep of house.sweeps) if (sweep.table === 'oauth_records') await sweep.run()
    expect(await set.query('select model from oauth_records')).toEqual([])
  } finally {
    await shiftClock(set.databaseUrl, 0)
  }
})

test('the metadata names the endpoints', async () => {
  const server = await house.call('GET', '/.well-known/oauth-authorization-server')
  expect(server.body).toMatchObject({
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}/oauth/authorize`,
    token_endpoint: `${publicUrl}/oauth/token`,
    revocation_endpoint: `${publicUrl}/oauth/revoke`,
    code_challenge_methods_supported: ['S256'],
  })
  const resource = await house.call('GET', '/.well-known/oauth-protected-resource')
  expect(resource.body).toMatchObject({ resource: publicUrl, authorization_servers: [publicUrl] })
})

test('no header of a client’s makes its way into a redirect', async () => {
  const answer = await house.call('GET', authorizeUrl(app).slice(publicUrl.length), {
    headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', host: 'evil.example' },
  })
  expect(answer.headers.get('location')).toMatch(/^http:\/\/house\.test\/oauth\/interaction\//)
  const rows = await set.query(
    "select payload->>'returnTo' as to from oauth_records where model = 'Interaction'",
  )
  for (const { to } of rows) expect(to).toMatch(/^http:\/\/house\.test\//)
})

test('the addresses are counted and measured like all others, and say so in their own shape', async () => {
  const narrow = await openHouse({
    DATABASE_URL: set.databaseUrl,
    // A Redis database of its own, so that no other test has used this address's windows.
    REDIS_URL: `${redisUrl()}/8`,
    LIMITS: 'rest=3/60,token=1/60',
  })
  const paths = ['/oauth/authorize', '/oauth/interaction/x', '/.well-known/oauth-authorization-server']
  for (const path of paths) await narrow.call('GET', path)
  // Apps at this address go on getting tokens, until they themselves ask too often.
  expect((await narrow.call('POST', '/oauth/token', { body: {} })).status).toBe(400)
  const refused = await narrow.call('POST', '/oauth/token', { body: {} })
  expect(refused.status).toBe(429)
  expect(refused.body).toEqual({ error: 'temporarily_unavailable', error_description: expect.any(String) })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  const page = await narrow.call('GET', '/oauth/interaction/x')
  expect([page.status, page.headers.get('content-type')]).toEqual([429, 'text/html; charset=utf-8'])
  expect(page.headers.get('content-security-policy')).toContain("form-action 'none'")
  const metrics = await narrow.call('GET', '/metrics')
  expect(metrics.text).toContain('route="oauthToken",status="429"')
  await narrow.close()
  expect((await house.call('GET', '/oauth/interaction/x')).status).toBe(404)
  expect((await house.call('GET', '/metrics')).text).toContain('route="oauthAsk",status="404"')
})

test('the event socket of a token ends with its grant', async () => {
  const tokens = await newTokens(house, app)
  const address = await house.call('GET', '/api/v1/events/subscribe-url', bearer(tokens.access_token))
  expect(address.status, address.text).toBe(200)
  const socket = new WebSocket(
    address.body.url.replace(publicUrl.replace('http', 'ws'), house.url.replace('http', 'ws')),
  )
  await new Promise((resolve, reject) => {
    socket.onopen = resolve
    socket.onerror = reject
  })
  const closed = new Promise((resolve) => {
    socket.onclose = resolve
  })
  const body = { token: tokens.access_token, client_id: app.id, client_secret: app.secret }
  await house.call('POST', '/oauth/revoke', { body })
  await closed
})
