import { describe, expect, test } from 'vitest'
import { must, newKey, newPerson, newVisitor, startPairing } from './support/actors.ts'
import type { Answer } from './support/client.ts'
import { credentialsForgotten, withClock } from './support/clock.ts'
import { mustConnect, mustRequest, pollAt } from './support/consent.ts'
import {
  authorize,
  bearer,
  callback,
  exchange,
  newApp,
  newPkce,
  newProviderPerson,
  newTokens,
  type OAuthError,
  revoke,
  type Tokens,
} from './support/oauth.ts'
import { expectRefusal } from './support/shapes.ts'
import { listSkills, someCatalogSlug } from './support/skills.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

const works = async (token: string) => (await bearer(token).get('/workspaces')).status

/** A refusal as RFC 6749 has it, with nothing in it that opens a door. */
function expectOAuthError(answer: Answer, status: number | number[], error: string): void {
  expect([status].flat(), answer.text).toContain(answer.status)
  const body = answer.body as OAuthError
  expect(body.error).toBe(error)
  const known = ['error', 'error_description']
  expect(Object.keys(body).filter((name) => !known.includes(name))).toEqual([])
}

describe('a code is exchanged for tokens', () => {
  stackOnly('by JSON, and they open the service', async () => {
    verifies(
      'oauth:token:json-body',
      'oauth:token:answer',
      'auth:type:oauth-bearer',
      'oauth:scope:rwa-accepted',
    )
    const app = await newApp(await newPerson())
    const { back } = await authorize(app, { query: { scope: 'read write admin' } })
    const answer = await newVisitor().post<Tokens>('root:/oauth/token', {
      grant_type: 'authorization_code',
      code: back.get('code'),
      redirect_uri: callback,
      client_id: app.client_id,
      client_secret: app.client_secret,
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^\S{20,}$/),
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      refresh_token: expect.stringMatching(/^\S{20,}$/),
      scope: expect.any(String),
    })
    expect(answer.body.expires_in).toBeGreaterThan(0)
    expect(answer.body.scope.split(' ').sort()).toEqual(['admin', 'read', 'write'])
    expect(answer.headers['cache-control']).toMatch(/\bno-store\b/)
    expect(await works(answer.body.access_token)).toBe(200)
    const elsewhere = newVisitor()
    for (const name of ['x-api-key', 'x-auth-token']) {
      const headers = { [name]: answer.body.access_token }
      expectRefusal(await elsewhere.get('/workspaces', { headers }), 401, 'UNAUTHORIZED')
    }
  })

  stackOnly('by a form', async () => {
    verifies('oauth:token:form-body')
    const app = await newApp(await newPerson())
    const { back } = await authorize(app)
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code: back.get('code') ?? '',
      redirect_uri: callback,
      client_id: app.client_id,
      client_secret: app.client_secret ?? '',
    })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const sent = { rawBody: form.toString(), headers }
    const answer = await newVisitor().send<Tokens>('POST', 'root:/oauth/token', sent)
    expect(answer.status).toBe(200)
    expect(await works(answer.body.access_token)).toBe(200)
  })

  stackOnly('for the scopes of traces too', async () => {
    verifies('scopes:known:trace')
    const app = await newApp(await newPerson())
    const { scope } = await newTokens(app, { query: { scope: 'trace:write trace:read' } })
    expect(scope.split(' ').sort()).toEqual(['trace:read', 'trace:write'])
  })

  stackOnly('once; a second time takes back what the first gave', async () => {
    verifies('oauth:token:code-once')
    const app = await newApp(await newPerson())
    const { back } = await authorize(app)
    const code = back.get('code')
    const first = must(await exchange(app, { code }), 200)
    expect(await works(first.access_token)).toBe(200)
    expectOAuthError(await exchange(app, { code }), 400, 'invalid_grant')
    expect(await works(first.access_token)).toBe(401)
    const refresh = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
    expectOAuthError(await exchange(app, refresh), 400, 'invalid_grant')
  })

  stackOnly('by the app it was made for alone, at the address it was made for', async () => {
    verifies('oauth:token:client-secret-checked', 'oauth:token:error-shape')
    const person = await newPerson()
    const [app, other] = [await newApp(person), await newApp(person)]
    const { back } = await authorize(app)
    const code = back.get('code')
    for (const secret of ['wrong', '', other.client_secret]) {
      const wrong = await exchange({ ...app, client_secret: secret }, { code })
      expectOAuthError(wrong, [400, 401], 'invalid_client')
    }
    expectOAuthError(await exchange(other, { code }), 400, 'invalid_grant')
    const { back: again } = await authorize(app)
    const elsewhere = { code: again.get('code'), redirect_uri: `${callback}/x` }
    expectOAuthError(await exchange(app, elsewhere), 400, 'invalid_grant')
  })

  stackOnly('with the verifier of its challenge', async () => {
    verifies('oauth:pkce:verifier-checked')
    const app = await newApp(await newPerson(), { public: true })
    const attempt = async (verifierOf: (right: string) => string | undefined) => {
      const { verifier, query } = newPkce()
      const { back } = await authorize(app, { query })
      const code_verifier = verifierOf(verifier)
      return exchange(app, { code: back.get('code'), ...(code_verifier ? { code_verifier } : {}) })
    }
    const right = must(await attempt((verifier) => verifier), 200)
    expect(await works(right.access_token)).toBe(200)
    expectOAuthError(await attempt(() => newPkce().verifier), 400, 'invalid_grant')
    expectOAuthError(await attempt(() => undefined), 400, 'invalid_grant')
  })
})

test('an exchange is refused in the words of the standard', async () => {
  verifies('oauth:token:error-shape', 'oauth:token:client-secret-checked')
  const app = await newApp(await newPerson())
  const wrongSecret = { ...app, client_secret: 'wrong' }
  expectOAuthError(await exchange(wrongSecret, { code: 'never-issued' }), [400, 401], 'invalid_client')
  const nobody = { client_id: 'nobody', client_secret: 'x' }
  expectOAuthError(await exchange(nobody, { code: 'never-issued' }), [400, 401], 'invalid_client')
  expectOAuthError(await exchange(app, { code: 'never-issued' }), 400, 'invalid_grant')
  expectOAuthError(await exchange(app, { grant_type: 'password' }), 400, 'unsupported_grant_type')
  expectOAuthError(await exchange(app, {}), 400, 'invalid_request')
  expectOAuthError(await exchange(app, { code: 7 }), 400, 'invalid_request')
})

stackOnly('a person sees what they have allowed apps, and takes it back', async () => {
  verifies('oauth:grants:list-and-end')
  const person = await newProviderPerson()
  const app = await newApp(await newPerson())
  const { access_token } = await newTokens(app, { login: person.email })
  const grants = await person.get<{ id: number; client_id: string }[]>('/oauth/grants')
  expect(grants.body).toMatchObject([{ client_id: app.client_id, workspace: { id: person.workspaceId } }])
  const path = `/oauth/grants/${grants.body[0]?.id}`
  expect((await person.delete(path)).status).toBe(200)
  expect(await works(access_token)).toBe(401)
  expectRefusal(await person.delete(path), 404, 'NOT_FOUND')
  expect((await person.get('/oauth/grants')).body).toEqual([])
})

stackOnly('a refresh gives new tokens, and is good once', async () => {
  verifies('oauth:refresh:rotates')
  const app = await newApp(await newPerson())
  const first = await newTokens(app)
  const refresh = (refresh_token: string) => exchange(app, { grant_type: 'refresh_token', refresh_token })
  const second = must(await refresh(first.refresh_token), 200)
  expect(second.refresh_token).not.toBe(first.refresh_token)
  expect(second.access_token).not.toBe(first.access_token)
  expect(await works(second.access_token)).toBe(200)
  expectOAuthError(await refresh(first.refresh_token), 400, 'invalid_grant')
  // Somebody else has the old one: nobody keeps anything.
  expect(await works(second.access_token)).toBe(401)
  expectOAuthError(await refresh(second.refresh_token), 400, 'invalid_grant')
})

describe('an access token', () => {
  test.each(['junk', '', `guild_oat_${'a'.repeat(49)}`])('that is "%s" opens nothing', async (token) => {
    verifies('auth:oauth:bearer-invalid')
    expectRefusal(await bearer(token).get('/workspaces'), 401, 'UNAUTHORIZED')
  })

  stackOnly('opens nothing when it is changed, revoked or has run out', () => {
    verifies('auth:oauth:bearer-invalid', 'oauth:revoke:revokes')
    return withClock(async (clock) => {
      const app = await newApp(await newPerson())
      const [ended, kept] = [await newTokens(app), await newTokens(app)]
      expect(await works(ended.access_token)).toBe(200)
      const changed = ended.access_token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
      expectRefusal(await bearer(changed).get('/workspaces'), 401, 'UNAUTHORIZED')
      expect((await revoke(app, ended.access_token)).status).toBe(200)
      expectRefusal(await bearer(ended.access_token).get('/workspaces'), 401, 'UNAUTHORIZED')
      expect(await works(kept.access_token)).toBe(200)
      await clock.setAhead({ seconds: kept.expires_in - 10 })
      await credentialsForgotten()
      expect(await works(kept.access_token)).toBe(200)
      await clock.setAhead({ seconds: kept.expires_in + 10 })
      await credentialsForgotten()
      expectRefusal(await bearer(kept.access_token).get('/workspaces'), 401, 'UNAUTHORIZED')
    })
  })

  test('that never was is revoked without a word', async () => {
    verifies('oauth:revoke:unknown-200')
    const app = await newApp(await newPerson())
    for (const token of ['never-issued', `guild_oat_${'a'.repeat(49)}`]) {
      expect((await revoke(app, token)).status).toBe(200)
    }
    const stranger = await revoke({ ...app, client_secret: 'wrong' }, 'never-issued')
    expectOAuthError(stranger, [400, 401], 'invalid_client')
  })

  stackOnly('of another app is not revoked', async () => {
    verifies('oauth:revoke:revokes')
    const person = await newPerson()
    const [app, other] = [await newApp(person), await newApp(person)]
    const { access_token } = await newTokens(app)
    await revoke(other, access_token)
    expect(await works(access_token)).toBe(200)
  })

  stackOnly('with the scope read can write as well', async () => {
    verifies('oauth:scope:rwa-not-enforced')
    const tokens = await newTokens(await newApp(await newPerson()), { query: { scope: 'read' } })
    expect(tokens.scope).toBe('read')
    const caller = bearer(tokens.access_token)
    const slug = await someCatalogSlug()
    expect((await caller.post(`/skills/${slug}/install`)).status).toBe(200)
    expect(await listSkills(caller)).toMatchObject([{ slug }])
  })

  stackOnly('cannot do what only a person may', async () => {
    verifies('auth:session-only:oauth-403')
    const person = await newProviderPerson()
    const app = await newApp(person)
    const query = { scope: 'read write admin trace:read trace:write' }
    const caller = bearer((await newTokens(app, { login: person.email, query })).access_token)
    expect((await caller.get('/workspaces')).status).toBe(200)
    const key = await newKey(person, { scopes: ['agent:list'] })
    const [consent, asked] = [
      await mustConnect(key, ['profile:read']),
      await mustRequest(key, 'billing:read'),
    ]
    const { userCode: code } = await startPairing()
    const permission = `/agents/request-permission/${asked.request_id}`
    const calls: [method: string, path: string, body?: object][] = [
      ['GET', '/keys'],
      ['POST', '/keys', { label: 'A key' }],
      ['PATCH', `/keys/${key.id}`, { label: 'Mine' }],
      ['POST', `/keys/${key.id}/rotate`],
      ['DELETE', `/keys/${key.id}`],
      ['GET', '/workspaces/current/members'],
      ['POST', '/workspaces/current/members', { email: person.email }],
      ['DELETE', `/workspaces/current/members/${person.userId}`],
      ['POST', '/activate/confirm', { code }],
      ['GET', `/activate/lookup?code=${code}`],
      ['POST', '/activate/deny', { code }],
      ['POST', '/agents/connect/by-code', { code: consent.link_code }],
      ['POST', `/agents/connect/${consent.consent_id}/approve`, { scopes: ['profile:read'] }],
      ['POST', `/agents/connect/${consent.consent_id}/deny`],
      ['POST', `${permission}/approve`],
      ['POST', `${permission}/deny`],
      ['DELETE', `/agents/${key.id}/scopes/agent:list`],
      ['GET', '/approvals'],
      ['POST', `/approvals/${consent.consent_id}/challenge`],
      ['GET', '/passkeys'],
      ['POST', '/passkeys/options'],
      ['POST', '/passkeys', { credential: {} }],
      ['DELETE', '/passkeys/x'],
      ['GET', '/oauth/clients'],
      ['POST', '/oauth/clients', { name: 'App', redirect_uris: [callback] }],
      ['DELETE', `/oauth/clients/${app.client_id}`],
    ]
    for (const [method, path, body] of calls) {
      const answer = await caller.send(method, path, body ? { body } : {})
      expect([method, path, answer.status]).toEqual([method, path, 403])
      expectRefusal(answer, 403, 'FORBIDDEN')
    }
    for (const { poll_url } of [consent, asked]) {
      expect((await pollAt(key, poll_url)).body).toEqual({ status: 'pending' })
    }
  })
})

stackOnly('a grant ends 180 days after it was given, however often it is refreshed', () => {
  verifies('oauth:refresh:ends-after-180-days')
  return withClock(async (clock) => {
    const app = await newApp(await newPerson())
    let { refresh_token, access_token } = await newTokens(app)
    const refresh = () => exchange(app, { grant_type: 'refresh_token', refresh_token })
    for (const days of [29, 58, 87, 116, 145, 174, 179.99]) {
      await clock.setAhead({ days })
      ;({ refresh_token, access_token } = must(await refresh(), 200))
    }
    expect(await works(access_token)).toBe(200)
    await clock.setAhead({ days: 180.01 })
    expectOAuthError(await refresh(), 400, 'invalid_grant')
    await credentialsForgotten()
    expect(await works(access_token)).toBe(401)
  })
})
