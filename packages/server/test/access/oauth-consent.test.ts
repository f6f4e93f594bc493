import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertRecord } from '#access/oauth/store.ts'
import type { Browser, Visit } from '../../../../test/support/browser.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { type House, openHouse } from '../support/house.ts'
import {
  type App,
  authorizeUrl,
  bearer,
  browserFor,
  callback,
  newPkce,
  newTokens,
  type OAuthHouse,
  openOAuthHouse,
  publicUrl,
  reachConsent,
  registerApp,
  wayBack,
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

test('the page tells who asks, and what in plain words; the name is shown as a claim', async () => {
  const evil = await registerApp(house, owner, { name: '<script>alert(1)</script>' })
  const browser = browserFor(house)
  const page = await reachConsent(browser, authorizeUrl(evil, { scope: 'read trace:read' }), 'alice')
  expect(page.status).toBe(200)
  expect(page.text).not.toContain('<script')
  expect(page.text).toContain('<q>&#60;script&#62;alert(1)&#60;/script&#62;</q>')
  for (const text of [
    'Full account access',
    'app.example',
    owner.email,
    'alice@example.test',
    'step by step',
  ])
    expect(page.text).toContain(text)
  const policy = page.headers.get('content-security-policy')
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self' https:\/\/app.example;/,
  )
  const style = /<style>(.*)<\/style>/s.exec(page.text)?.[1] ?? ''
  expect(policy).toContain(`'sha256-${createHash('sha256').update(style).digest('base64')}'`)
  // Against the second click of a double click; what it does is tried in a browser, in `test/e2e`.
  expect(style).toContain('a, button { animation: not-yet .7s }')
  expect(page.headers.get('referrer-policy')).toBe('same-origin')
  expect(page.headers.get('cache-control')).toBe('no-store')
  expect(page.headers.get('x-request-id')).not.toBeNull()
  expect(page.headers.get('x-ratelimit-limit')).not.toBeNull()
})

test('a grant is good in the workspace it was made for, while the person is a member', async () => {
  const alice = await set.query("select id from users where email = 'alice@example.test'")
  const team = await house.newTeam(owner, 'Shared')
  await set.query('insert into workspace_members (workspace_id, user_id, role) values ($1, $2, $3)', [
    team,
    alice[0].id,
    'member',
  ])
  const { access_token } = await newTokens(house, app, { fields: { workspace: team } })
  const answer = await listWith(access_token)
  expect(answer.body).toMatchObject([{ id: team, role: 'member' }])
  await house.call('DELETE', `/api/v1/workspaces/current/members/${alice[0].id}`, {
    token: owner.token,
    headers: { 'x-workspace-id': team },
  })
  await until(async () => (await listWith(access_token)).status === 401, 1000)
})

test('a workspace of somebody else cannot be chosen', async () => {
  const browser = browserFor(house)
  const page = await reachConsent(browser, authorizeUrl(app), 'alice')
  const refused = await browser.submit(page, { decision: 'allow', workspace: owner.workspaceId })
  expect(refused.status).toBe(403)
})

test('a denial goes back to the app and is written down', async () => {
  const browser = browserFor(house)
  const page = await reachConsent(browser, authorizeUrl(app), 'dora')
  const { url } = await browser.submit(page, { decision: 'deny' })
  expect(url.href.startsWith(callback)).toBe(true)
  expect(url.searchParams.get('error')).toBe('access_denied')
  expect(url.searchParams.get('state')).toBe('a b/&=%')
  expect(url.searchParams.has('code')).toBe(false)
  const lines = await set.query("select details from activity where type = 'oauth_grant.denied'")
  expect(lines).toEqual([{ details: { clientId: app.id, scopes: ['read'] } }])
})

describe('a consent is decided once', () => {
  const linesOf = (login: string) =>
    set.query(
      `select a.type from activity a join users u on u.id = a.user_id
       where u.email = $1 and a.type like 'oauth_grant.%'`,
      [`${login}@example.test`],
    )
  const grantsOf = (login: string) =>
    set.query(
      `select r.workspace_id from oauth_records r join users u on u.id = r.user_id
       where u.email = $1 and r.model = 'Grant'`,
      [`${login}@example.test`],
    )
  /** Decides without going where that leads. */
  const decide = async (browser: Browser, page: Visit, decision: string) => {
    const hidden = (name: string) =>
      new RegExp(`name="${name}"[^]*?value="([^"]+)"`).exec(page.text)?.[1] ?? ''
    const form = { csrf: hidden('csrf'), workspace: hidden('workspace'), decision }
    const cookie = Object.entries(browser.cookiesOf(publicUrl)).map(([name, value]) => `${name}=${value}`)
    const answer = await fetch(house.url + page.url.pathname, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: cookie.join('; '), origin: publicUrl },
      body: new URLSearchParams(form),
    })
    return {
      status: answer.status,
      text: await answer.text(),
      location: answer.headers.get('location') ?? '',
    }
  }

  test.each(['allow', 'deny'])('%s first, and what comes after it has no effect', async (first) => {
    const login = `once-${first}`
    const browser = browserFor(house)
    const page = await reachConsent(browser, authorizeUrl(app), login)
    const decided = await decide(browser, page, first)
    expect(decided.status).toBe(303)
    for (const later of ['allow', 'deny']) {
      const refused = await decide(browser, page, later)
      expect([refused.status, refused.location]).toEqual([404, ''])
      expect(refused.text).toContain('was decided already')
    }
    const shown = await browser.open(page.url.href)
    expect([shown.status, shown.text.includes('name="csrf"')]).toEqual([404, false])
    const { url } = await browser.open(decided.location)
    expect(url.searchParams.has('code')).toBe(first === 'allow')
    expect(await linesOf(login)).toHaveLength(1)
    expect(await grantsOf(login)).toHaveLength(first === 'allow' ? 1 : 0)
  })

  test('by one of many at once, which the app is told and the log too', async () => {
    const browser = browserFor(house)
    const page = await reachConsent(browser, authorizeUrl(app), 'many')
    const sent = ['allow', 'deny', 'allow', 'deny', 'allow', 'deny']
    const answers = await Promise.all(sent.map((decision) => decide(browser, page, decision)))
    const won = answers.findIndex(({ status }) => status === 303)
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 404, 404, 404, 404, 404])
    expect(await linesOf('many')).toEqual([
      { type: sent[won] === 'allow' ? 'oauth_grant.allowed' : 'oauth_grant.denied' },
    ])
    expect(await grantsOf('many')).toHaveLength(sent[won] === 'allow' ? 1 : 0)
  })

  test('and what was decided is carried out once', async () => {
    const browser = browserFor(house)
    const page = await reachConsent(browser, authorizeUrl(app), 'carried')
    const { location } = await decide(browser, page, 'allow')
    const visits = await Promise.all(Array.from({ length: 4 }, () => browser.open(location)))
    expect(visits.filter(({ url }) => url.searchParams.has('code'))).toHaveLength(1)
  })

  test('nor is a decision undone by somebody who signs in after it', async () => {
    const browser = browserFor(house)
    const page = await reachConsent(browser, authorizeUrl(app), 'first')
    const [row] = await set.query(
      "select id_hash from oauth_records where model = 'Interaction' order by id desc limit 1",
    )
    const { location } = await decide(browser, page, 'allow')
    const late = { payload: '{}', grant_id: null, client_id: app.id, user_id: null }
    await insertRecord(house.deps.database.db, { model: 'Interaction', id_hash: row.id_hash, ...late }, 600)
    const { url } = await browser.open(location)
    expect(url.searchParams.has('code')).toBe(true)
  })
})

describe('a decision counts only from the page that asked', () => {
  test.each<[string, Record<string, string>, Record<string, string>]>([
    ['without a token', { csrf: '' }, {}],
    ['with a wrong token', { csrf: 'x'.repeat(43) }, {}],
    ['from another origin', {}, { origin: 'https://evil.example' }],
    ['from no origin', {}, { origin: 'null' }],
  ])('%s', async (_name, fields, headers) => {
    const browser = browserFor(house)
    const page = await reachConsent(browser, authorizeUrl(app), 'alice')
    const refused = await browser.submit(page, { decision: 'allow', ...fields }, headers)
    expect(refused.status).toBe(403)
    expect(refused.headers.get('location')).toBeNull()
    // The page itself still works.
    const { url } = await browser.submit(page, { decision: 'allow' })
    expect(url.searchParams.has('code')).toBe(true)
  })

  test('with the token of another interaction, or from another browser', async () => {
    const [one, two] = [browserFor(house), browserFor(house)]
    const first = await reachConsent(one, authorizeUrl(app), 'alice')
    const second = await reachConsent(two, authorizeUrl(app), 'alice')
    const csrf = /name="csrf" value="([^"]+)"/.exec(second.text)?.[1] ?? ''
    expect((await one.submit(first, { decision: 'allow', csrf })).status).toBe(403)
    expect((await two.submit(first, { decision: 'allow' })).status).toBe(404)
  })
})

test('a sign-in that began elsewhere cannot be planted into an interaction', async () => {
  const browser = browserFor(house)
  const page = await browser.open(authorizeUrl(app))
  for (const challenge of [undefined, newPkce().challenge]) {
    const other = browserFor(house)
    const start = new URLSearchParams({
      redirect: `${callback.replace('https://app.example', publicUrl)}`,
      ...(challenge ? { challenge } : {}),
    })
    const atProvider = await other.open(`${publicUrl}/api/v1/auth/start?${start}`)
    const back = await other.submit(atProvider, { login: 'mallory' })
    const code = back.url.searchParams.get('code') ?? ''
    expect(code).toMatch(/^guild_signin_/)
    const planted = await browser.open(`${page.url.origin}${page.url.pathname}?code=${code}`)
    expect(planted.text).toContain('Sign in to continue')
    expect(planted.text).not.toContain('mallory')
    expect(planted.url.search).toBe('?failed')
  }
})

describe('redirect addresses are compared to the byte', () => {
  const variants = [
    'https://app.example/callback/',
    'https://app.example/callback?x=1',
    'https://app.example/callback#x',
    'https://app.example/Callback',
    'https://app.example/callback/../callback',
    'https://app.example/callback%2f',
    'https://app.example:443/callback',
    'https://APP.example/callback',
    'https://app.example.evil.example/callback',
    'https://app.example@evil.example/callback',
    'http://app.example/callback',
    'https://app.example/call\\back',
    '//app.example/callback',
    'javascript:alert(1)',
    '',
  ]
  test.each(variants)('%s', async (redirect_uri) => {
    const answer = await house.call('GET', authorizeUrl(app, { redirect_uri }).slice(publicUrl.length))
    expect(answer.status).toBe(400)
    expect(answer.headers.get('location')).toBeNull()
    expect(answer.text).toContain('This did not work')
  })

  test('a loopback port is part of the address', async () => {
    const local = await registerApp(house, owner, { redirect_uris: ['http://127.0.0.1:4000/cb'] })
    for (const [redirect_uri, status] of [
      ['http://127.0.0.1:4000/cb', 303],
      ['http://127.0.0.1:4001/cb', 400],
      ['http://localhost:4000/cb', 400],
    ] as const) {
      const answer = await house.call('GET', authorizeUrl(local, { redirect_uri }).slice(publicUrl.length))
      expect(answer.status, redirect_uri).toBe(status)
    }
  })
})

test('only codes, only known scopes', async () => {
  const errorOf = async (query: Record<string, string>) => {
    const answer = await house.call('GET', authorizeUrl(app, query).slice(publicUrl.length))
    const { searchParams } = wayBack(answer)
    expect(searchParams.has('code')).toBe(false)
    return searchParams.get('error')
  }
  expect(await errorOf({ response_type: 'token' })).toBe('unsupported_response_type')
  expect(await errorOf({ scope: 'read openid' })).toBe('invalid_scope')
  expect(await errorOf({ scope: 'root' })).toBe('invalid_scope')
  expect(await errorOf({ scope: '' })).toBe('invalid_scope')
  const posted = await house.call(
    'GET',
    authorizeUrl(app, { response_mode: 'form_post' }).slice(publicUrl.length),
  )
  expect(posted.status).toBe(400)
  expect(posted.text).not.toContain('<script')
})

test.each([
  'prompt=none',
  'prompt=login+none',
  'prompt=login&prompt=none',
  'prompt=NONE',
  'scope=bogus',
  'scope=',
  'response_type=token',
  'response_mode=fragment&scope=bogus',
  'response_mode=query&response_mode=form_post',
  'response_mode=web_message',
  'max_age=-1',
  'request=abc',
  'request_uri=https://evil.example/x',
  'registration=x',
  'code_challenge_method=plain',
  'resource=https://evil.example',
])('refused for "%s", a browser goes nowhere that an app chose unless its person does', async (asked) => {
  const url = new URL(authorizeUrl(app))
  const added = new URLSearchParams(asked)
  for (const name of added.keys()) url.searchParams.delete(name)
  const answer = await house.call('GET', `${url.pathname}${url.search}&${asked}`)
  expect([answer.status, answer.headers.get('location'), answer.headers.get('refresh')]).toEqual([
    400,
    null,
    null,
  ])
  expect(answer.headers.get('content-type')).toMatch(/^text\/html/)
  expect(answer.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+';/,
  )
  expect(answer.text).toContain('This did not work')
  expect(answer.text).toContain('>app.example</a>')
  const back = wayBack(answer)
  expect(back.href.startsWith(`${callback}?`)).toBe(true)
  expect(back.searchParams.get('error')).toMatch(/^[a-z_]+$/)
  expect(back.searchParams.get('state')).toBe('a b/&=%')
})

test('a page of refusal says nothing that an app wants said', async () => {
  const says = `${callback}?error_description=Call+us&error=Call+us`
  const loud = await registerApp(house, owner, { redirect_uris: [says] })
  const path = authorizeUrl(loud, { redirect_uri: says, scope: 'bogus' }).slice(publicUrl.length)
  const { status, text } = await house.call('GET', path)
  expect(status).toBe(400)
  expect(text.replaceAll(/href="[^"]*"/g, '')).not.toMatch(/Call.us/)
})

test('cookies are for this server and this interaction alone', async () => {
  const secure = await openHouse({ DATABASE_URL: set.databaseUrl, PUBLIC_URL: 'https://house.test' })
  const answer = await secure.call('GET', authorizeUrl(app).slice(publicUrl.length))
  await secure.close()
  const [, uid] =
    /^https:\/\/house\.test\/oauth\/interaction\/(.+)$/.exec(answer.headers.get('location') ?? '') ?? []
  const cookies = answer.headers.getSetCookie()
  expect(cookies).toHaveLength(4)
  for (const cookie of cookies) {
    expect(cookie).toMatch(/^oauth_(interaction|resume)(\.sig)?=/)
    for (const part of [`/${uid};`, '; samesite=lax', '; secure', '; httponly']) {
      expect(cookie.toLowerCase()).toContain(part.toLowerCase())
    }
  }
})
