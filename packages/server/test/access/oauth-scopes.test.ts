import type { Route } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Access } from '#operations/access.ts'
import { authorize } from '#operations/authorize.ts'
import type { Grants } from '#operations/grants.ts'
import type { Principal } from '#operations/principal.ts'
import type { Answer } from '../../../../test/support/caller.ts'
import {
  type App,
  authorizeUrl,
  bearer,
  browserFor,
  newTokens,
  type OAuthHouse,
  openOAuthHouse,
  publicUrl,
  reachConsent,
  registerApp,
  wayBack,
} from '../support/oauth.ts'

let free: OAuthHouse
let strict: OAuthHouse
let freeApp: App
let strictApp: App

beforeAll(async () => {
  ;[free, strict] = await Promise.all([openOAuthHouse(), openOAuthHouse({ OAUTH_STRICT: '1' })])
  freeApp = await registerApp(free.house, free.owner)
  strictApp = await registerApp(strict.house, strict.owner)
})

afterAll(() => Promise.all([free.close(), strict.close()]))

/** What a token with this scope gets on a read and on a write. */
async function tryOut({ house }: OAuthHouse, app: App, scope: string): Promise<[Answer, Answer]> {
  const { access_token } = await newTokens(house, app, { query: { scope } })
  const read = await house.call('GET', '/api/v1/workspaces', bearer(access_token))
  const workspaceId = read.status === 200 ? read.body[0].id : 'any'
  const body = { workspaceId }
  return [read, await house.call('PUT', '/api/v1/workspaces/current', { ...bearer(access_token), body })]
}

test.each(['read', 'write', 'admin', 'trace:read', 'trace:write read'])(
  'not enforced: %s may read and write',
  async (scope) => {
    const [read, write] = await tryOut(free, freeApp, scope)
    expect([read.status, write.status]).toEqual([200, 200])
  },
)

test.each<[string, number, number]>([
  ['read', 200, 403],
  // Let in, and told that the workspace it named is not its own.
  ['write', 403, 409],
  ['read write', 200, 200],
  ['admin', 200, 200],
  ['trace:read', 403, 403],
])('strict: %s gets %i on a read and %i on a write', async (scope, onRead, onWrite) => {
  const [read, write] = await tryOut(strict, strictApp, scope)
  expect(read.status).toBe(onRead)
  expect(write.status).toBe(onWrite)
  const refused = [read, write].filter((answer) => answer.headers.has('www-authenticate'))
  for (const answer of refused) {
    expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    expect(answer.body.error.details.missing_scopes).toHaveLength(1)
  }
})

test('of two grants of one app each has its own repeats, whichever token of it asks', async () => {
  const { house } = strict
  const headers = { 'idempotency-key': 'same-in-both' }
  const [wide, narrow] = [
    await newTokens(house, strictApp, { query: { scope: 'read write' } }),
    await newTokens(house, strictApp, { query: { scope: 'write' } }),
  ]
  const make = (token: string, slug: string) =>
    house.call('POST', '/api/v1/agents', {
      headers: { ...bearer(token).headers, ...headers },
      body: { slug },
    })
  const made = await make(wide.access_token, 'of-the-wide')
  expect(made.status, made.text).toBe(201)
  const asked = await make(narrow.access_token, 'of-the-wide')
  expect(asked.body.error, asked.text).toMatchObject({ code: 'CONFLICT' })
  expect((await make(narrow.access_token, 'of-the-narrow')).status).toBe(201)
  const { id: client_id, secret: client_secret } = strictApp
  const { refresh_token } = wide
  const renewed = await house.call('POST', '/oauth/token', {
    body: { grant_type: 'refresh_token', refresh_token, client_id, client_secret },
  })
  expect((await make(renewed.body.access_token, 'of-the-wide')).text).toBe(made.text)
})

test('strict: every app must use PKCE, and the page says what is enforced', async () => {
  const path = authorizeUrl(strictApp).slice(publicUrl.length)
  const answer = await strict.house.call('GET', path)
  expect(wayBack(answer).searchParams.get('error')).toBe('invalid_request')
  const pkce = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
  const page = await reachConsent(browserFor(strict.house), authorizeUrl(strictApp, pkce), 'alice')
  expect(page.text).toContain('See everything in the workspace below')
  expect(page.text).not.toContain('Full account access')
})

describe('what a route asks of a token by name', () => {
  const route: Route = {
    method: 'GET',
    path: '/x',
    summary: '',
    description: '',
    resource: 'x',
    verb: 'get',
    tag: 'x',
    audience: 'credential',
    limits: [],
    responses: {},
    errors: [],
    oauthScopes: ['trace:read'],
  }
  const noGrants: Grants = {
    wasSpentFor: async () => false,
    find: async (_principal, scopes) => ({ uncovered: [...scopes], once: [], lasting: [] }),
    spend: async (_tx, _principal, scopes) => ({ uncovered: [...scopes], spent: [] }),
    findAsked: async () => undefined,
  }
  const request = { method: 'GET', path: '/x', bodySha256: () => '', repeatKey: undefined }
  const enter = (who: Principal) => authorize(route, [], who, new Access(noGrants, who, request))
  const principal = (kind: Principal['kind'], scopes: string[]) =>
    ({ kind, scopes, activated: true }) as unknown as Principal

  test('no wildcard stands for it', async () => {
    const token = principal('oauth', ['*', 'read', 'write', 'admin'])
    await expect(enter(token)).rejects.toMatchObject({
      code: 'FORBIDDEN',
      details: { missing_scopes: ['trace:read'] },
    })
    const granted = principal('oauth', ['*', 'read', 'write', 'admin', 'trace:read'])
    await expect(enter(granted)).resolves.toBeUndefined()
  })

  test('is not asked of keys and sessions', async () => {
    await expect(enter(principal('key', ['profile:read']))).resolves.toBeUndefined()
    await expect(enter(principal('session', ['*']))).resolves.toBeUndefined()
  })
})
