import { describe, expect, test } from 'vitest'
import { inWorkspace, must, newPerson, newVisitor, newWorkspace, type Workspace } from './support/actors.ts'
import type { Answer } from './support/client.ts'
import {
  type App,
  authorize,
  authorizePath,
  awkwardState,
  bearer,
  callback,
  newApp,
  newPkce,
  newProviderPerson,
  newTokens,
} from './support/oauth.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

const open = (app: App, query: Record<string, string> = {}): Promise<Answer> =>
  newVisitor().get(`root:${authorizePath(app, query)}`)

/** What the app is told in its own address by whoever follows the link of an error page. Nobody is sent there unasked. */
function toldByLink(answer: Answer): Record<string, string> {
  expect([answer.status, answer.headers.location]).toEqual([400, undefined])
  const href = answer.text
    .split('"')
    .map((part) => part.replace(/&(#38|amp);/g, '&').replace('#', '?'))
    .find((part) => part.startsWith(`${callback}?`))
  return Object.fromEntries(new URL(href ?? expect.fail(answer.text)).searchParams)
}

test('authorization lives below /oauth and not below /api/v1', async () => {
  verifies('versioning:path:oauth')
  const app = await newApp(await newPerson())
  const there = await open(app)
  expect([302, 303]).toContain(there.status)
  const bare = await newVisitor().get('root:/oauth/authorize')
  expect(bare.status).toBe(400)
  expectRefusal(await newVisitor().get(authorizePath(app)), 404, 'NOT_FOUND')
})

describe('an authorization', () => {
  stackOnly('leads the consenting person back to the app with a code and its state', async () => {
    verifies('oauth:authorize:params', 'oauth:authorize:state-returned')
    const app = await newApp(await newPerson())
    const { back } = await authorize(app, { query: { scope: 'read write' } })
    expect(back.get('code')).toMatch(/^\S{20,}$/)
    expect(back.get('state')).toBe(awkwardState)
    expect(back.has('error')).toBe(false)
    const other = await authorize(app, { query: { state: 'другое "<>+' } })
    expect(other.back.get('state')).toBe('другое "<>+')
    expect(other.back.get('code')).not.toBe(back.get('code'))
  })

  stackOnly('that is denied gives no code', async () => {
    verifies('oauth:authorize:denied')
    const { back } = await authorize(await newApp(await newPerson()), { fields: { decision: 'deny' } })
    expect(Object.fromEntries(back)).toMatchObject({ error: 'access_denied', state: awkwardState })
    expect(back.has('code')).toBe(false)
  })

  stackOnly('says on its page that it gives full account access', async () => {
    verifies('oauth:consent:full-access')
    const { page } = await authorize(await newApp(await newPerson(), { name: 'Tea & Co' }))
    expect(page.status).toBe(200)
    expect(page.text).toMatch(/full account access/i)
    expect(page.text).toMatch(/Tea &(#38|amp);? ?Co/)
  })

  test.each(['token', 'id_token', 'code token', 'none', ''])('for "%s" fails', async (response_type) => {
    verifies('oauth:authorize:response-type-code-only')
    const answer = await open(await newApp(await newPerson()), { response_type })
    const told = toldByLink(answer)
    expect(told['error']).toMatch(/^(unsupported_response_type|invalid_request)$/)
    for (const name of ['code', 'access_token', 'id_token']) expect(told).not.toHaveProperty(name)
  })

  test.each([
    `${callback}/`,
    `${callback}/more`,
    `${callback}?x=1`,
    `${callback}#x`,
    'https://app.example/',
    'https://app.example:444/callback',
    'http://app.example/callback',
    'https://app.example.evil.example/callback',
    'https://app.example@evil.example/callback',
    'https://evil.example/callback',
    '',
  ])('that would return to "%s" is an error page', async (redirect_uri) => {
    verifies('oauth:authorize:redirect-exact')
    const answer = await open(await newApp(await newPerson()), { redirect_uri })
    expect(answer.status).toBe(400)
    expect(answer.headers.location).toBeUndefined()
    expect(answer.headers['content-type']).toMatch(/^text\/html\b/)
  })

  test('of an app that does not exist is an error page', async () => {
    verifies('oauth:authorize:redirect-exact')
    const answer = await open({ client_id: 'nobody', client_secret: null })
    expect(answer.status).toBe(400)
    expect(answer.headers.location).toBeUndefined()
  })

  test.each(['read openid', 'root', 'profile:read', ''])('for the scope "%s" fails', async (scope) => {
    verifies('oauth:scope:unknown-refused')
    const told = toldByLink(await open(await newApp(await newPerson()), { scope }))
    expect(told).toMatchObject({ error: 'invalid_scope', state: awkwardState })
    expect(told).not.toHaveProperty('code')
  })

  test('needs PKCE with S256 when the app has no secret', async () => {
    verifies('oauth:pkce:required-of-public')
    const app = await newApp(await newPerson(), { public: true })
    expect(app.client_secret).toBeNull()
    const { code_challenge } = newPkce().query
    for (const query of [{}, { code_challenge, code_challenge_method: 'plain' }] as Record<
      string,
      string
    >[]) {
      const told = toldByLink(await open(app, query))
      expect(told).toMatchObject({ error: 'invalid_request' })
      expect(told).not.toHaveProperty('code')
    }
    expect([302, 303]).toContain((await open(app, newPkce().query)).status)
  })
})

stackOnly('a grant is bound to the workspace chosen on the page', async () => {
  verifies('oauth:grant:chosen-workspace')
  const person = await newProviderPerson()
  const team = await newWorkspace(person, 'Team')
  const app = await newApp(person)
  const currentOf = async (token: string, options = {}) =>
    must(await bearer(token).get<Workspace[]>('/workspaces', options), 200)
      .filter(({ current }) => current)
      .map(({ id }) => id)
  for (const workspace of [person.workspaceId, team.id]) {
    const { access_token } = await newTokens(app, { login: person.email, fields: { workspace } })
    expect(await currentOf(access_token)).toEqual([workspace])
    for (const other of [person.workspaceId, team.id]) {
      expect(await currentOf(access_token, inWorkspace(other))).toEqual([workspace])
    }
  }
})

describe('the apps of a person', () => {
  test('are registered with a secret that is shown once', async () => {
    verifies('oauth:clients:secret-once')
    const [person, other] = [await newPerson(), await newPerson()]
    const app = await newApp(person)
    expect(app.client_secret).toMatch(/^\S{20,}$/)
    const { status, body, text } = await person.get('/oauth/clients')
    expect(status).toBe(200)
    expect(body).toEqual([
      {
        client_id: app.client_id,
        name: 'Weather Bot',
        redirect_uris: [callback],
        public: false,
        created_at: expect.stringMatching(isoPattern),
      },
    ])
    expect(text).not.toContain(app.client_secret)
    expect((await other.get('/oauth/clients')).body).toEqual([])
    expectRefusal(await other.delete(`/oauth/clients/${app.client_id}`), 404, 'NOT_FOUND')
  })

  stackOnly('take their tokens with them', async () => {
    verifies('oauth:clients:delete-ends-tokens')
    const person = await newPerson()
    const app = await newApp(person)
    const caller = bearer((await newTokens(app)).access_token)
    expect((await caller.get('/workspaces')).status).toBe(200)
    const answer = await person.delete(`/oauth/clients/${app.client_id}`)
    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    expectRefusal(await caller.get('/workspaces'), 401, 'UNAUTHORIZED')
    expect((await open(app)).status).toBe(400)
  })
})

test.each(['oauth-authorization-server', 'oauth-protected-resource'])('%s describes itself', async (file) => {
  verifies('oauth:metadata:well-known')
  const { status, body } = await newVisitor().get<Record<string, unknown>>(`root:/.well-known/${file}`)
  expect(status).toBe(200)
  const scopes_supported = ['read', 'write', 'admin', 'trace:read', 'trace:write']
  expect(body).toMatchObject(
    file === 'oauth-protected-resource'
      ? { resource: expect.any(String), authorization_servers: [expect.any(String)], scopes_supported }
      : {
          issuer: expect.any(String),
          authorization_endpoint: expect.stringMatching(/\/oauth\/authorize$/),
          token_endpoint: expect.stringMatching(/\/oauth\/token$/),
          revocation_endpoint: expect.stringMatching(/\/oauth\/revoke$/),
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          scopes_supported,
        },
  )
})
