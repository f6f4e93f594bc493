import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../../../../test/support/browser.ts'
import {
  type App,
  authorizeUrl,
  browserFor,
  type OAuthHouse,
  openOAuthHouse,
  publicUrl,
  reachConsent,
  registerApp,
} from '../support/oauth.ts'

/** A consent page that was left open when its person signed out gives nothing away to who sits down next. */
let set: OAuthHouse
let app: App

beforeAll(async () => {
  set = await openOAuthHouse()
  app = await registerApp(set.house, set.owner)
})
afterAll(() => set.close())

/** Signed in to the app, in a browser of its own. */
async function signedIn(login: string) {
  const browser = openBrowser({ reach: { [publicUrl]: set.house.url }, stopAt: `${publicUrl}/requests` })
  const start = await browser.open(`${publicUrl}/api/v1/auth/start?browser=1&return=/requests`)
  await browser.submit(start, { login })
  return browser.cookiesOf(publicUrl)
}

function call(cookies: Record<string, string>, method: string, path: string) {
  const cookie = Object.entries(cookies).map(([name, value]) => `${name}=${value}`)
  const headers = { 'sec-fetch-site': 'same-origin', origin: publicUrl, 'x-guild-app': '1' }
  return set.house.call(method, `/api/v1/auth/${path}`, {
    headers: { cookie: cookie.join('; '), ...headers },
  })
}

test('signing out has the browser forget every cookie of ours, and no other', async () => {
  const browser = browserFor(set.house)
  await reachConsent(browser, authorizeUrl(app), 'forgets')
  const consent = browser.cookiesOf(publicUrl)
  const [mark = ''] = Object.keys(consent).filter((name) => name.startsWith('guild_consent_'))
  expect(mark).not.toBe('')
  const cookies = { other: '1', ...consent, '__Host-guild_signin': 'x', ...(await signedIn('forgets')) }
  const { status, headers } = await call(cookies, 'POST', 'sign-out')
  expect(status).toBe(200)
  const lines = headers.getSetCookie()
  const forgotten = lines.map((line) => line.slice(0, line.indexOf('=')))
  expect(forgotten.toSorted()).toEqual(['__Host-guild', '__Host-guild_signin', mark])
  for (const line of lines) expect(line).toMatch(/^[\w-]+=; Path=\/; Max-Age=0; /)
})

describe.each<[string, (cookies: Record<string, string>) => Promise<unknown>]>([
  ['signs out', (cookies) => call(cookies, 'POST', 'sign-out')],
  [
    'ends their other sessions',
    async (cookies) => {
      await signedIn('leaves')
      expect((await call(cookies, 'POST', 'sessions/end-others')).body.ended).toBeGreaterThan(0)
    },
  ],
])('a person who %s', (_name, leave) => {
  test('has no consent waiting any more, in whichever browser; others have theirs', async () => {
    const [one, two] = [browserFor(set.house), browserFor(set.house)]
    const left = await reachConsent(one, authorizeUrl(app), 'leaves')
    const stays = await reachConsent(two, authorizeUrl(app), 'stays')
    await leave(await signedIn('leaves'))
    const late = await one.submit(left, { decision: 'allow' })
    expect([late.status, late.url.origin]).toEqual([404, publicUrl])
    expect((await one.open(left.url.href)).text).not.toContain('name="csrf"')
    const { url } = await two.submit(stays, { decision: 'allow' })
    expect(url.searchParams.has('code')).toBe(true)
  })
})
