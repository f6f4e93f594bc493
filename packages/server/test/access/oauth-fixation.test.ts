import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../../../../test/support/browser.ts'
import {
  authorizeUrl,
  bearer,
  browserFor,
  exchange,
  newPkce,
  type OAuthHouse,
  openOAuthHouse,
  publicUrl,
  registerApp,
} from '../support/oauth.ts'

/**
 * Who begins a request for consent has its cookies, and a sibling of this host can set them in somebody else's browser
 * (`Domain=` their common parent, `Path=` the interaction's: they have no prefix that keeps it from that). The other
 * person signs in there; the one who began must not be able to go on as them.
 */
let set: OAuthHouse

beforeAll(async () => {
  set = await openOAuthHouse()
})
afterAll(() => set.close())

test('who began a consent does not go on with the sign-in of who finished it', async () => {
  const { house, owner } = set
  const app = await registerApp(house, owner, { name: 'Evil' })
  const { verifier, challenge } = newPkce()
  const evil = browserFor(house)
  const url = authorizeUrl(app, { code_challenge: challenge, code_challenge_method: 'S256' })
  const signInPage = await evil.open(url)
  const link = /href="([^"]+\/auth\/start[^"]+)"/.exec(signInPage.text)?.[1] ?? expect.fail()
  // The victim follows the link of the attacker's own page, is known at the provider, and comes back.
  const stopAt = `${publicUrl}/oauth/interaction`
  const victim = openBrowser({ reach: { [publicUrl]: house.url }, stopAt })
  const atProvider = await victim.open(link.replaceAll('&#38;', '&').replaceAll('&amp;', '&'))
  const { url: back } = await victim.submit(atProvider, { login: 'victim' })
  expect(back.searchParams.get('code')).not.toBeNull()
  // With the cookies that the sibling has set.
  const tossed = Object.entries(evil.cookiesOf(publicUrl)).map(([name, value]) => `${name}=${value}`)
  await house.call('GET', back.pathname + back.search, { headers: { cookie: tossed.join('; ') } })

  const page = await evil.open(signInPage.url.href)
  if (page.text.includes('name="csrf"')) {
    const { url: allowed } = await evil.submit(page, { decision: 'allow' })
    const code = allowed.searchParams.get('code')
    const tokens = await exchange(house, app, { code, code_verifier: verifier })
    const profile = await house.call('GET', '/api/v1/profile', bearer(tokens.body.access_token))
    expect.soft(profile.text).not.toContain('victim@example.test')
  }
  expect(page.text).not.toContain('victim@example.test')
})
