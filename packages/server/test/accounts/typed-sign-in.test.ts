import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../../../../test/support/browser.ts'
import { shiftClock } from '../support/house.ts'
import { newPkce, type OAuthHouse, openOAuthHouse, publicUrl } from '../support/oauth.ts'

let set: OAuthHouse

beforeAll(async () => {
  set = await openOAuthHouse()
})
afterAll(() => set.close())

const codePage = `${publicUrl}/oauth/code`
const call = (...given: Parameters<OAuthHouse['house']['call']>) => set.house.call(...given)
const startPath = (query: Record<string, string>) => `/api/v1/auth/start?${new URLSearchParams(query)}`

/** What a person reads off the page after they signed in, or the whole page. */
async function readCode(challenge: string, login = 'alice') {
  const browser = openBrowser({ reach: { [publicUrl]: set.house.url }, stopAt: 'nowhere:' })
  const atProvider = await browser.open(publicUrl + startPath({ redirect: codePage, challenge }))
  const page = await browser.submit(atProvider, { login })
  const code = /<code[^>]*>([^<]+)<\/code>/.exec(page.text)?.[1] ?? ''
  return { page, code }
}

const exchange = (body: Record<string, unknown>) => call('POST', '/api/v1/auth/exchange', { body })
const statusOf = async (token: string) => (await call('GET', '/api/v1/auth/session', { token })).status
const own = async (token: string) =>
  (await call('GET', '/api/v1/auth/sessions', { token })).body.find(
    (row: { current: boolean }) => row.current,
  )

async function newSession(wanted: Record<string, unknown>): Promise<string> {
  const { verifier, challenge } = newPkce()
  const { code } = await readCode(challenge)
  const { body, status, text } = await exchange({ code, verifier, ...wanted })
  if (status !== 200) throw new Error(text)
  return body.auth_token
}

describe('a code that is typed', () => {
  test('is shown on a page that warns, and works once, for who began', async () => {
    const { verifier, challenge } = newPkce()
    const { page, code } = await readCode(challenge)
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.text).toContain('Whoever gets it from you is signed in as you')
    const other = await exchange({ code, verifier: newPkce().verifier })
    expect(other.status).toBe(401)
    // A wrong verifier does not use it up: the transaction that looked is taken back.
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange({ code, verifier })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('needs a challenge, or whoever reads it over a shoulder could use it', async () => {
    const refused = await call('GET', startPath({ redirect: codePage }))
    expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('challenge')])
  })

  test.each([
    '/oauth/code?',
    '/oauth/code?x=1',
    '/oauth/./code',
    '/oauth/%63ode',
    '/oauth/code#',
    '/oauth/code/',
    '/%',
  ])('is known by one address: %s', async (path) => {
    const { challenge } = newPkce()
    expect((await call('GET', startPath({ redirect: publicUrl + path, challenge }))).status).toBe(400)
  })

  test('of somebody who began without a secret does not sign in a program that has one', async () => {
    const redirect = 'http://127.0.0.1:4567/done'
    const browser = openBrowser({ reach: { [publicUrl]: set.house.url }, stopAt: redirect })
    const atProvider = await browser.open(publicUrl + startPath({ redirect }))
    const { url } = await browser.submit(atProvider, { login: 'mallory' })
    const code = url.searchParams.get('code')
    expect((await exchange({ code, verifier: newPkce().verifier })).status).toBe(401)
    expect((await exchange({ code })).status).toBe(200)
  })

  test('lives five minutes; one that an app collects lives one', async () => {
    const { verifier, challenge } = newPkce()
    const [early, late] = [await readCode(challenge), await readCode(challenge)]
    await shiftClock(set.databaseUrl, 290)
    const inTime = await exchange({ code: early.code, verifier })
    await shiftClock(set.databaseUrl, 310)
    const tooLate = await exchange({ code: late.code, verifier })
    await shiftClock(set.databaseUrl, 0)
    expect([inTime.status, tooLate.status]).toEqual([200, 401])
    const redirect = 'http://127.0.0.1:4567/done'
    const browser = openBrowser({ reach: { [publicUrl]: set.house.url }, stopAt: redirect })
    const atProvider = await browser.open(publicUrl + startPath({ redirect, challenge }))
    const { url } = await browser.submit(atProvider, { login: 'alice' })
    await shiftClock(set.databaseUrl, 70)
    const collected = await exchange({ code: url.searchParams.get('code'), verifier })
    await shiftClock(set.databaseUrl, 0)
    expect(collected.status).toBe(401)
  })

  test.each(['', '?code=call+me', '?code=%3Cscript%3E', '?error=access_denied', '?code=guild_live_x'])(
    'and nothing else is shown there: "%s"',
    async (query) => {
      const page = await call('GET', `/oauth/code${query}`)
      expect(page.status).toBe(400)
      expect(page.text).not.toContain('<code')
      expect(page.text).not.toMatch(/call me|<script|guild_live/)
    },
  )

  test.each(['https://evil.example/oauth/code', `${publicUrl}.evil.example/oauth/code`])(
    'is sent to no page of somebody else: %s',
    async (redirect) => {
      const { challenge } = newPkce()
      expect((await call('GET', startPath({ redirect, challenge }))).status).toBe(400)
    },
  )
})

describe('a session that was wanted short', () => {
  test('has its name in the list of its person, without what cannot be seen', async () => {
    const token = await newSession({ label: 'guild on \u202ebuild-7\u0007', lifetimeSeconds: 3600 })
    expect(await own(token)).toMatchObject({ label: 'guild on  build-7' })
    const plain = await newSession({})
    expect(await own(plain)).toMatchObject({ label: null })
  })

  test('ends at its time however much it is used, and nobody prolongs it', async () => {
    const token = await newSession({ lifetimeSeconds: 600 })
    try {
      for (const seconds of [120, 240, 480, 590]) {
        await shiftClock(set.databaseUrl, seconds)
        await new Promise((resolve) => setTimeout(resolve, 950))
        expect(await statusOf(token), `after ${seconds} s`).toBe(200)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      const { expires_at, created_at, last_used_at, id } = await own(token)
      expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(600_000)
      expect(Date.parse(last_used_at)).toBeGreaterThan(Date.parse(created_at))
      const renewal = set.query("update sessions set expires_at = now() + interval '30 days' where id = $1", [
        id,
      ])
      await expect(renewal).rejects.toThrow('sessions_lifetime')
      await shiftClock(set.databaseUrl, 601)
      await new Promise((resolve) => setTimeout(resolve, 950))
      expect(await statusOf(token)).toBe(401)
    } finally {
      await shiftClock(set.databaseUrl, 0)
    }
  }, 20_000)

  test.each([299, 2_592_001, 0, -1, 1.5, '3600'])('not for %s seconds', async (lifetimeSeconds) => {
    const { verifier, challenge } = newPkce()
    const { code } = await readCode(challenge)
    expect((await exchange({ code, verifier, lifetimeSeconds })).status).toBe(400)
  })
})
