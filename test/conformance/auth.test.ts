import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  inWorkspace,
  newKey,
  newPerson,
  newVisitor,
  newWorkspace,
  type Person,
  signIn,
  startPairing,
  type Workspace,
} from './support/actors.ts'
import { type Caller, newCaller } from './support/client.ts'
import { callRoute, publishedRoutes } from './support/published.ts'
import { type ErrorBody, expectRefusal } from './support/shapes.ts'
import { someCatalogSlug } from './support/skills.ts'
import { verifies } from './verifies.ts'

const withHeader = (name: string, value: string) => newCaller({ headers: { [name]: value } })

async function currentOf(caller: Caller, headers: Record<string, string> = {}): Promise<string[]> {
  const { body } = await caller.get<Workspace[]>('/workspaces', { headers })
  return body.filter(({ current }) => current).map(({ id }) => id)
}

describe('a credential', () => {
  test('acts in one workspace', async () => {
    verifies('auth:credential:workspace-bound')
    const person = await newPerson()
    const b = await newWorkspace(person, 'B')
    const [a1, a2, b1] = [
      await newKey(person),
      await newKey(person),
      await newKey(person, {}, inWorkspace(b.id)),
    ]
    expect(await currentOf(a1)).toEqual([person.workspaceId])
    expect(await currentOf(a2)).toEqual([person.workspaceId])
    expect(await currentOf(b1)).toEqual([b.id])
    expect(await currentOf(person)).toEqual([person.workspaceId])
    expect(await currentOf(person, { 'x-workspace-id': b.id })).toEqual([b.id])
  })

  test('is a key or a session on a route for both', async () => {
    verifies('auth:convention:either-header')
    const person = await newPerson()
    const key = await newKey(person)
    const calls: [method: string, path: string, body?: object][] = [
      ['GET', '/workspaces'],
      ['GET', '/skills?limit=1'],
      ['GET', '/executions'],
      ['GET', '/workflows/runs'],
      ['GET', '/profile'],
      ['POST', '/workflows/validate', { id: 'x' }],
      ['POST', '/agents', { slug: 'either' }],
      ['PATCH', '/agents/either', { name: 'Either' }],
      ['DELETE', '/agents/either'],
    ]
    const shapesOf = async (caller: Caller) => {
      const shapes = []
      for (const [method, path, body] of calls) {
        const answer = await caller.send<object | object[]>(method, path, body ? { body } : {})
        const shown = Array.isArray(answer.body) ? (answer.body[0] ?? {}) : answer.body
        shapes.push({ method, path, status: answer.status, members: Object.keys(shown).sort() })
      }
      return shapes
    }
    const byKey = await shapesOf(key)
    expect(byKey).toEqual(await shapesOf(person))
    for (const { path, status, members } of byKey) {
      expect([200, 201], path).toContain(status)
      expect(members.length, path).toBeGreaterThan(0)
    }
  })

  test('that is a key counts in x-api-key only', async () => {
    verifies('auth:type:api-key-header')
    const { secret } = await newKey(await newPerson())
    expect((await withHeader('x-api-key', secret).get('/workspaces')).status).toBe(200)
    for (const [name, value] of [
      ['authorization', `Bearer ${secret}`],
      ['x-auth-token', secret],
    ] as const) {
      expectRefusal(await withHeader(name, value).get('/workspaces'), 401, 'UNAUTHORIZED')
    }
  })

  test('that is a session counts in x-auth-token only', async () => {
    verifies('auth:type:auth-token-header')
    const { token } = await newPerson()
    expect((await withHeader('x-auth-token', token).get('/workspaces')).status).toBe(200)
    expectRefusal(await withHeader('x-api-key', token).get('/workspaces'), 401, 'UNAUTHORIZED')
  })
})

describe('a session', () => {
  test('acts in the personal workspace unless told otherwise', async () => {
    verifies('auth:session:default-personal-workspace')
    const email = (await newPerson()).email
    const again = await signIn(email)
    await newWorkspace(again)
    const person = await signIn(email)
    const personal = person.signedIn.workspaces.find(({ kind }) => kind === 'personal')
    expect((await newKey(person)).record.workspace.id).toBe(personal?.id)
  })

  test('is refused in a workspace its person is not in, on every route', async () => {
    verifies('auth:session:non-member-403')
    const other = await newPerson()
    const routes = (await publishedRoutes()).filter(({ isPublic }) => !isPublic)
    expect(routes.length).toBeGreaterThan(10)
    for (const route of routes) {
      const person = await newPerson()
      for (const workspaceId of [other.workspaceId, randomUUID()]) {
        const answer = await callRoute(person, route, inWorkspace(workspaceId))
        expect([route.method, route.path, answer.status]).toEqual([route.method, route.path, 403])
        expectRefusal(answer, 403, 'FORBIDDEN')
      }
    }
  })

  test('ends by signing out, and no other does', async () => {
    verifies('auth:sign-out:revokes', 'auth:reject:invalid-token')
    const person = await newPerson()
    const other = await signIn(person.email)
    expect((await person.get('/auth/session')).status).toBe(200)
    const answer = await person.post('/auth/sign-out')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ success: true })
    for (let again = 0; again < 2; again++) {
      const refusal = expectRefusal(await person.get('/auth/session'), 401, 'UNAUTHORIZED')
      expect(refusal.message).toBe('Invalid auth token')
    }
    expect((await other.get('/auth/session')).status).toBe(200)
  })
})

describe('a call is refused', () => {
  test('without a credential, on every route that is not public', async () => {
    verifies('auth:reject:missing')
    const routes = (await publishedRoutes()).filter(({ isPublic }) => !isPublic)
    expect(routes.length).toBeGreaterThan(10)
    for (const route of routes) {
      const refusal = expectRefusal(await callRoute(newVisitor(), route), 401, 'UNAUTHORIZED')
      expect(refusal.message).toBe('Missing auth token')
    }
  })

  test.each(['made-up', `guild_auth_${'a'.repeat(49)}`, ''])('with the session token "%s"', async (token) => {
    verifies('auth:reject:invalid-token')
    const refusal = expectRefusal(
      await withHeader('x-auth-token', token).get('/workspaces'),
      401,
      'UNAUTHORIZED',
    )
    expect(refusal.message).toBe('Invalid auth token')
  })

  test.each(['guild_live_junk', 'junk', `guild_live_${'a'.repeat(49)}`])('with the key "%s"', async (key) => {
    verifies('auth:reject:invalid-key')
    const refusal = expectRefusal(await withHeader('x-api-key', key).get('/workspaces'), 401, 'UNAUTHORIZED')
    expect(refusal.message).toBe('Invalid API key')
  })

  test('with a key that differs from a real one in a single place', async () => {
    verifies('auth:reject:invalid-key')
    const { secret } = await newKey(await newPerson())
    for (const place of [12, 30, secret.length - 1]) {
      const wrong = secret.slice(0, place) + (secret[place] === 'a' ? 'b' : 'a') + secret.slice(place + 1)
      const refusal = expectRefusal(
        await withHeader('x-api-key', wrong).get('/workspaces'),
        401,
        'UNAUTHORIZED',
      )
      expect(refusal.message).toBe('Invalid API key')
    }
  })

  test('with a revoked key', async () => {
    verifies('auth:reject:revoked-key')
    const person = await newPerson()
    const key = await newKey(person)
    expect((await key.get('/workspaces')).status).toBe(200)
    expect((await person.delete(`/keys/${key.id}`)).status).toBe(200)
    const refusal = expectRefusal(await key.get('/workspaces'), 401, 'UNAUTHORIZED')
    expect(refusal.message).toBe('Invalid API key')
  })
})

describe('which routes are whose', () => {
  test('pairing, meta, providers and leak reports are public', async () => {
    verifies('auth:public:pairing-and-sign-in')
    const answers = [
      (await startPairing()).answer,
      await newVisitor().post('/activate/poll', { device_code: randomUUID() }),
      await newVisitor().get('/meta'),
      await newVisitor().get('/auth/providers'),
      await newVisitor().post('/keys/report-leak', { key: 'guild_live_junk' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  })

  test.each([
    ['GET', '/keys'],
    ['POST', '/keys'],
    ['PATCH', '/keys/1'],
    ['DELETE', '/keys/1'],
    ['POST', '/keys/1/rotate'],
    ['GET', '/workspaces'],
    ['POST', '/workspaces'],
    ['PUT', '/workspaces/current'],
    ['GET', '/auth/session'],
    ['POST', '/auth/sign-out'],
    ['POST', '/activate/confirm'],
    ['GET', '/activate/lookup?code=ZZZZ-ZZZZ'],
    ['POST', '/activate/deny'],
  ])('%s %s is not', async (method, path) => {
    verifies('auth:public:pairing-and-sign-in')
    expectRefusal(await newVisitor().send(method, path), 401, 'UNAUTHORIZED')
  })

  test('what is served without a credential is listed, and everything else is refused', async () => {
    verifies('auth:public:list')
    const routes = (await publishedRoutes()).filter(({ path }) => /^\/api\/v1\/(?!operator\/)/.test(path))
    const named = routes.map(({ method, path }) => `${method} ${path.slice('/api/v1'.length)}`)
    expect(named).toEqual(expect.arrayContaining(servedBare))
    for (const [index, route] of routes.entries()) {
      const name = named[index] ?? ''
      const { status, body } = await callRoute(newVisitor(), route)
      const code = (body as Partial<ErrorBody> | undefined)?.error?.code
      if (servedBare.includes(name)) expect([name, code]).not.toEqual([name, 'UNAUTHORIZED'])
      else expect([name, status, code]).toEqual([name, 401, 'UNAUTHORIZED'])
    }
    const slug = await someCatalogSlug()
    for (const path of ['', '/categories', `/${slug}`, `/${slug}/bundle`]) {
      expect((await newVisitor().get(`/marketplace/skills${path}`)).status).toBe(200)
    }
  })

  test('what only a person may do is refused to a key with full access', async () => {
    verifies('auth:session-only:key-403')
    const person = await newPerson()
    const key = await newKey(person)
    expect(key.record.scopes).toEqual(['*'])
    const { userCode } = await startPairing()
    for (const [method, path, body] of sessionOnlyCalls(key.id, userCode, person)) {
      const answer = await key.send(method, path, body ? { body } : {})
      expect([method, path, answer.status]).toEqual([method, path, 403])
      expectRefusal(answer, 403, 'FORBIDDEN')
    }
    expect((await key.get('/workspaces')).status).toBe(200)
  })
})

const servedBare = [
  'GET /meta',
  'GET /marketplace/skills',
  'GET /marketplace/skills/categories',
  'GET /marketplace/skills/{slug}',
  'GET /marketplace/skills/{slug}/bundle',
  'POST /activate',
  'POST /activate/poll',
  'GET /auth/providers',
  'GET /auth/start',
  'GET /auth/callback',
  'POST /auth/exchange',
  'POST /auth/dev',
  'POST /keys/report-leak',
]

function sessionOnlyCalls(
  keyId: number,
  code: string,
  person: Person,
): [method: string, path: string, body?: object][] {
  return [
    ['GET', '/keys'],
    ['POST', '/keys', { label: 'Another' }],
    ['PATCH', `/keys/${keyId}`, { label: 'Renamed' }],
    ['POST', `/keys/${keyId}/rotate`],
    ['DELETE', `/keys/${keyId}`],
    ['POST', '/activate/confirm', { code }],
    ['GET', `/activate/lookup?code=${code}`],
    ['POST', '/activate/deny', { code }],
    ['GET', '/workspaces/current/members'],
    ['POST', '/workspaces/current/members', { email: person.email }],
    ['DELETE', `/workspaces/current/members/${person.userId}`],
  ]
}
