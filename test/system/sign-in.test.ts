import { createHash, randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { type Caller, createCaller } from '../support/caller.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

/** Real OpenID Connect against the stack's own provider, over two API processes that share nothing in memory. */
let stack: SharedStack
let app: Caller

const redirect = 'http://127.0.0.1:4567/done'

beforeAll(async () => {
  stack = await calmStack()
  app = createCaller(stack.baseUrl)
})

/** A browser that keeps the provider's cookies and types a name into its form. */
async function signInAtProvider(startUrl: string, login: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = startUrl
  for (let hops = 0; hops < 15; hops++) {
    const atProvider = url.startsWith(stack.identityUrl)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    let response = await fetch(url, { redirect: 'manual', headers: atProvider ? { cookie } : {} })
    remember(cookies, response)
    if (response.status === 200) {
      const action = /action="([^"]+)"/.exec(await response.text())?.[1] ?? ''
      const held = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      response = await fetch(new URL(action, url), {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: held, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ login }),
      })
      remember(cookies, response)
    }
    const location = response.headers.get('location')
    if (!location) throw new Error(`no way on from ${url}: ${response.status} ${await response.text()}`)
    url = new URL(location, url).href
    if (url.startsWith(redirect)) return new URL(url)
  }
  throw new Error('the sign-in went round in circles')
}

function remember(cookies: Map<string, string>, response: Response): void {
  for (const line of response.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    cookies.set(name, value)
  }
}

const startUrl = (query: Record<string, string> = {}) =>
  `${stack.baseUrl}/api/v1/auth/start?${new URLSearchParams({ redirect, ...query })}`

test('a person signs in, gets a session and a personal workspace, and is the same person the next time', async () => {
  const providers = await app.call('GET', '/api/v1/auth/providers')
  expect(providers.body).toEqual([{ id: 'dev', name: expect.any(String) }])
  const ids = new Set()
  for (let time = 0; time < 2; time++) {
    const back = await signInAtProvider(startUrl({ provider: 'dev' }), 'alice')
    const answer = await app.call('POST', '/api/v1/auth/exchange', {
      body: { code: back.searchParams.get('code') },
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      auth_token: expect.stringMatching(/^guild_auth_/),
      user: { email: 'alice@example.test', mode: 'paygmode' },
      workspaces: [{ kind: 'personal', role: 'owner', current: true }],
    })
    const session = await app.call('GET', '/api/v1/auth/session', { token: answer.body.auth_token })
    expect(session.body.user.id).toBe(answer.body.user.id)
    ids.add(answer.body.user.id)
  }
  expect(ids.size).toBe(1)
})

test('a sign-in code works once, also for twenty at a time', async () => {
  const back = await signInAtProvider(startUrl(), 'bob')
  const code = back.searchParams.get('code')
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => app.call('POST', '/api/v1/auth/exchange', { body: { code } })),
  )
  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
  expect(answers.filter((answer) => answer.status === 401)).toHaveLength(19)
})

test('an app that sent a challenge must show the verifier', async () => {
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const stolen = await signInAtProvider(startUrl({ challenge }), 'carol')
  const body = { code: stolen.searchParams.get('code') }
  expect((await app.call('POST', '/api/v1/auth/exchange', { body })).status).toBe(401)
  const own = await signInAtProvider(startUrl({ challenge }), 'carol')
  const answer = await app.call('POST', '/api/v1/auth/exchange', {
    body: { code: own.searchParams.get('code'), verifier },
  })
  expect(answer.status).toBe(200)
})

test('a refusal at the provider comes back to the app as an error', async () => {
  const started = await fetch(startUrl(), { redirect: 'manual' })
  const state = new URL(started.headers.get('location') ?? '').searchParams.get('state') ?? ''
  const query = new URLSearchParams({ state, error: 'access_denied' })
  const answer = await app.call('GET', `/api/v1/auth/callback?${query}`)
  expect(answer.status).toBe(302)
  expect(answer.headers.get('location')).toBe(`${redirect}?error=access_denied`)
})

test('a state that is altered in any byte, or a code that is not the provider\u2019s, signs nobody in', async () => {
  const started = await fetch(startUrl(), { redirect: 'manual' })
  const state = new URL(started.headers.get('location') ?? '').searchParams.get('state') ?? ''
  for (let i = 0; i < state.length; i += 7) {
    const altered = state.slice(0, i) + (state[i] === 'A' ? 'B' : 'A') + state.slice(i + 1)
    const query = new URLSearchParams({ state: altered, code: 'x' })
    expect((await app.call('GET', `/api/v1/auth/callback?${query}`)).status).toBe(400)
  }
  const query = new URLSearchParams({ state, code: 'x', iss: stack.identityUrl })
  expect((await app.call('GET', `/api/v1/auth/callback?${query}`)).status).toBe(401)
})

test.each([
  'https://evil.example/',
  'http://127.0.0.1.evil.example/',
  'http://user@127.0.0.1:1/',
  'javascript:alert(1)',
  '//evil.example',
  '/relative',
  'http://localhost.evil.example',
])('does not return to %s', async (hostile) => {
  const query = new URLSearchParams({ redirect: hostile })
  const answer = await app.call('GET', `/api/v1/auth/start?${query}`)
  expect(answer.status).toBe(400)
  expect(answer.body.error.code).toBe('INVALID_INPUT')
})
