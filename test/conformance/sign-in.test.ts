import { describe, expect, test } from 'vitest'
import { modes, newEmail, newPerson, newVisitor, pair, type SignedIn, signIn } from './support/actors.ts'
import { newCaller } from './support/client.ts'
import { providerAuthorizationEndpoint, signInWithProvider } from './support/identity.ts'
import { isoPattern, uuidPattern } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

const signedInShape = {
  auth_token: expect.stringMatching(/./),
  expires_at: expect.stringMatching(isoPattern),
  user: { id: expect.stringMatching(uuidPattern), mode: expect.stringMatching(/^(byok|payg|based)mode$/) },
  workspaces: [{ id: expect.stringMatching(uuidPattern), kind: 'personal', current: true }],
  current_workspace_id: expect.stringMatching(uuidPattern),
}

function expectSignedIn(answer: SignedIn, email: string): void {
  expect(answer).toMatchObject({ ...signedInShape, user: { ...signedInShape.user, email } })
  expect(Object.keys(answer.user).sort()).toEqual(['email', 'id', 'mode', 'name'])
  expect(answer.current_workspace_id).toBe(answer.workspaces[0]?.id)
}

describe('signing in for development', () => {
  test('answers a session that works at once', async () => {
    verifies('auth:token:issued-by-sign-in', 'auth:exchange:answer')
    const email = newEmail()
    const { status, body } = await newVisitor().post<SignedIn>('/auth/dev', { email })
    expect(status).toBe(200)
    expectSignedIn(body, email)
    const session = newCaller({ headers: { 'x-auth-token': body.auth_token } })
    expect((await session.get('/workspaces')).status).toBe(200)
    expect((await session.get('/auth/session')).body).toMatchObject({ user: { id: body.user.id, email } })
  })
})

describe('signing in with an identity provider', () => {
  test('begins with a redirect that holds a state and a PKCE challenge', async () => {
    verifies('auth:start:redirects')
    const visitor = newVisitor()
    const { body: providers } = await visitor.get<{ id: string }[]>('/auth/providers')
    expect(providers.length).toBeGreaterThan(0)
    const query = new URLSearchParams({
      provider: providers[0]?.id ?? '',
      redirect: 'http://127.0.0.1:7777/signed-in',
    })
    const answer = await visitor.get(`/auth/start?${query}`)
    expect(answer.status).toBe(302)
    const target = new URL(String(answer.headers.location))
    const sent = Object.fromEntries(target.searchParams)
    expect(sent).toMatchObject({
      response_type: 'code',
      state: expect.stringMatching(/^.{16,}$/),
      code_challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      code_challenge_method: 'S256',
    })
    const again = new URL(String((await visitor.get(`/auth/start?${query}`)).headers.location))
    expect(again.searchParams.get('state')).not.toBe(sent['state'])
    expect(again.searchParams.get('code_challenge')).not.toBe(sent['code_challenge'])
  })

  stackOnly('ends with a code that exchange turns into a session, once', async () => {
    verifies('auth:token:issued-by-sign-in', 'auth:exchange:answer', 'auth:start:redirects')
    const email = newEmail()
    const visitor = newVisitor()
    const { code, authorizationEndpoint } = await signInWithProvider(visitor, email)
    expect(authorizationEndpoint).toBe(await providerAuthorizationEndpoint())
    const { status, body } = await visitor.post<SignedIn>('/auth/exchange', { code })
    expect(status).toBe(200)
    expectSignedIn(body, email)
    const session = newCaller({ headers: { 'x-auth-token': body.auth_token } })
    expect((await session.get('/workspaces')).status).toBe(200)
    expect((await visitor.post('/auth/exchange', { code })).status).toBe(401)
  })
})

test('a person sees where they are signed in, and ends it', async () => {
  verifies('auth:session:list-and-end')
  const [person, stranger] = [await newPerson(), await newPerson()]
  const others = [await signIn(person.email), await signIn(person.email), await signIn(person.email)]
  interface Session {
    id: number
    current: boolean
  }
  const { body: sessions } = await person.get<Session[]>('/auth/sessions')
  expect(sessions.map(({ current }) => current)).toEqual([false, false, false, true])
  const [newest] = sessions
  expect((await stranger.delete(`/auth/sessions/${newest?.id}`)).status).toBe(404)
  expect((await person.delete(`/auth/sessions/${newest?.id}`)).status).toBe(200)
  expect((await others[2]?.get('/workspaces'))?.status).toBe(401)
  expect((await others[0]?.get('/workspaces'))?.status).toBe(200)
  expect((await person.post('/auth/sessions/end-others')).body).toEqual({ success: true, ended: 2 })
  for (const other of others) expect((await other.get('/workspaces')).status).toBe(401)
  expect((await person.get('/workspaces')).status).toBe(200)
})

describe('the mode of an account', () => {
  test.each(modes)('%s is the tier of its keys', async (mode) => {
    verifies('keys:mode:inherits-owner', 'billing:mode:enum')
    const person = await newPerson({ mode })
    expect(person.signedIn.user.mode).toBe(mode)
    expect((await pair(person)).claim.tier).toBe(mode)
  })

  test('is one of three and nothing else', async () => {
    verifies('billing:mode:enum')
    const answer = await newVisitor().post('/auth/dev', { email: newEmail(), mode: 'freemode' })
    expect(answer.status).toBe(400)
  })
})
