import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listGrants } from '#access/oauth/grant-store.ts'
import { type Canary, openCanary } from '../../../../test/support/git-servers.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { type DocumentHost, openDocumentHost } from '../support/app-documents.ts'
import type { House } from '../support/house.ts'
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
} from '../support/oauth.ts'

let host: DocumentHost
/** Where skills may be fetched from: people who are signed in may, strangers may not. */
let inner: Canary
let set: OAuthHouse
let house: House
const describeApp: DocumentHost['describeApp'] = (...given) => host.describeApp(...given)
const pathOf = ({ id }: App) => new URL(id).pathname

beforeAll(async () => {
  host = await openDocumentHost()
  inner = await openCanary('127.0.0.1')
  const settings = { FETCH_ALLOW: `127.0.0.1:${inner.port}`, TRUSTED_PROXIES: '127.0.0.1' }
  set = await openOAuthHouse({ ...host.env, ...settings })
  ;({ house } = set)
})

afterAll(async () => {
  await set.close()
  host.close()
  await inner.close()
})

async function ask(app: App, query: Record<string, string> = {}, headers: Record<string, string> = {}) {
  const { challenge } = newPkce()
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  return house.call('GET', authorizeUrl(app, { ...pkce, ...query }).slice(publicUrl.length), { headers })
}

const isAsked = async (app: App, query: Record<string, string> = {}) => {
  const { status, headers } = await ask(app, query)
  return status === 303 && (headers.get('location') ?? '').startsWith(`${publicUrl}/oauth/interaction/`)
}

const pageOf = (app: App, query: Record<string, string> = {}) => {
  const { challenge } = newPkce()
  const url = authorizeUrl(app, { code_challenge: challenge, code_challenge_method: 'S256', ...query })
  const browser = browserFor(house)
  return reachConsent(browser, url, 'alice').then((page) => ({ browser, page }))
}

test('an app that describes itself is let in, refreshes and is ended, and needs no document for it', async () => {
  const app = describeApp({ redirect_uris: [callback, 'weird:/x'] })
  host.reads.length = 0
  const tokens = await newTokens(house, app)
  expect((await house.call('GET', '/api/v1/workspaces', bearer(tokens.access_token))).status).toBe(200)
  host.rewrite(app, (response) => void response.writeHead(404).end())
  const { refresh_token } = tokens
  const refreshed = await exchange(house, app, { grant_type: 'refresh_token', refresh_token })
  expect(refreshed.status, refreshed.text).toBe(200)
  // Once for the person who was asked, and never for what followed.
  expect(host.reads).toEqual([pathOf(app)])
  const rows = await set.query('select kind, user_id, name, redirect_uris from oauth_clients where id = $1', [
    app.id,
  ])
  expect(rows).toEqual([{ kind: 'document', user_id: null, name: 'Editor', redirect_uris: [callback] }])
  const revoked = await house.call('POST', '/oauth/revoke', {
    body: { client_id: app.id, token: refreshed.body.access_token },
  })
  expect(revoked.status).toBe(200)
  expect((await house.call('GET', '/api/v1/workspaces', bearer(refreshed.body.access_token))).status).toBe(
    401,
  )
})

test('nobody is fetched for at the token endpoint', async () => {
  const app = describeApp()
  host.reads.length = 0
  for (const grant_type of ['authorization_code', 'refresh_token']) {
    const refused = await exchange(house, app, { grant_type, code: 'x', refresh_token: 'x' })
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_client'])
  }
  await house.call('POST', '/oauth/revoke', { body: { client_id: app.id, token: 'x' } })
  expect(host.reads).toEqual([])
})

describe('the page of consent', () => {
  test('shows the host, what the app says it is called and where it leads', async () => {
    const { page } = await pageOf(describeApp({ client_name: 'Claude <b>' }))
    expect(page.text).toContain(`<p class="host">${new URL(host.origin).host}</p>`)
    expect(page.text).toContain('<q>Claude &#60;b&#62;</q>')
    expect(page.text).toContain('app.example')
    expect(page.text).not.toContain('Registered by')
    expect(page.text).not.toContain('any program can say')
  })

  test('warns when the way back is this machine, where any program can listen', async () => {
    const local = { redirect_uris: ['http://localhost/callback'] }
    const { page } = await pageOf(describeApp(local), { redirect_uri: 'http://localhost:49152/callback' })
    expect(page.text).toContain('any program can say')
    expect(page.text).toContain('localhost:49152')
  })

  test('warns when the way back is a scheme, which any program can claim', async () => {
    const redirect = 'com.example.app:/callback'
    const { page } = await pageOf(describeApp({ redirect_uris: [redirect] }), { redirect_uri: redirect })
    expect(page.text).toContain('any program can say')
  })

  test('a denial goes back to the app, though nobody ever allowed it, and leaves nothing of it', async () => {
    const app = describeApp()
    const { browser, page } = await pageOf(app)
    const { url } = await browser.submit(page, { decision: 'deny' })
    expect([url.href.startsWith(callback), url.searchParams.get('error')]).toEqual([true, 'access_denied'])
    expect(await set.query('select 1 from oauth_clients where id = $1', [app.id])).toEqual([])
  })

  test('what was shown holds, whatever the document says afterwards', async () => {
    const app = describeApp({ client_name: 'Shown' })
    const { browser, page } = await pageOf(app)
    host.rewrite(app, (response) => void response.writeHead(500).end())
    const { url } = await browser.submit(page, { decision: 'allow' })
    expect(url.searchParams.get('code')).toMatch(/^guild_code_/)
    expect(await set.query('select name from oauth_clients where id = $1', [app.id])).toEqual([
      { name: 'Shown' },
    ])
    // Also in the list of what has access, when the app calls itself something else to the next person.
    await set.query("update oauth_clients set name = 'Other' where id = $1", [app.id])
    const ofApp = "select user_id from oauth_records where model = 'Grant' and client_id = $1"
    const [{ user_id }] = await set.query(ofApp, [app.id])
    const grants = await listGrants(house.deps.database.db, user_id)
    expect(grants.filter(({ client_id }) => client_id === app.id).map(({ name }) => name)).toEqual(['Shown'])
  })

  test('twenty who decide at once leave one app', async () => {
    const app = describeApp()
    const pages = await Promise.all(Array.from({ length: 20 }, () => pageOf(app)))
    const ends = await Promise.all(
      pages.map(({ browser, page }) => browser.submit(page, { decision: 'allow' })),
    )
    expect(new Set(ends.map(({ url }) => url.searchParams.get('code'))).size).toBe(20)
    expect(await set.query('select 1 from oauth_clients where id = $1', [app.id])).toHaveLength(1)
  })
})

describe('the way back', () => {
  const loopback = ['http://127.0.0.1/cb', 'http://[::1]:1/cb?x=1', callback]

  test.each([
    callback,
    'http://127.0.0.1/cb',
    'http://127.0.0.1:8080/cb',
    'http://127.0.0.1:65535/cb',
    'http://[::1]:50000/cb?x=1',
  ])('may be %s', async (redirect_uri) => {
    expect(await isAsked(describeApp({ redirect_uris: loopback }), { redirect_uri })).toBe(true)
  })

  test.each([
    'https://evil.example/callback',
    `${callback}/`,
    `${callback}?x`,
    'https://app.example:444/callback',
    'https://app.example.evil.example/callback',
    'https://app.example@evil.example/callback',
    'http://127.0.0.1:8080/other',
    'http://127.0.0.1:8080/cb?x',
    'http://127.0.0.1:8080/cb#x',
    'http://localhost:8080/cb',
    'http://127.0.0.2:8080/cb',
    'http://127.0.0.1.evil.example:8080/cb',
    'http://evil@127.0.0.1:8080/cb',
    'http://127.0.0.1:8080@evil.example/cb',
    'https://127.0.0.1:8080/cb',
    'http://[::1]:50000/cb',
    'http://127.1:8080/cb',
    'http://127.0.0.1:8080/x/../cb',
  ])('is never %s', async (redirect_uri) => {
    const answer = await ask(describeApp({ redirect_uris: loopback }), { redirect_uri })
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
  })

  test('of an app that was registered here has its port too', async () => {
    const body = { name: 'x', redirect_uris: ['http://127.0.0.1:1/cb'], public: true }
    const { body: app } = await house.call('POST', '/api/v1/oauth/clients', { token: set.owner.token, body })
    const at = (redirect_uri: string) => isAsked({ id: app.client_id, secret: null }, { redirect_uri })
    expect([await at('http://127.0.0.1:1/cb'), await at('http://127.0.0.1:2/cb')]).toEqual([true, false])
  })
})

describe('a document is not taken', () => {
  const send =
    (status: number, headers: Record<string, string>, body: string) => (response: ServerResponse) =>
      void response.writeHead(status, headers).end(body)
  const json = { 'content-type': 'application/json' }

  test.each<[string, Record<string, unknown>, string]>([
    ['that is for another address', { client_id: 'https://other.example/client.json' }, 'client_id must be'],
    ['that has a secret', { client_secret: 'x' }, 'keeps no secret'],
    ['that wants one', { token_endpoint_auth_method: 'client_secret_post' }, 'keeps no secret'],
    ['that signs', { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'x' }, 'keeps no secret'],
    ['without a way back', { redirect_uris: [] }, 'redirect_uris has none'],
    ['with none that is good', { redirect_uris: ['http://evil.example/', 'javascript:x', 7] }, 'has none'],
    ['with one that the policy of a page would read', { redirect_uris: ['https://a;sandbox/x'] }, 'has none'],
    ['whose name turns around', { client_name: 'a\u202eb' }, 'client_name must not'],
    ['whose name is long', { client_name: 'x'.repeat(81) }, 'client_name must have'],
    ['whose name is none', { client_name: {} }, 'client_name must be text'],
  ])('%s', async (_name, fields, told) => {
    const answer = await ask(describeApp(fields))
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(told)
  })

  test.each<[string, (response: ServerResponse) => void, string]>([
    ['that is elsewhere', send(302, { location: 'https://elsewhere.example/' }, ''), 'answered 302'],
    ['that is missing', send(404, json, '{}'), 'answered 404'],
    ['that is a page', send(200, { 'content-type': 'text/html' }, '{}'), 'it is not JSON'],
    ['that has no type', send(200, {}, '{}'), 'it is not JSON'],
    ['that is broken', send(200, json, '{'), 'no JSON object'],
    ['that is a list', send(200, json, '[]'), 'no JSON object'],
    [
      'that is too large',
      send(200, json, `{"x":"${'x'.repeat(6000)}"}`),
      'could not be read from its address',
    ],
    [
      'that never ends',
      (response) => {
        response.writeHead(200, json)
        const more = setInterval(() => response.write(' '), 100)
        response.on('close', () => clearInterval(more))
      },
      'could not be read from its address',
    ],
    ['that never begins', () => {}, 'could not be read from its address'],
    ['that breaks off', (response) => response.destroy(), 'could not be read from its address'],
  ])('%s', async (_name, write, told) => {
    const began = performance.now()
    const answer = await ask(describeApp({}, write))
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(told)
    expectWithin(performance.now() - began, 4500)
  })

  test('whatever else it says is not followed', async () => {
    const aside = `${host.origin}/aside`
    const app = describeApp({
      jwks_uri: aside,
      sector_identifier_uri: aside,
      logo_uri: aside,
      client_uri: aside,
      initiate_login_uri: aside,
      application_type: 'web',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      scope: 'nothing',
      subject_type: 'pairwise',
    })
    host.reads.length = 0
    expect(await isAsked(app)).toBe(true)
    expect(host.reads).toEqual([pathOf(app)])
  })

  test('from more than twenty slow addresses at once', async () => {
    const slow = Array.from({ length: 30 }, () => describeApp({}, () => {}))
    const askAll = async (placeOf: (at: number) => string) => {
      const answers = slow.map((app, at) => ask(app, {}, { 'x-forwarded-for': placeOf(at) }))
      const others = delay(200).then(() => isAsked(describeApp()))
      const busy = (await Promise.all(answers)).filter(({ text }) => text.includes('Too many apps ask'))
      return { busy: busy.length, others: await others }
    }
    expect(await askAll((at) => `192.0.2.${at}`)).toEqual({ busy: 10, others: false })
    // Of one place four, so that it keeps nobody else from being read.
    expect(await askAll(() => '2001:db8::1')).toEqual({ busy: 26, others: true })
    expect(await isAsked(describeApp())).toBe(true)
  })
})

test('a document is read again when its time is up, and once for many who ask meanwhile', async () => {
  const app = describeApp()
  host.reads.length = 0
  expect(await Promise.all(Array.from({ length: 10 }, () => isAsked(app)))).toEqual(Array(10).fill(true))
  expect(host.reads).toHaveLength(1)
})

describe('hostile addresses', () => {
  const canaries: Canary[] = []

  /** On the port that addresses have without saying so, where the machine lets us, and on one of their own. */
  beforeAll(async () => {
    canaries.push(inner)
    for (const at of ['127.0.0.1', '::1']) {
      canaries.push(await openCanary(at))
      const usual = await openCanary(at, 443).catch(() => undefined)
      if (usual) canaries.push(usual)
    }
  })
  afterAll(() => Promise.all(canaries.slice(1).map((canary) => canary.close())))

  const names: Record<string, string[]> = {
    'inside.test': ['10.1.2.3'],
    'loop.test': ['127.0.0.1'],
    'loop6.test': ['::1'],
    'mapped.test': ['::ffff:127.0.0.1'],
    'metadata.test': ['169.254.169.254'],
    'half.test': ['93.184.215.14', '127.0.0.1'],
  }

  test('reach no canary and are told alike', async () => {
    const { outbound } = house.deps
    const resolve = outbound.resolve
    Object.assign(outbound, {
      resolve: async (name: string) => {
        const known = names[name]
        if (known) return known
        // An address stands for itself; no other name exists here.
        if (/^[\d.]+$|:/.test(name)) return [name]
        throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
      },
    })
    const hosts = [
      ...['127.0.0.1', '127.1', '2130706433', '0177.0.0.1', '0x7f.0.0.1', '0x7f000001', '127.0.0.1.', '0'],
      ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '169.254.169.254', '0xa9fea9fe', '172.16.0.1', '192.168.0.1'],
      ...['192.0.0.192', '198.18.0.1', '224.0.0.1', '255.255.255.255', '%31%32%37.0.0.1', '①②⑦.0.0.1'],
      ...['[::]', '[::1]', '[::127.0.0.1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]'],
      ...['[2002:7f00:1::]', '[2001:db8::1]', '[fc00::1]', '[fe80::1]', '[fd00:ec2::254]', '[ff02::1]'],
      ...['localhost', 'localhost.', 'metadata', 'unknown.test', ...Object.keys(names)],
    ]
    const { port } = canaries[0] as Canary
    const addresses = [
      ...hosts.map((at) => `https://${at}/client.json`),
      ...hosts.map((at) => `https://${at}:${port}/client.json`),
      `https://user@127.0.0.1:${port}/client.json`,
      `https://127.0.0.1:${port}\\@good.example/client.json`,
      `https://good.example@127.0.0.1:${port}/client.json`,
      `http://127.0.0.1:${port}/client.json`,
      `HTTPS://127.0.0.1:${port}/client.json`,
      `https:/127.0.0.1:${port}/client.json`,
      `https://127.0.0.1:${port}`,
      'file:///etc/passwd',
    ]
    expect(addresses.length).toBeGreaterThan(40)
    const told = new Set<string>()
    for (const id of addresses) {
      const answer = await ask({ id, secret: null })
      expect([answer.status >= 400 && answer.status < 500, answer.headers.get('location')], id).toEqual([
        true,
        null,
      ])
      told.add(/role="alert">([^<]*)</.exec(answer.text)?.[1] ?? answer.text)
    }
    Object.assign(outbound, { resolve })
    expect(canaries.map((canary) => canary.hits())).toEqual(canaries.map(() => 0))
    // What was refused for its address and what is not there read alike; what is no address is told from them.
    expect([...told].sort()).toEqual([
      'The document that describes this app could not be read from its address.',
      'client is invalid',
      'client_id: not written like the address of a document',
    ])
  })

  test('the canary sings when it is reached', async () => {
    const [canary] = canaries as [Canary]
    await fetch(`http://127.0.0.1:${canary.port}`).catch(() => undefined)
    expect(canary.hits()).toBeGreaterThan(0)
  })
})

test('an app that nobody lets in any more is forgotten after a day', async () => {
  const [kept, gone] = [describeApp(), describeApp()]
  await newTokens(house, kept)
  await newTokens(house, gone)
  await set.query('delete from oauth_records where client_id = $1', [gone.id])
  const sweep = () => Promise.all(house.sweeps.map(({ run }) => run()))
  const left = () =>
    set.query('select id from oauth_clients where id = any($1) order by id', [[kept.id, gone.id]])
  await sweep()
  expect(await left()).toHaveLength(2)
  await set.query("update oauth_clients set decided_at = decided_at - interval '25 hours'")
  await sweep()
  expect(await left()).toEqual([{ id: kept.id }])
})
