import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import type { House } from '../support/house.ts'
import {
  type App,
  authorizeUrl,
  bearer,
  browserFor,
  exchange,
  grantToken,
  newAuthorization,
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

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const atRest = async (token: string) => (await house.call('GET', '/api/v1/workspaces', bearer(token))).status
const atMcp = async (token: string, path = '/mcp/') =>
  (await house.call('POST', path, { ...bearer(token), body: list })).status
const metadataOf = (path: string) => `${publicUrl}/.well-known/oauth-protected-resource${path}`

/** Who signs in at the provider is new here, and new people are on no plan that has the door. */
async function tokensFor(query: Record<string, string>) {
  await set.query("update users set mode = 'basedmode'")
  const tokens = await newTokens(house, app, { query })
  await set.query("update users set mode = 'basedmode'")
  return tokens
}

test.each(['', '/mcp', '/mcp/'])('the document of "%s" names exactly that address', async (path) => {
  const { status, body } = await house.call('GET', `/.well-known/oauth-protected-resource${path}`)
  expect([status, body.resource, body.authorization_servers]).toEqual([200, publicUrl + path, [publicUrl]])
  expect(body.scopes_supported).toEqual(
    path === '' ? ['read', 'write', 'admin', 'trace:read', 'trace:write'] : ['read', 'write'],
  )
})

describe.each(['/mcp', '/mcp/'])('who is refused at %s', (path) => {
  test.each<[string, Record<string, string>]>([
    ['without a credential', {}],
    ['with a bad key', { 'x-api-key': 'guild_live_nothing' }],
    ['with a bad token', { authorization: 'Bearer guild_access_nothing' }],
    ['with a bad key as a token', { authorization: 'Bearer guild_live_nothing' }],
  ])('learns where tokens come from: %s', async (_name, headers) => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const body = method === 'POST' ? { body: list } : {}
      const refused = await house.call(method, path, { headers, ...body })
      expect(refused.status).toBe(401)
      expect(refused.headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="${metadataOf(path)}", scope="read write"`,
      )
    }
  })
})

describe('a token is good where it was asked for', () => {
  test.each<[string, Record<string, string>, number, number]>([
    ['nothing in particular', {}, 200, 200],
    ['the service', { resource: publicUrl }, 200, 200],
    ['the service, written as a URL', { resource: `${publicUrl}/` }, 200, 200],
    ['the door', { resource: `${publicUrl}/mcp` }, 401, 200],
    ['the door with its slash', { resource: `${publicUrl}/mcp/` }, 401, 200],
  ])('%s', async (_name, query, onRest, onMcp) => {
    const { access_token, refresh_token } = await tokensFor(query)
    const refreshed = await exchange(house, app, { grant_type: 'refresh_token', refresh_token })
    for (const token of [access_token, refreshed.body.access_token]) {
      expect([await atRest(token), await atMcp(token), await atMcp(token, '/mcp')]).toEqual([
        onRest,
        onMcp,
        onMcp,
      ])
    }
  })

  test('for the door alone it is told so elsewhere, and opens no stream and no socket', async () => {
    const { access_token } = await tokensFor({ resource: `${publicUrl}/mcp/` })
    for (const [method, path] of [
      ['GET', '/api/v1/workspaces'],
      ['GET', '/api/v1/me'],
      ['GET', '/api/v1/events/subscribe-url'],
      ['GET', '/api/v1/executions/exec_none/stream-token'],
      ['POST', '/api/v1/skills/x/run'],
    ] as const) {
      const refused = await house.call(method, path, {
        ...bearer(access_token),
        ...(method === 'POST' && { body: {} }),
      })
      if (refused.status === 404) throw new Error(`${path} is no route any more`)
      expect(refused.status).toBe(401)
      expect(refused.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    }
  })

  test('one from before audiences counts as for the service', async () => {
    const { token } = await grantToken(house, app, owner)
    expect([await atRest(token), await atMcp(token)]).toEqual([200, 200])
  })

  test.each(['https://elsewhere.example', `${publicUrl}/api`, `${publicUrl}.evil.example`, ''])(
    'one for "%s" is good nowhere',
    async (audience) => {
      const { token, grantId } = await grantToken(house, app, owner)
      await set.query(
        `update oauth_records set payload = jsonb_set(payload, '{aud}', to_jsonb($2::text))
         where grant_id = $1 and model = 'AccessToken'`,
        [grantId, audience],
      )
      expect([await atRest(token), await atMcp(token)]).toEqual([401, 401])
    },
  )
})

describe('the page of consent', () => {
  test.each<[string, Record<string, string>, boolean]>([
    ['the service', {}, false],
    ['the service by name', { resource: publicUrl }, false],
    ['the door', { resource: `${publicUrl}/mcp` }, true],
    ['the door with its slash', { resource: `${publicUrl}/mcp/` }, true],
  ])('for %s says where tokens are good', async (_name, query, isDoor) => {
    const { text } = await reachConsent(browserFor(house), authorizeUrl(app, query), 'alice')
    expect(text.includes(`<span class="exact">${publicUrl}/mcp/</span> and nowhere else`)).toBe(isDoor)
  })
})

describe('nobody gets a token for anything else', () => {
  test.each([
    'https://elsewhere.example/mcp',
    `${publicUrl}/api/v1`,
    `${publicUrl}/mcp//`,
    `${publicUrl}/mcp?x`,
    `${publicUrl}/MCP/`,
    `${publicUrl}:80/mcp/`,
    'http://house.test.evil.example/mcp/',
    'http://house.test@evil.example/mcp/',
    `${publicUrl}/mcp/#x`,
    'urn:mcp',
    'mcp',
  ])('%s', async (resource) => {
    const path = authorizeUrl(app, { resource }).slice(publicUrl.length)
    const answer = await house.call('GET', path)
    const { searchParams } = wayBack(answer)
    expect([searchParams.get('error'), searchParams.has('code')]).toEqual(['invalid_target', false])
  })

  test('neither with the code nor with the refresh token of the door', async () => {
    const { verifier, challenge } = newPkce()
    const door = { resource: `${publicUrl}/mcp/` }
    const query = { ...door, code_challenge: challenge, code_challenge_method: 'S256' }
    const code = async () => (await newAuthorization(house, app, { query })).get('code')
    const wide = await exchange(house, app, {
      code: await code(),
      code_verifier: verifier,
      resource: publicUrl,
    })
    expect([wide.status, wide.body.error]).toEqual([400, 'invalid_target'])
    const { body: own } = await exchange(house, app, {
      code: await code(),
      code_verifier: verifier,
      ...door,
    })
    const wider = await exchange(house, app, {
      grant_type: 'refresh_token',
      refresh_token: own.refresh_token,
      resource: publicUrl,
    })
    expect([wider.status, wider.body.error]).toEqual([400, 'invalid_target'])
  })
})

describe('a call that needs more than a token has', () => {
  const append = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'append_trace',
      arguments: { trace_id: 'trace_none', events: [{ type: 'user.message', payload: { content: 'x' } }] },
    },
  }

  test('names all that it needs and where to get it; with it the call is made', async () => {
    const { access_token } = await tokensFor({ resource: `${publicUrl}/mcp/`, scope: 'read write' })
    const refused = await house.call('POST', '/mcp/', { ...bearer(access_token), body: append })
    expect(refused.status, refused.text).toBe(403)
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer error="insufficient_scope", scope="write trace:write", resource_metadata="${metadataOf('/mcp/')}", ` +
        'error_description="This token lacks the scope trace:write"',
    )
    expect(refused.body.error.details.missing_scopes).toEqual(['trace:write'])
    const wider = await tokensFor({ resource: `${publicUrl}/mcp/`, scope: 'read write trace:write' })
    const allowed = await house.call('POST', '/mcp/', { ...bearer(wider.access_token), body: append })
    expect(allowed.status, allowed.text).toBe(200)
    expect(allowed.body.result._meta['dev.guildhall/error'].code).toBe('NOT_FOUND')
  })
})
