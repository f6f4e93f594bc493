import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../../../../test/support/browser.ts'
import { type OAuthHouse, openOAuthHouse, publicUrl } from '../support/oauth.ts'

/**
 * A sibling of this host can set cookies for their common parent. A browser keeps it from the names that begin with
 * `__Host-`, but not from a name that has a byte in front which only the server leaves out: Chromium takes
 * `Set-Cookie: \xA0__Host-guild=…; Domain=…; Path=/api/v1` and sends it before the real one, its path being longer.
 */
let set: OAuthHouse

beforeAll(async () => {
  set = await openOAuthHouse()
})
afterAll(() => set.close())

const startPath = '/api/v1/auth/start?browser=1&return=/requests'
const call = (path: string, headers: Record<string, string>) => set.house.call('GET', path, { headers })
const fromPage = (cookie: string) => call('/api/v1/auth/session', { cookie, 'sec-fetch-site': 'same-origin' })

async function beginAs(login: string, stopAt: string) {
  const browser = openBrowser({ reach: { [publicUrl]: set.house.url }, stopAt: publicUrl + stopAt })
  const page = await browser.open(publicUrl + startPath)
  const { url } = await browser.submit(page, { login })
  return { cookies: browser.cookiesOf(publicUrl), path: url.pathname + url.search }
}

/** All single bytes that JavaScript, but no cookie, takes for blanks. */
const before = ['\u00a0']

test.each(before)('a sibling does not put its own session in the place of the person (%j)', async (blank) => {
  const [own, evil] = await Promise.all([beginAs('alice', '/requests'), beginAs('mallory', '/requests')])
  const [real, tossed] = [own, evil].map(({ cookies }) => `__Host-guild=${cookies['__Host-guild']}`)
  const both = await fromPage(`${blank}${tossed}; ${real}`)
  expect([both.status, both.body.user?.email]).toEqual([200, 'alice@example.test'])
  const alone = await fromPage(`other=1; ${blank}${tossed}`)
  expect(alone.status).toBe(401)
})

test.each(before)('nor its own mark, and so signs nobody in as itself (%j)', async (blank) => {
  const evil = await beginAs('mallory', '/api/v1/auth/callback')
  const cookie = `${blank}__Host-guild_signin=${evil.cookies['__Host-guild_signin']}`
  const finished = await call(evil.path, { cookie: `other=1; ${cookie}` })
  expect([finished.status, finished.headers.getSetCookie()]).toEqual([400, []])
})
