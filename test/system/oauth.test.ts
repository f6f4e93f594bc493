import * as oidc from 'openid-client'
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { atSize } from '../support/sizes.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

/** A third-party app made with a client library nobody here wrote, against two API processes behind a balancer. */
let stack: SharedStack
let api: Caller
let owner: Person

const callback = 'https://app.example/callback'

beforeAll(async () => {
  stack = await calmStack()
  api = createCaller(stack.baseUrl)
  owner = await api.newPerson()
})

async function newApp(body: object = {}) {
  const answer = await api.call('POST', '/api/v1/oauth/clients', {
    token: owner.token,
    body: { name: 'Library app', redirect_uris: [callback], ...body },
  })
  expect(answer.status, answer.text).toBe(201)
  const { client_id, client_secret } = answer.body
  return { client_id: client_id as string, client_secret: client_secret as string | null }
}

async function configure(client: Awaited<ReturnType<typeof newApp>>, auth?: oidc.ClientAuth) {
  const secret = client.client_secret ?? undefined
  return oidc.discovery(new URL(stack.baseUrl), client.client_id, secret, auth, {
    algorithm: 'oauth2',
    execute: [oidc.allowInsecureRequests],
  })
}

/** The person's side, from the app's link to the redirect back to it. */
async function letIn(config: oidc.Configuration, scope: string, decision = 'allow') {
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
  const expectedState = oidc.randomState()
  const address = oidc.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope,
    state: expectedState,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const browser = openBrowser({ stopAt: callback })
  const signInPage = await browser.open(address.href)
  const atProvider = await browser.submit(signInPage)
  const consentPage = await browser.submit(atProvider, { login: 'alice' })
  expect(consentPage.text).toContain('An app asks for access')
  const { url } = await browser.submit(consentPage, { decision })
  return { url, checks: { pkceCodeVerifier, expectedState } }
}

const listWith = (token: string) =>
  api.call('GET', '/api/v1/workspaces', { headers: { authorization: `Bearer ${token}` } })

test.each<[string, object, ((secret: string) => oidc.ClientAuth) | undefined]>([
  ['a confidential app, secret in the body', {}, oidc.ClientSecretPost],
  ['a confidential app, secret in the header', {}, oidc.ClientSecretBasic],
  ['a public app', { public: true }, undefined],
])('%s: code flow, refresh, revocation', async (_name, body, method) => {
  const client = await newApp(body)
  const auth = method && client.client_secret ? method(client.client_secret) : oidc.None()
  const config = await configure(client, auth)
  const { url, checks } = await letIn(config, 'read write')
  const tokens = await oidc.authorizationCodeGrant(config, url, checks)
  expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'read write', expires_in: 3600 })
  expect((await listWith(tokens.access_token)).status).toBe(200)

  const renewed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
  expect(renewed.refresh_token).not.toBe(tokens.refresh_token)
  expect((await listWith(renewed.access_token)).status).toBe(200)

  await oidc.tokenRevocation(config, renewed.access_token)
  for (const apiUrl of stack.apiUrls) {
    const answer = await createCaller(apiUrl).call('GET', '/api/v1/workspaces', {
      headers: { authorization: `Bearer ${renewed.access_token}` },
    })
    expect(answer.status).toBe(401)
  }
  await expect(oidc.refreshTokenGrant(config, renewed.refresh_token ?? '')).rejects.toMatchObject({
    error: 'invalid_grant',
  })
  await oidc.tokenRevocation(config, renewed.access_token)
})

test('the library recognises a denial, and a redirect that is not from this server', async () => {
  const client = await newApp()
  const config = await configure(client)
  const denied = await letIn(config, 'read', 'deny')
  await expect(oidc.authorizationCodeGrant(config, denied.url, denied.checks)).rejects.toMatchObject({
    error: 'access_denied',
  })
  const { url, checks } = await letIn(config, 'read')
  url.searchParams.set('iss', 'https://evil.example')
  await expect(oidc.authorizationCodeGrant(config, url, checks)).rejects.toThrow()
})

test('of twenty exchanges over two processes one gets tokens, and they end with the replays', async () => {
  const client = await newApp()
  const config = await configure(client)
  for (let round = 0; round < atSize(2, 5); round++) {
    const { url, checks } = await letIn(config, 'read')
    const body = {
      grant_type: 'authorization_code',
      redirect_uri: callback,
      code: url.searchParams.get('code'),
      code_verifier: checks.pkceCodeVerifier,
      ...client,
    }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        createCaller(stack.apiUrls[i % 2] ?? stack.baseUrl).call('POST', '/oauth/token', { body }),
      ),
    )
    const won = answers.filter((answer) => answer.status === 200)
    expect(won).toHaveLength(1)
    expect(answers.filter((answer) => answer.body.error === 'invalid_grant')).toHaveLength(19)
    expect((await listWith(won[0]?.body.access_token)).status).toBe(401)
  }
})

test('the database holds neither a secret nor a token', async () => {
  const client = await newApp()
  const config = await configure(client)
  const { url, checks } = await letIn(config, 'read')
  const code = url.searchParams.get('code') ?? ''
  const tokens = await oidc.authorizationCodeGrant(config, url, checks)
  const db = new pg.Client({ connectionString: stack.databaseUrl })
  await db.connect()
  let stored = ''
  for (const table of ['oauth_clients', 'oauth_records', 'activity']) {
    const { rows } = await db.query(`select t::text from ${table} t`)
    stored += rows.map((row) => row.t).join('\n')
  }
  await db.end()
  expect(stored).toContain(client.client_id)
  for (const secret of [client.client_secret, code, tokens.access_token, tokens.refresh_token]) {
    const bare = String(secret).replace(/^guild_[a-z]+_/, '')
    expect(stored).not.toContain(bare.slice(0, 16))
    expect(stored).not.toContain(Buffer.from(bare.slice(0, 16)).toString('hex'))
  }
})
