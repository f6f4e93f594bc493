import http from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { redisUrl } from '../support/redis.ts'

let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase(), CORS_ORIGINS: 'https://app.example' })
  person = await house.newPerson()
})

afterAll(() => house.close())

const windowHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']

test.each([
  ['an answer', 'GET', '/api/v1/workspaces', true],
  ['a refusal', 'GET', '/api/v1/workspaces', false],
  ['an unknown route', 'GET', '/api/v1/nope', true],
  ['an unknown method', 'DELETE', '/api/v1/meta', true],
  ['a public route', 'GET', '/api/v1/meta', false],
  ['a malformed address', 'GET', '/api/v1/%E0%A4%A', false],
])('%s carries the window, a request id and the security headers', async (_what, method, path, signedIn) => {
  const answer = await house.call(method, path, signedIn ? { token: person.token } : {})
  for (const name of windowHeaders) expect(answer.headers.get(name)).toMatch(/^\d+$/)
  expect(answer.headers.get('x-request-id')).toBeTruthy()
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(answer.headers.get('content-type')).toContain('application/json')
})

test('unknown paths answer 404 in the envelope', async () => {
  const answer = await house.call('GET', '/api/v1/nope')
  expect(answer.status).toBe(404)
  expect(answer.body).toEqual({ error: { code: 'NOT_FOUND', message: 'Not found' } })
})

test('a given request id comes back unless it is odd', async () => {
  const kept = await house.call('GET', '/api/v1/meta', { headers: { 'x-request-id': 'abc-1.2_3' } })
  expect(kept.headers.get('x-request-id')).toBe('abc-1.2_3')
  const odd = await house.call('GET', '/api/v1/meta', { headers: { 'x-request-id': 'a b"c' } })
  expect(odd.headers.get('x-request-id')).not.toBe('a b"c')
})

test.each([
  ['a form', 'application/x-www-form-urlencoded', 'label=x'],
  ['plain text', 'text/plain', '{"label":"x"}'],
  ['no type', '', '{"label":"x"}'],
])('a post of %s is refused: a foreign page could send it', async (_what, type, body) => {
  const answer = await house.call('POST', '/api/v1/keys', {
    token: person.token,
    body,
    headers: { 'content-type': type || 'application/octet-stream' },
  })
  expect(answer.status).toBe(400)
  expect(answer.body.error.code).toBe('INVALID_INPUT')
})

test.each([
  ['broken JSON', '{'],
  ['a poisoned prototype', '{"label":"x","__proto__":{"admin":true}}'],
  ['a poisoned constructor', '{"label":"x","constructor":{"prototype":{"admin":true}}}'],
  ['a list instead of an object', '[]'],
  ['a number where text belongs', '{"label":5}'],
])('%s is 400 INVALID_INPUT', async (_what, body) => {
  const answer = await house.call('POST', '/api/v1/keys', { token: person.token, body })
  expect(answer.status).toBe(400)
  expect(answer.body.error.code).toBe('INVALID_INPUT')
})

test.each([
  '/api/v1/activate/lookup?code=%00',
  '/api/v1/workspaces/current/members?cursor=%00',
  `/api/v1/workspaces/current/members?cursor=${Buffer.from('["1","2"]').toString('base64url')}`,
  '/api/v1/workspaces/current/members?cursor=junk',
  '/api/v1/workspaces/current/members?limit=1,5',
  '/api/v1/workspaces/current/members?limit=many',
])('%s is 400, not 500', async (path) => {
  const answer = await house.call('GET', path, { token: person.token })
  expect(answer.status).toBe(400)
  expect(answer.body.error.code).toBe('INVALID_INPUT')
})

test('a text that speaks of NUL without holding one is taken', async () => {
  const body = '{"label":"about \\\\u0000"}'
  const answer = await house.call('POST', '/api/v1/keys', { token: person.token, body })
  expect(answer.status).toBe(201)
  expect(answer.body.label).toBe('about \\u0000')
})

test('a body over the limit is refused and says so', async () => {
  const answer = await house.call('POST', '/api/v1/keys', {
    token: person.token,
    body: { label: 'x'.repeat(1_100_000) },
  })
  expect(answer.status).toBe(400)
  expect(answer.body.error.message).toContain('too large')
})

test('an invalid field is named', async () => {
  const answer = await house.call('POST', '/api/v1/keys', { token: person.token, body: {} })
  expect(answer.body.error.details).toMatchObject({ in: 'body', issues: [{ path: 'label' }] })
})

test('only allowed origins may read answers', async () => {
  const allowed = await house.call('GET', '/api/v1/meta', { headers: { origin: 'https://app.example' } })
  expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example')
  expect(allowed.headers.get('access-control-allow-credentials')).toBeNull()
  const exposed = allowed.headers.get('access-control-expose-headers')?.split(', ')
  expect(exposed).toEqual(
    expect.arrayContaining(['retry-after', 'deprecation', 'sunset', 'www-authenticate']),
  )
  for (const origin of ['https://evil.example', 'https://app.example.evil', 'null']) {
    const refused = await house.call('GET', '/api/v1/meta', { headers: { origin } })
    expect(refused.headers.get('access-control-allow-origin')).toBeNull()
  }
})

test('a preflight is answered', async () => {
  const answer = await house.call('OPTIONS', '/api/v1/keys', {
    headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
  })
  expect(answer.status).toBe(204)
  expect(answer.headers.get('access-control-allow-headers')).toContain('x-auth-token')
})

test('a 5xx says nothing of its cause', async () => {
  const broken = await openHouse({ DATABASE_URL: await createDatabase() })
  try {
    await broken.deps.database.db.schema.dropTable('code_misses').execute()
    const someone = await broken.newPerson()
    const answer = await broken.call('POST', '/api/v1/activate/deny', {
      token: someone.token,
      body: { code: 'X' },
    })
    expect(answer.status).toBe(500)
    expect(answer.body).toEqual({
      error: { code: 'INTERNAL_ERROR', message: expect.not.stringContaining('code_misses') },
    })
    expect(broken.log()).toContain('code_misses')
  } finally {
    await broken.close()
  }
})

test('forged forwarding headers change nothing unless the proxy is trusted', async () => {
  const databaseUrl = await createDatabase()
  // A Redis database of its own, so that no other test has used this address's window.
  const env = { DATABASE_URL: databaseUrl, LIMITS: 'activate=1000/1', REDIS_URL: `${redisUrl()}/5` }
  const plain = await openHouse(env)
  const behindProxy = await openHouse({
    ...env,
    TRUSTED_PROXIES: '127.0.0.0/8',
  })
  try {
    const someone = await plain.newPerson()
    const statuses: number[] = []
    for (let i = 0; i < 1000; i++) {
      const forged = `10.${i % 256}.${i >> 8}.7`
      const answer = await plain.call('GET', '/api/v1/meta', { headers: { 'x-forwarded-for': forged } })
      statuses.push(answer.status)
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(99)
    expect(statuses.filter((status) => status === 429)).toHaveLength(901)
    const believed = await behindProxy.call('POST', '/api/v1/activate', {
      headers: { 'x-forwarded-for': '203.0.113.9' },
    })
    const seen = await behindProxy.call('GET', `/api/v1/activate/lookup?code=${believed.body.user_code}`, {
      token: someone.token,
    })
    expect(seen.body).toMatchObject({ client_ip: '203.0.113.9', same_network: false })
  } finally {
    await Promise.all([plain.close(), behindProxy.close()])
  }
})

test('a request that comes in pieces, or not at all, holds up nobody', async () => {
  const stuck = http.request(`${house.url}/api/v1/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': '100', 'x-auth-token': person.token },
  })
  stuck.on('error', () => {})
  stuck.write('{"la')
  const answer = await house.call('GET', '/api/v1/workspaces', { token: person.token })
  expect(answer.status).toBe(200)
  stuck.destroy()
})
