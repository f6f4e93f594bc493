import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../../../../test/support/browser.ts'
import { until } from '../../../../test/support/processes.ts'
import { type HeardSocket, openSocket, socketUrl } from '../../../../test/support/sockets.ts'
import type { House } from '../support/house.ts'
import {
  authorizeUrl,
  browserFor,
  exchange,
  newPkce,
  newTokens,
  type OAuthHouse,
  openOAuthHouse,
  publicUrl,
  reachConsent,
  registerApp,
} from '../support/oauth.ts'

/**
 * What happens to the apps of a person without one of their own calls, at a page or by the app itself, is heard by them in
 * every process, and by nobody else. What their calls change is looked at by `told.test.ts`.
 */
let set: OAuthHouse
let other: House

beforeAll(async () => {
  set = await openOAuthHouse()
  other = await set.openAnother()
})
afterAll(async () => {
  await other?.close()
  await set?.close()
})

/** The app of that person in another browser. */
async function listenAs(login: string): Promise<HeardSocket> {
  const browser = openBrowser({ reach: { [publicUrl]: set.house.url }, stopAt: `${publicUrl}/requests` })
  const start = await browser.open(`${publicUrl}/api/v1/auth/start?browser=1&return=/requests`)
  await browser.submit(start, { login })
  const cookie = Object.entries(browser.cookiesOf(publicUrl)).map(([name, value]) => `${name}=${value}`)
  const headers = { cookie: cookie.join('; '), 'sec-fetch-site': 'same-origin', 'x-guild-app': '1' }
  return openSocket(await socketUrl(other, { headers }))
}

const timesTold = ({ heard }: HeardSocket): number =>
  heard.filter(({ type, keys }) => type === 'cache-invalidate' && keys.includes('oauthGrants')).length

/** Only the person is told. */
async function expectTold(login: string, change: () => Promise<unknown>): Promise<void> {
  const [person, stranger] = [await listenAs(login), await listenAs('stranger')]
  try {
    await change()
    await until(() => timesTold(person) > 0, 20_000)
    expect(timesTold(stranger)).toBe(0)
  } finally {
    person.socket.close()
    stranger.socket.close()
  }
}

test('an app that is allowed at the page of consent', async () => {
  const app = await registerApp(set.house, set.owner)
  const browser = browserFor(set.house)
  const page = await reachConsent(browser, authorizeUrl(app), 'allows')
  await expectTold('allows', () => browser.submit(page, { decision: 'allow' }))
})

test('an app that gives back what it was allowed', async () => {
  const app = await registerApp(set.house, set.owner)
  const { refresh_token: token } = await newTokens(set.house, app, { login: 'given-back' })
  await expectTold('given-back', () =>
    set.house.call('POST', '/oauth/revoke', {
      body: { token, client_id: app.id, ...(app.secret !== null && { client_secret: app.secret }) },
    }),
  )
})

test('an app that uses a code twice', async () => {
  const app = await registerApp(set.house, set.owner)
  const { verifier, challenge } = newPkce()
  const browser = browserFor(set.house)
  const query = { code_challenge: challenge, code_challenge_method: 'S256' }
  const page = await reachConsent(browser, authorizeUrl(app, query), 'twice')
  const { url } = await browser.submit(page, { decision: 'allow' })
  const use = () => exchange(set.house, app, { code: url.searchParams.get('code'), code_verifier: verifier })
  expect((await use()).status).toBe(200)
  await expectTold('twice', async () => expect((await use()).status).toBe(400))
})

test('an app that is deleted by whoever registered it', async () => {
  const app = await registerApp(set.house, set.owner)
  await newTokens(set.house, app, { login: 'deleted' })
  await expectTold('deleted', () =>
    set.house.call('DELETE', `/api/v1/oauth/clients/${app.id}`, { token: set.owner.token }),
  )
})
