import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowserSession } from '#accounts/sessions/sessions.ts'
import { findUser } from '#accounts/users/users.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/**
 * Every route against every way in which a page that is not the app's own can have a browser send a request with the
 * session's cookie. A new route is in here by being declared. What browsers really send is asked of one in `test/e2e`.
 */
const ours = 'http://house.test'
let house: House
let userId: string

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  userId = (await house.newPerson({ mode: 'basedmode' })).userId
})
afterAll(() => house.close())

async function newCookie(): Promise<string> {
  return house.deps.database.transaction(async (tx) => {
    const user = await findUser(tx, userId)
    if (!user) throw new Error('nobody')
    const { token } = await openBrowserSession(tx, user, { userAgent: 'test', address: '127.0.0.1' })
    return `__Host-guild=${token}`
  })
}

const sites = ['cross-site', 'same-site', 'none', 'Same-Origin', undefined]
const origins = {
  'another site': 'https://evil.example',
  'another port': 'http://house.test:8081',
  'a sibling': 'http://evil.house.test',
  'another scheme': 'https://house.test',
  'a sandboxed frame': 'null',
  nobody: undefined,
}
/** As forms and plain requests have them: whatever needs no leave of the server. */
const types = [
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
  undefined,
]

type Headers = Record<string, string>
const headersOf = (given: Record<string, string | undefined>): Headers =>
  Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )

/** What a page that is not ours can bring about, with the most that it can: our header needs leave, which is never given. */
const foreign: readonly (readonly [string, Headers])[] = [
  ...Object.entries(origins).flatMap(([who, origin]) =>
    sites.map((site) => [`${who}, ${site}`, headersOf({ origin, 'sec-fetch-site': site })] as const),
  ),
  ...types.map(
    (type) =>
      [
        `a form as ${type}, same-site`,
        headersOf({ origin: origins['another port'], 'sec-fetch-site': 'same-site', 'content-type': type }),
      ] as const,
  ),
  // Each of the three that a write needs is missing once, all else being there.
  ['our origin, no site', { origin: ours, 'x-guild-app': '1' }],
  ['our origin, same-site', { origin: ours, 'sec-fetch-site': 'same-site', 'x-guild-app': '1' }],
  [
    'our site, a foreign origin',
    headersOf({ origin: origins['a sibling'], 'sec-fetch-site': 'same-origin', 'x-guild-app': '1' }),
  ],
  ['our site, origin null', { origin: 'null', 'sec-fetch-site': 'same-origin', 'x-guild-app': '1' }],
]
/** Enough to read by, and not to write. */
const writesOnly: readonly (readonly [string, Headers])[] = [
  ['our site, no origin', { 'sec-fetch-site': 'same-origin', 'x-guild-app': '1' }],
  ['our site and origin, no header', { origin: ours, 'sec-fetch-site': 'same-origin' }],
  [
    'our site and origin, another header',
    { origin: ours, 'sec-fetch-site': 'same-origin', 'x-guild-app': '0' },
  ],
]
const ofPage = { origin: ours, 'sec-fetch-site': 'same-origin', 'x-guild-app': '1' }

const guarded = Object.entries<Route>(routes).filter(([, { audience }]) =>
  ['credential', 'session', 'key', 'agent'].includes(audience),
)
const open = Object.entries<Route>(routes).filter(
  ([, { audience }]) => audience === 'signed' || audience === 'operator',
)

async function send(route: Pick<Route, 'method' | 'path'>, headers: Headers, method: string = route.method) {
  const reads = method === 'GET' || method === 'HEAD'
  const path = route.path.replace(/:\w+/g, '1')
  const response = await fetch(house.url + path, {
    method,
    redirect: 'manual',
    headers: { ...(reads ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(reads ? {} : { body: headers['content-type']?.startsWith('text/') ? 'x' : '{}' }),
  })
  // A stream that was let in stays open.
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) await response.body?.cancel()
  const text = response.bodyUsed ? '' : await response.text()
  return { status: response.status, headers: response.headers, text }
}

describe.each(guarded)('%s', (_name, route) => {
  test('counts the cookie of no page but the app’s', async () => {
    const cookie = await newCookie()
    const cases = route.method === 'GET' ? foreign : [...foreign, ...writesOnly]
    const letIn = async ([what, headers]: readonly [string, Headers]) => {
      const answer = await send(route, { ...headers, cookie })
      const refused = answer.status === 401 && answer.text.includes('Missing auth token')
      const told = answer.headers.get('access-control-allow-credentials') ?? answer.headers.get('set-cookie')
      return refused && told === null ? [] : [`${what}: ${answer.status} ${told}`]
    }
    expect((await Promise.all(cases.map(letIn))).flat()).toEqual([])
    // All of that with the one thing that was wrong put right.
    const own = await send(route, { ...ofPage, cookie })
    expect(own.status, own.text).not.toBe(401)
    if (route.method !== 'GET') return
    const head = await send(route, { 'sec-fetch-site': 'cross-site', cookie }, 'HEAD')
    // A stream has no HEAD, and its path is then nobody's.
    expect([401, 404]).toContain(head.status)
    const navigated = await send(route, { 'sec-fetch-site': 'same-origin', cookie: await newCookie() })
    expect(navigated.status, navigated.text).not.toBe(401)
  })
})

test.each(open)('%s reads no cookie, whoever sends it', async (_name, route) => {
  const cookie = await newCookie()
  const [without, along] = [await send(route, ofPage), await send(route, { ...ofPage, cookie })]
  expect(along.status).toBe(without.status)
})

test('protocols read no cookie: neither the door for agents nor the authorization server', async () => {
  const cookie = await newCookie()
  for (const method of ['GET', 'POST', 'DELETE']) {
    const answer = await send(
      { method: 'POST', path: '/mcp/' },
      { ...ofPage, cookie, accept: 'application/json' },
      method,
    )
    expect([401, 404, 405], `${method} /mcp/`).toContain(answer.status)
  }
  const introspected = await send({ method: 'GET', path: '/oauth/userinfo' }, { ...ofPage, cookie })
  expect(introspected.status).not.toBe(200)
})

test('a foreign page is never told that it may send what only ours may', async () => {
  const cors = await openHouse({
    DATABASE_URL: house.deps.config.databaseUrl,
    CORS_ORIGINS: 'https://listed.example',
  })
  try {
    for (const origin of ['https://listed.example', 'https://evil.example', 'null']) {
      const answer = await fetch(`${cors.url}/api/v1/keys`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'x-guild-app',
        },
      })
      expect(answer.headers.get('access-control-allow-headers')).not.toContain('x-guild-app')
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    }
    // Nor is a listed one taken for the app.
    const cookie = await newCookie()
    const answer = await cors.call('POST', '/api/v1/auth/sign-out', {
      headers: {
        cookie,
        origin: 'https://listed.example',
        'sec-fetch-site': 'cross-site',
        'x-guild-app': '1',
      },
    })
    expect(answer.status).toBe(401)
  } finally {
    await cors.close()
  }
})

test('a refused cookie is counted by address, like any refused credential', async () => {
  const strict = await openHouse({ DATABASE_URL: house.deps.config.databaseUrl, LIMITS: 'refused=5/60' })
  try {
    const cookie = await newCookie()
    const statuses: number[] = []
    for (let i = 0; i < 8; i++) {
      const headers = { cookie, 'sec-fetch-site': 'same-site' }
      statuses.push((await strict.call('GET', '/api/v1/auth/session', { headers })).status)
    }
    expect(statuses).toContain(429)
    const own = await strict.call('GET', '/api/v1/auth/session', {
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    })
    expect(own.status).toBe(200)
  } finally {
    await strict.close()
  }
})

test('the matrix is not empty', () => {
  expect(guarded.filter(([, { method }]) => method !== 'GET').length).toBeGreaterThanOrEqual(60)
  expect(foreign.length).toBeGreaterThanOrEqual(35)
})
