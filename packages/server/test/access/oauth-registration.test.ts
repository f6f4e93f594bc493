import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectAhead } from '../../../../test/support/moments.ts'
import { type House, openHouse } from '../support/house.ts'
import {
  type App,
  authorizeUrl,
  bearer,
  browserFor,
  callback,
  exchange,
  newPkce,
  newTokens,
  type OAuthHouse,
  openOAuthHouse,
  publicUrl,
  reachConsent,
  wayBack,
} from '../support/oauth.ts'
import { redisUrl } from '../support/redis.ts'

let set: OAuthHouse
let house: House

beforeAll(async () => {
  set = await openOAuthHouse({ OAUTH_REGISTRATION: '1' })
  ;({ house } = set)
})
afterAll(() => set.close())

const register = (body: unknown, headers: Record<string, string> = {}) =>
  house.call('POST', '/oauth/register', { body, headers })

async function newApp(fields: object = {}): Promise<App> {
  const { status, text, body } = await register({
    client_name: 'Editor',
    redirect_uris: [callback],
    ...fields,
  })
  if (status !== 201) throw new Error(text)
  return { id: body.client_id, secret: null }
}

const pageOf = (app: App, query: Record<string, string> = {}) => {
  const { challenge } = newPkce()
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  return reachConsent(browserFor(house), authorizeUrl(app, { ...pkce, ...query }), 'alice')
}

const statusAt = async (app: App, redirect_uri: string) => {
  const { challenge } = newPkce()
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  const url = authorizeUrl(app, { ...pkce, redirect_uri })
  return (await house.call('GET', url.slice(publicUrl.length))).status
}

test('is not there unless the operator wants it', async () => {
  const usual = await openHouse({ DATABASE_URL: set.databaseUrl, PUBLIC_URL: publicUrl })
  const body = { redirect_uris: [callback] }
  expect((await usual.call('POST', '/oauth/register', { body })).status).toBe(404)
  const where = '/.well-known/oauth-authorization-server'
  expect((await usual.call('GET', where)).body).not.toHaveProperty('registration_endpoint')
  await usual.close()
  expect((await house.call('GET', where)).body.registration_endpoint).toBe(`${publicUrl}/oauth/register`)
})

test('an app registers itself, is let in, refreshes, and nothing but what is known here is kept', async () => {
  const asked = Date.now()
  const { status, body, headers } = await register({
    client_name: ' Editor ',
    redirect_uris: [callback, callback],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'implicit'],
    response_types: ['code'],
    scope: 'root',
    logo_uri: 'http://127.0.0.1/',
    jwks_uri: 'http://127.0.0.1/',
    client_id: 'chosen',
    client_secret: 'chosen',
    software_statement: 'x.y.z',
  })
  expect(status).toBe(201)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(body).toEqual({
    client_id: expect.stringMatching(/^self_[a-z0-9]{20}$/),
    client_id_issued_at: expect.any(Number),
    client_name: 'Editor',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  })
  expectAhead(body.client_id_issued_at * 1000, asked, 0)
  const app = { id: body.client_id, secret: null }
  const tokens = await newTokens(house, app)
  expect((await house.call('GET', '/api/v1/workspaces', bearer(tokens.access_token))).status).toBe(200)
  const { refresh_token } = tokens
  expect((await exchange(house, app, { grant_type: 'refresh_token', refresh_token })).status).toBe(200)
  expect(await set.query('select * from oauth_clients where id = $1', [app.id])).toMatchObject([
    { kind: 'registered', user_id: null, secret_hash: null, name: 'Editor', redirect_uris: [callback] },
  ])
})

test('it must use PKCE, and is nobody with a secret', async () => {
  const app = await newApp()
  const refused = await house.call('GET', authorizeUrl(app).slice(publicUrl.length))
  expect(wayBack(refused).searchParams.get('error')).toBe('invalid_request')
  const posing = await exchange(house, { ...app, secret: 'guild_oauth_x' }, { code: 'x' })
  expect([posing.status, posing.body.error]).toEqual([401, 'invalid_client'])
})

describe('the page of consent', () => {
  test('says that nobody answers for it', async () => {
    const { text } = await pageOf(await newApp({ client_name: 'Guildhall <b>' }))
    expect(text).toContain('itself: nobody answers for it')
    expect(text).toContain('<q>Guildhall &#60;b&#62;</q>')
    expect(text).not.toContain('any program can say')
  })

  test.each(['http://127.0.0.1:8080/cb', 'com.example.app:/cb'])(
    'warns of the way back to %s',
    async (uri) => {
      const { text } = await pageOf(await newApp({ redirect_uris: [uri] }), { redirect_uri: uri })
      expect(text).toContain('any program can say')
    },
  )
})

test('of the own machine any port will do, and of nothing else', async () => {
  const app = await newApp({ redirect_uris: ['http://127.0.0.1:1/cb', callback] })
  for (const uri of ['http://127.0.0.1:1/cb', 'http://127.0.0.1:50000/cb', callback])
    expect(await statusAt(app, uri), uri).toBe(303)
  for (const uri of [
    'http://127.0.0.1:1/other',
    'http://localhost:1/cb',
    'http://127.0.0.2:1/cb',
    'https://app.example:444/callback',
    'https://evil.example/callback',
  ])
    expect(await statusAt(app, uri), uri).toBe(400)
})

describe('what is refused', () => {
  const addresses: unknown[] = [
    undefined,
    null,
    callback,
    [],
    {},
    [null],
    [7],
    [['https://app.example/']],
    [''],
    ['/callback'],
    ['//app.example/callback'],
    ['http://app.example/callback'],
    ['https://app.example/callback#x'],
    ['https://*.example/callback'],
    ['https://user@app.example/callback'],
    ['https://APP.example/callback'],
    ['https://app.example:443/callback'],
    ['https://127.0.0.1/callback'],
    ['https://a;sandbox/x'],
    ['javascript:alert(1)'],
    ['data:text/html,x'],
    ['file:///etc/passwd'],
    ['urn:ietf:wg:oauth:2.0:oob'],
    [callback, 'http://evil.example/'],
    [`https://app.example/${'x'.repeat(2000)}`],
    Array.from({ length: 11 }, (_, at) => `https://app.example/${at}`),
  ]

  test.each(addresses.map((uris) => [JSON.stringify(uris)?.slice(0, 60), uris]))(
    'redirect_uris %s',
    async (_name, redirect_uris) => {
      const { status, body } = await register({ client_name: 'x', redirect_uris })
      expect([status, body]).toEqual([
        400,
        { error: 'invalid_redirect_uri', error_description: expect.stringMatching(/^redirect_uris/) },
      ])
    },
  )

  test.each<[string, object]>([
    ['a name that turns around', { client_name: 'a\u202eb' }],
    ['a name of tags', { client_name: 'a\u{e0041}' }],
    ['a name of nothing', { client_name: ' ' }],
    ['a long name', { client_name: 'x'.repeat(81) }],
    ['a name that is none', { client_name: ['x'] }],
    ['a secret in the body', { token_endpoint_auth_method: 'client_secret_post' }],
    ['a secret in a header', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['a signature', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['a method that is none', { token_endpoint_auth_method: { a: 1 } }],
    ['another grant', { grant_types: ['client_credentials'] }],
    ['a grant that is a word', { grant_types: 'authorization_code' }],
    ['another response', { response_types: ['token'] }],
  ])('%s', async (_name, fields) => {
    const { status, body } = await register({ redirect_uris: [callback], ...fields })
    expect([status, body.error]).toEqual([400, 'invalid_client_metadata'])
  })

  test.each<[string, unknown, Record<string, string>?]>([
    ['nothing', ''],
    ['half a text', '{'],
    ['null', 'null'],
    ['a list', '[]'],
    ['a text', '"x"'],
    ['a prototype', `{"redirect_uris":["${callback}"],"__proto__":{"client_name":"x"}}`],
    ['depth', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`],
    ['NUL', `{"redirect_uris":["${callback}"],"client_name":"a\\u0000"}`],
    ['half a letter', `{"redirect_uris":["${callback}"],"client_name":"\\ud800"}`],
    ['too much', { redirect_uris: [callback], filler: 'x'.repeat(40_000) }],
    [
      'a form',
      `redirect_uris=${encodeURIComponent(callback)}`,
      { 'content-type': 'application/x-www-form-urlencoded' },
    ],
    ['a text file', `{"redirect_uris":["${callback}"]}`, { 'content-type': 'text/plain' }],
  ])('%s', async (_name, body, headers) => {
    const before = await set.query('select count(*) from oauth_clients')
    const answer = await register(body, headers)
    expect(answer.status, answer.text).toBe(400)
    expect(answer.body).toEqual({ error: expect.any(String), error_description: expect.any(String) })
    expect(await set.query('select count(*) from oauth_clients')).toEqual(before)
  })
})

test('a name that is left out is the place that it leads to', async () => {
  expect((await register({ redirect_uris: [callback] })).body.client_name).toBe('app.example')
})

test('ten a minute from one network, and tokens go on', async () => {
  const narrow = await openHouse({
    DATABASE_URL: set.databaseUrl,
    REDIS_URL: `${redisUrl()}/9`,
    OAUTH_REGISTRATION: '1',
    LIMITS: '',
    TRUSTED_PROXIES: '127.0.0.1',
  })
  const from = (address: string) =>
    narrow.call('POST', '/oauth/register', {
      body: { redirect_uris: [callback] },
      headers: { 'x-forwarded-for': address },
    })
  const answers = await Promise.all(Array.from({ length: 15 }, (_, at) => from(`2001:db8::${at}`)))
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(201), ...Array(5).fill(429)])
  const refused = answers.find(({ status }) => status === 429)
  expect(refused?.body.error).toBe('temporarily_unavailable')
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await from('192.0.2.1')).status).toBe(201)
  const headers = { 'x-forwarded-for': '2001:db8::1' }
  expect((await narrow.call('POST', '/oauth/token', { body: {}, headers })).status).toBe(400)
  await narrow.close()
})

describe('forgetting', () => {
  const sweep = async () => {
    for (const { table, run } of house.sweeps) if (table === 'oauth_clients') await run()
  }
  const left = async (...apps: App[]) => {
    const ids = apps.map(({ id }) => id)
    const rows = await set.query('select id from oauth_clients where id = any($1)', [ids])
    return ids.map((id) => rows.some((row) => row.id === id))
  }
  const age = (days: number, ...apps: App[]) =>
    set.query("update oauth_clients set decided_at = decided_at - interval '1 day' * $1 where id = any($2)", [
      days,
      apps.map(({ id }) => id),
    ])

  test('one that nobody let in goes after 30 days; one in use stays, and 30 days more', async () => {
    const [unused, used, young] = [await newApp(), await newApp(), await newApp()]
    await newTokens(house, used)
    await age(31, unused, used)
    await age(29, young)
    await sweep()
    expect(await left(unused, used, young)).toEqual([false, true, true])
    await set.query('delete from oauth_records where client_id = $1', [used.id])
    await sweep()
    expect(await left(used)).toEqual([true])
    await age(31, used)
    await sweep()
    expect(await left(used)).toEqual([false])
  })

  test('one that a person is deciding about stays', async () => {
    const app = await newApp()
    const browser = browserFor(house)
    const { verifier, challenge } = newPkce()
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
    const page = await reachConsent(browser, authorizeUrl(app, pkce), 'alice')
    await age(31, app)
    await sweep()
    const { url } = await browser.submit(page, { decision: 'allow' })
    const code = url.searchParams.get('code')
    expect((await exchange(house, app, { code, code_verifier: verifier })).status).toBe(200)
  })

  test('of more than ten thousand the oldest go, and none that is in use', async () => {
    const [oldest, used] = [await newApp(), await newApp()]
    await newTokens(house, used)
    await age(1, oldest, used)
    await set.query(
      `insert into oauth_clients (id, kind, name, redirect_uris)
       select 'self_many' || n, 'registered', 'x', array[$1] from generate_series(1, 10100) n`,
      [callback],
    )
    await sweep()
    expect(await left(oldest, used)).toEqual([false, true])
    const [{ count }] = await set.query(
      "select count(*)::int as count from oauth_clients where kind = 'registered'",
    )
    expect(count).toBeLessThanOrEqual(10_050)
    expect(count).toBeGreaterThanOrEqual(9_990)
  })
})
