import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowserSession } from '#accounts/sessions/sessions.ts'
import { findUser } from '#accounts/users/users.ts'
import { type Browser, openBrowser } from '../../../../test/support/browser.ts'
import { openHouse, shiftClock } from '../support/house.ts'
import { type OAuthHouse, openOAuthHouse, publicUrl } from '../support/oauth.ts'

/** A person's session in their browser: begun by the server, kept in a cookie that no script reads. */
let set: OAuthHouse

beforeAll(async () => {
  set = await openOAuthHouse()
})
afterAll(() => set.close())

const session = '__Host-guild'
const mark = '__Host-guild_signin'
const call = (...given: Parameters<OAuthHouse['house']['call']>) => set.house.call(...given)
const startPath = (query: Record<string, string>) =>
  `/api/v1/auth/start?${new URLSearchParams({ browser: '1', ...query })}`
const newBrowser = (stopAt = `${publicUrl}/requests`) =>
  openBrowser({ reach: { [publicUrl]: set.house.url }, stopAt })

async function signIn(browser: Browser, query: Record<string, string> = {}, login = 'alice') {
  const page = await browser.open(publicUrl + startPath({ return: '/requests/x?tab=1', ...query }))
  return browser.submit(page, { login })
}

/** What a page of the app sends along. */
const page = (token: string, more: Record<string, string> = {}) => ({
  cookie: `other=1; ${session}=${token}`,
  'sec-fetch-site': 'same-origin',
  ...more,
})
const writing = (token: string) => page(token, { origin: publicUrl, 'x-guild-app': '1' })
const whoIs = (token: string) => call('GET', '/api/v1/auth/session', { headers: page(token) })

async function newToken(login = 'alice'): Promise<string> {
  const browser = newBrowser()
  await signIn(browser, {}, login)
  return browser.cookiesOf(publicUrl)[session] ?? ''
}

describe('a browser signs in', () => {
  test('and has a cookie that is for this host, https and no script, and is back where it began', async () => {
    const browser = newBrowser()
    const back = await signIn(browser)
    expect(back.status).toBe(302)
    expect(back.url.href).toBe(`${publicUrl}/requests/x?tab=1`)
    const lines = back.headers.getSetCookie()
    expect(lines).toEqual([
      expect.stringMatching(
        /^__Host-guild=guild_auth_\w+; Path=\/; Max-Age=2592000; Secure; HttpOnly; SameSite=Strict$/,
      ),
      `${mark}=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax`,
    ])
    expect(Object.keys(browser.cookiesOf(publicUrl))).toEqual([session])
    const token = browser.cookiesOf(publicUrl)[session] ?? ''
    const { status, body, headers } = await whoIs(token)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      user: { email: 'alice@example.test' },
      kind: 'browser',
      session_id: expect.any(Number),
      pending: 0,
    })
    expect(Date.parse(body.fresh_until) - Date.parse(body.signed_in_at)).toBe(600_000)
    expect(headers.getSetCookie()).toEqual([lines[0]])
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  })

  test('from the start the browser has a mark, which the address does not hold', async () => {
    const started = await fetch(set.house.url + startPath({}), { redirect: 'manual' })
    const [line = ''] = started.headers.getSetCookie()
    expect(line).toMatch(
      /^__Host-guild_signin=[\w-]{43}; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/,
    )
    const value = /=([\w-]{43})/.exec(line)?.[1] ?? ''
    const location = started.headers.get('location') ?? ''
    expect(location).not.toContain(value)
    // A second page of the same browser goes on with the same mark, so that either can finish.
    const again = await fetch(set.house.url + startPath({}), {
      redirect: 'manual',
      headers: { cookie: `${mark}=${value}` },
    })
    expect(again.headers.getSetCookie()[0]).toContain(value)
    const forged = await fetch(set.house.url + startPath({}), {
      redirect: 'manual',
      headers: { cookie: `${mark}=short` },
    })
    expect(forged.headers.getSetCookie()[0]).not.toContain('short;')
  })

  test('no other browser can finish it, with a mark of its own or without', async () => {
    const [begun, other] = [newBrowser(`${publicUrl}/api/v1/auth/callback`), newBrowser()]
    const callback = await signIn(begun)
    expect(callback.url.pathname).toBe('/api/v1/auth/callback')
    const strangers = await other.open(callback.url.href)
    expect([strangers.status, strangers.headers.getSetCookie()]).toEqual([400, []])
    await other.open(publicUrl + startPath({}))
    const marked = await other.open(callback.url.href)
    expect([marked.status, marked.headers.getSetCookie()]).toEqual([400, []])
    expect(other.cookiesOf(publicUrl)[session]).toBeUndefined()
    // The one that began still can, once.
    const cookie = `${mark}=${begun.cookiesOf(publicUrl)[mark]}`
    const path = callback.url.pathname + callback.url.search
    const own = await call('GET', path, { headers: { cookie } })
    expect([own.status, own.headers.getSetCookie().length]).toEqual([302, 2])
    const twice = await call('GET', path, { headers: { cookie } })
    expect(twice.headers.get('location')).toContain('/sign-in?error=sign_in_refused&return=')
    expect(twice.headers.getSetCookie()).toHaveLength(1)
  })

  test('what the provider refuses comes back to the page to sign in on', async () => {
    const started = await fetch(set.house.url + startPath({ return: '/keys?a=b' }), { redirect: 'manual' })
    const cookie = started.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const state = new URL(started.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const query = new URLSearchParams({ state, error: 'access_denied' })
    const answer = await call('GET', `/api/v1/auth/callback?${query}`, { headers: { cookie } })
    expect(answer.status).toBe(302)
    const back = new URL(answer.headers.get('location') ?? '')
    expect(back.origin + back.pathname).toBe(`${publicUrl}/sign-in`)
    expect(Object.fromEntries(back.searchParams)).toEqual({ error: 'access_denied', return: '/keys?a=b' })
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-guild_signin=; .*Max-Age=0/),
    ])
  })

  test.each([
    '//evil.example',
    '/\\evil.example',
    '\\/evil.example',
    'https://evil.example/',
    '/\t/evil.example',
    '/ /evil.example',
    'javascript:alert(1)',
    'requests',
    '/a\\b',
    '',
  ])('does not return to %j', async (hostile) => {
    const answer = await call('GET', startPath({ return: hostile }))
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([400, []])
  })

  test.each(['/requests/x', '/@evil.example', '/?next=//evil.example', '/a//b', '/%2F%2Fevil'])(
    'returns to %s on our own origin',
    async (path) => {
      const back = await signIn(newBrowser(`${publicUrl}${path}`), { return: path })
      expect(back.url.href).toBe(publicUrl + path)
    },
  )

  test.each([{ redirect: `${publicUrl}/x` }, { challenge: 'a'.repeat(43) }, { browser: '2' }])(
    'takes no %j',
    async (query) => {
      expect((await call('GET', startPath(query as Record<string, string>))).status).toBe(400)
    },
  )

  test('only where the app has the address of the API', async () => {
    const apart = await openHouse({
      DATABASE_URL: set.databaseUrl,
      PUBLIC_URL: publicUrl,
      APP_URL: 'https://app.house.test',
      AUTH_PROVIDERS: JSON.stringify(set.house.deps.config.authProviders),
    })
    try {
      const refused = await apart.call('GET', startPath({}))
      expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('APP_URL')])
      const token = await newToken()
      for (const origin of [publicUrl, 'https://app.house.test']) {
        const headers = page(token, { origin, 'x-guild-app': '1' })
        expect((await apart.call('GET', '/api/v1/auth/session', { headers })).status).toBe(401)
        expect((await apart.call('POST', '/api/v1/auth/sign-out', { headers })).status).toBe(401)
      }
    } finally {
      await apart.close()
    }
  })
})

describe('a fresh sign-in', () => {
  test('makes the provider ask, and has been asked', async () => {
    const started = await fetch(set.house.url + startPath({ fresh: '1' }), { redirect: 'manual' })
    expect(new URL(started.headers.get('location') ?? '').searchParams.get('max_age')).toBe('0')
    const plain = await fetch(set.house.url + startPath({}), { redirect: 'manual' })
    expect(new URL(plain.headers.get('location') ?? '').searchParams.get('max_age')).toBeNull()
    const browser = newBrowser()
    expect((await signIn(browser, { fresh: '1' })).url.pathname).toBe('/requests/x')
    expect(browser.cookiesOf(publicUrl)[session]).toBeDefined()
  })

  test('is none when the provider leaves max_age aside: an ID token without a time of asking is refused', async () => {
    const started = await fetch(set.house.url + startPath({ fresh: '1' }), { redirect: 'manual' })
    const cookie = started.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const silent = new URL(started.headers.get('location') ?? '')
    silent.searchParams.delete('max_age')
    const browser = newBrowser(`${publicUrl}/api/v1/auth/callback`)
    const { url } = await browser.submit(await browser.open(silent.href), { login: 'alice' })
    const answer = await call('GET', url.pathname + url.search, { headers: { cookie } })
    const told = new URL(answer.headers.get('location') ?? '')
    expect([told.pathname, told.searchParams.get('error')]).toEqual(['/sign-in', 'sign_in_too_old'])
    expect(answer.headers.getSetCookie()).toHaveLength(1)
  })
})

describe('where a token counts', () => {
  test('a browser’s in its cookie alone, any other in the header alone', async () => {
    const [browser, other] = [await newToken(), set.owner.token]
    const get = (headers: Record<string, string>) => call('GET', '/api/v1/auth/session', { headers })
    expect((await get(page(browser))).status).toBe(200)
    expect((await get({ 'x-auth-token': other })).status).toBe(200)
    for (const headers of [
      { 'x-auth-token': browser },
      page(other),
      { 'x-api-key': browser },
      { authorization: `Bearer ${browser}` },
    ]) {
      expect((await get(headers)).status).toBe(401)
    }
  })

  test('the cookie is the last of four, and not looked at beside another', async () => {
    const token = await newToken()
    const key = await set.house.newKey(set.owner)
    const asked = (headers: Record<string, string>) =>
      call('GET', '/api/v1/workspaces', { headers: { ...page(token), ...headers } })
    const email = async (headers: Record<string, string>) =>
      (await call('GET', '/api/v1/auth/session', { headers: { ...page(token), ...headers } })).body.user
        ?.email
    expect(await email({})).toBe('alice@example.test')
    expect(await email({ 'x-auth-token': set.owner.token })).toBe(set.owner.email)
    expect((await asked({ 'x-api-key': key.secret })).status).toBe(200)
    expect((await asked({ 'x-api-key': 'guild_live_junk' })).status).toBe(401)
    expect((await asked({ 'x-auth-token': 'junk' })).status).toBe(401)
    expect((await asked({ authorization: 'Bearer junk' })).status).toBe(401)
  })
})

describe('a browser’s session ends', () => {
  test('by signing out: at once, with the cookie and all that pages kept', async () => {
    const token = await newToken()
    const out = await call('POST', '/api/v1/auth/sign-out', { headers: writing(token) })
    expect([out.status, out.body]).toEqual([200, { success: true }])
    expect(out.headers.getSetCookie()).toEqual([
      `${session}=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict`,
    ])
    expect(out.headers.get('clear-site-data')).toBe('"cache", "storage"')
    expect((await whoIs(token)).status).toBe(401)
    // A program that signs out has no site data of ours.
    const { token: other } = await set.house.newPerson()
    const plain = await call('POST', '/api/v1/auth/sign-out', { token: other })
    expect([plain.headers.get('clear-site-data'), plain.headers.getSetCookie()]).toEqual([null, []])
  })

  test('from another device, and is listed there as what it is', async () => {
    const [here, there] = [await newToken('bob'), await newToken('bob')]
    const { body } = await call('GET', '/api/v1/auth/sessions', { headers: page(here) })
    const [other] = body.filter(({ current }: { current: boolean }) => !current)
    expect(other.kind).toBe('browser')
    await call('DELETE', `/api/v1/auth/sessions/${other.id}`, { headers: writing(here) })
    expect([(await whoIs(here)).status, (await whoIs(there)).status]).toEqual([200, 401])
  })

  test('when its person has signed in twenty times since, also twenty at once', async () => {
    const first = await newToken('carol')
    const { user } = (await whoIs(first)).body
    const open = () =>
      set.house.deps.database.transaction(async (tx) => {
        const found = await findUser(tx, user.id)
        if (!found) throw new Error('nobody')
        return openBrowserSession(tx, found, { userAgent: 'test', address: '127.0.0.1' })
      })
    for (let i = 0; i < 19; i++) await open()
    expect((await whoIs(first)).status).toBe(200)
    const opened = await Promise.all(Array.from({ length: 20 }, open))
    const count = await set.query(
      "select count(*)::int from sessions where user_id = $1 and kind = 'browser'",
      [user.id],
    )
    expect(count).toEqual([{ count: 20 }])
    // This process was not told, so it believes what it knew for less than a second.
    await new Promise((resolve) => setTimeout(resolve, 950))
    expect((await whoIs(first)).status).toBe(401)
    expect(opened.flatMap(({ ended }) => ended)).toHaveLength(20)
    for (const { token } of opened) expect((await whoIs(token)).status).toBe(200)
  })

  test('30 days after its last use', async () => {
    const token = await newToken('dave')
    try {
      await shiftClock(set.databaseUrl, 31 * 24 * 3600)
      await new Promise((resolve) => setTimeout(resolve, 950))
      expect((await whoIs(token)).status).toBe(401)
    } finally {
      await shiftClock(set.databaseUrl, 0)
    }
  })
})

test('pending counts what waits for the person, in all their workspaces', async () => {
  const token = await newToken('erin')
  const pending = async () => (await whoIs(token)).body.pending
  const { api_key } = (
    await call('POST', '/api/v1/keys', { headers: writing(token), body: { label: 'k', access: 'declared' } })
  ).body
  expect(await pending()).toBe(0)
  const asked = await call('POST', '/api/v1/agents/connect', {
    key: api_key,
    body: { requested_scopes: ['profile:read'] },
  })
  expect([200, 202]).toContain(asked.status)
  expect(await pending()).toBe(1)
  const pairing = await call('POST', '/api/v1/activate', { body: {} })
  expect(await pending()).toBe(1)
  const lookup = `/api/v1/activate/lookup?code=${pairing.body.user_code}`
  expect((await call('GET', lookup, { headers: page(token) })).status).toBe(200)
  expect(await pending()).toBe(2)
  const { items } = (await call('GET', '/api/v1/approvals?status=pending', { headers: page(token) })).body
  expect(items).toHaveLength(2)
})

test('no log line holds a token or a mark', async () => {
  const browser = newBrowser()
  const back = await signIn(browser)
  const token = browser.cookiesOf(publicUrl)[session] ?? ''
  await whoIs(token)
  expect(token.length).toBeGreaterThan(40)
  expect(set.house.log()).not.toContain(token)
  expect(back.text).toBe('')
})
