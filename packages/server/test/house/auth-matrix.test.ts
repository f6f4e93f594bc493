import { anySkill, missingScopes, type Route, routes } from '@guildhall/contract'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mintSecret } from '#platform/secrets.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/**
 * Every route of the contract against every kind of credential. A new route is in here by being declared.
 */
let house: House
let databaseUrl: string
const credentials: Record<string, { key?: string; token?: string; headers?: Record<string, string> }> = {}

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  const person = await house.newPerson()
  const [active, revoked, expired, unactivated] = await Promise.all([
    house.newKey(person),
    house.newKey(person),
    house.newKey(person, { expiresAt: '2020-01-01T00:00:00Z' }),
    house.newKey(person, { access: 'declared' }),
  ])
  await house.call('DELETE', `/api/v1/keys/${revoked.id}`, { token: person.token })
  const signedOut = await house.newPerson()
  await house.call('POST', '/api/v1/auth/sign-out', { token: signedOut.token })
  const lapsed = await house.newPerson()
  const db = new pg.Client({ connectionString: databaseUrl })
  await db.connect()
  await db.query("update sessions set expires_at = now() - interval '1 second' where user_id = $1", [
    lapsed.userId,
  ])
  await db.end()
  const stranger = await house.newPerson()
  Object.assign(credentials, {
    none: {},
    'junk key': { key: 'guild_live_junk' },
    'well-formed unknown key': { key: mintSecret('apiKey') },
    'revoked key': { key: revoked.secret },
    'expired key': { key: expired.secret },
    'unactivated key': { key: unactivated.secret },
    'session in a key header': { key: person.token },
    'key in a session header': { token: active.secret },
    'junk session': { token: 'junk' },
    'signed-out session': { token: signedOut.token },
    'lapsed session': { token: lapsed.token },
    'key as bearer': { headers: { authorization: `Bearer ${active.secret}` } },
    'session elsewhere': { token: stranger.token, headers: { 'x-workspace-id': person.workspaceId } },
    'session nowhere': { token: stranger.token, headers: { 'x-workspace-id': 'not-a-workspace' } },
  })
})

afterAll(() => house.close())

const guarded = Object.entries<Route>(routes).filter(
  ([, { audience }]) => audience !== 'public' && audience !== 'operator',
)
const forOperators = Object.entries<Route>(routes).filter(([, { audience }]) => audience === 'operator')
const open = Object.entries<Route>(routes).filter(([, route]) => route.audience === 'public')

const refusals: Record<string, { status: number; code: string; message: string | RegExp }> = {
  none: { status: 401, code: 'UNAUTHORIZED', message: 'Missing auth token' },
  'junk key': { status: 401, code: 'UNAUTHORIZED', message: 'Invalid API key' },
  'well-formed unknown key': { status: 401, code: 'UNAUTHORIZED', message: 'Invalid API key' },
  'revoked key': { status: 401, code: 'UNAUTHORIZED', message: 'Invalid API key' },
  'expired key': { status: 401, code: 'UNAUTHORIZED', message: 'Invalid API key' },
  'unactivated key': { status: 403, code: 'FORBIDDEN', message: /not activated/ },
  'session in a key header': { status: 401, code: 'UNAUTHORIZED', message: 'Invalid API key' },
  'key in a session header': { status: 401, code: 'UNAUTHORIZED', message: 'Invalid auth token' },
  'junk session': { status: 401, code: 'UNAUTHORIZED', message: 'Invalid auth token' },
  'signed-out session': { status: 401, code: 'UNAUTHORIZED', message: 'Invalid auth token' },
  'lapsed session': { status: 401, code: 'UNAUTHORIZED', message: 'Invalid auth token' },
  'key as bearer': { status: 401, code: 'UNAUTHORIZED', message: 'Invalid auth token' },
  'session elsewhere': { status: 403, code: 'FORBIDDEN', message: /not a member/ },
  'session nowhere': { status: 403, code: 'FORBIDDEN', message: /not a member/ },
}

const callWith = (route: Route, credential: string) =>
  house.call(route.method, route.path.replace(/:\w+/g, '1'), {
    ...credentials[credential],
    // A body that the route would refuse: a refusal for the credential must come first. Where scopes are asked for only
    // what the key did not start, the body has been read by then.
    ...(route.method === 'GET'
      ? {}
      : { body: route.scopesBeyondOwn ? { events: [{ type: 'user.interrupt' }] } : { unexpected: true } }),
  })

describe.each(guarded)('%s', (_name, route) => {
  // Exactly the routes by which a key gets its first consent serve a key that has none.
  const refused = Object.keys(refusals).filter(
    (credential) => credential !== 'unactivated key' || !route.servesUnactivated,
  )
  test.each(refused)('refuses: %s', async (credential) => {
    const expected =
      credential === 'unactivated key' && route.errors.includes('ACTIVATION_REQUIRED')
        ? { ...refusals[credential], status: 409, code: 'ACTIVATION_REQUIRED' }
        : refusals[credential]
    const answer = await callWith(route, credential)
    expect(answer.status, answer.text).toBe(expected?.status)
    expect(answer.body.error.code).toBe(expected?.code)
    if (expected?.message instanceof RegExp) expect(answer.body.error.message).toMatch(expected.message)
    else expect(answer.body.error.message).toBe(expected?.message)
    expect(answer.headers.get('x-ratelimit-limit')).not.toBeNull()
  })

  test('takes whom its audience says, and a key only with the scopes it names', async () => {
    // Credentials of its own for each route: one of them signs the session out, another ends the key.
    const person = await house.newPerson()
    credentials['person'] = { token: person.token }
    credentials['active key'] = { key: (await house.newKey(person)).secret }
    credentials['narrow key'] = { key: (await house.newKey(person, { scopes: ['profile:read'] })).secret }
    const outcome = {
      full: await callWith(route, 'active key'),
      narrow: await callWith(route, 'narrow key'),
      person: await callWith(route, 'person'),
    }
    const needed = [...(route.scopes ?? []), ...(route.scopesBeyondOwn ?? [])]
    const missing = missingScopes(
      ['profile:read'],
      needed.map((scope) => scope.replace(/\{\w+\}/, '1')),
    ).map((scope) => (scope === anySkill ? 'tool:execute' : scope))
    for (const [who, answer] of Object.entries(outcome)) {
      const kind = who === 'person' ? 'session' : 'key'
      if (route.audience !== 'credential' && route.audience !== kind) {
        expect(answer.status).toBe(403)
        expect(answer.body.error).toMatchObject({ code: 'FORBIDDEN', details: { credential: kind } })
      } else if (who === 'narrow' && missing.length > 0) {
        expect(answer.status).toBe(403)
        expect(answer.body.error).toMatchObject({ code: 'FORBIDDEN', details: { missing_scopes: missing } })
        for (const scope of missing) expect(answer.body.error.message).toContain(scope)
      } else {
        expect([401, 403], answer.text).not.toContain(answer.status)
      }
    }
  })
})

test('exactly two routes serve a key that waits for its first consent', () => {
  const served = guarded.flatMap(([name, route]) => (route.servesUnactivated ? [name] : []))
  expect(served.sort()).toEqual(['connectAgent', 'pollConsent'])
})

describe.each(open)('%s', (_name, route) => {
  test('is served without a credential and does not read one', async () => {
    for (const credential of ['none', 'revoked key', 'junk session']) {
      const answer = await callWith(route, credential)
      expect(answer.status, answer.text).not.toBe(401)
      expect(answer.status).not.toBe(403)
    }
  })
})

describe.each(forOperators)('%s', (_name, route) => {
  test('takes the token of the configuration and no credential', async () => {
    const tokens = { OPERATOR_TOKEN: 'o'.repeat(20), METRICS_TOKEN: 'm'.repeat(20) }
    const operated = await openHouse({ DATABASE_URL: databaseUrl, ...tokens })
    const ask = (headers: Record<string, string>, options = {}) =>
      operated.call(route.method, route.path, { ...options, headers, ...(route.body ? { body: {} } : {}) })
    try {
      for (const { headers, ...rest } of Object.values(credentials)) {
        expect((await ask(headers ?? {}, rest)).status).toBe(401)
      }
      const token = route.operatorToken === 'metrics' ? tokens.METRICS_TOKEN : tokens.OPERATOR_TOKEN
      const other = route.operatorToken === 'metrics' ? tokens.OPERATOR_TOKEN : tokens.METRICS_TOKEN
      expect((await ask({ authorization: `Bearer ${other}` })).status).toBe(401)
      expect([401, 403, 404]).not.toContain((await ask({ authorization: `Bearer ${token}` })).status)
    } finally {
      await operated.close()
    }
  })
})

test('the matrix is not empty', () => {
  expect(guarded.length).toBeGreaterThanOrEqual(16)
  expect(open.length).toBeGreaterThanOrEqual(11)
  expect(forOperators.length).toBe(2)
})
