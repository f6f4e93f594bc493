import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSession } from '#accounts/sessions/sessions.ts'
import { findUser } from '#accounts/users/users.ts'
import { sealEvent, sealSession } from '#transports/mcp/sealed.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { modernMessage } from '../../../../test/support/mcp.ts'
import { type DocumentHost, openDocumentHost } from '../support/app-documents.ts'
import type { House } from '../support/house.ts'
import {
  type App,
  authorizeUrl,
  bearer,
  browserFor,
  callback,
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
} from '../support/oauth.ts'
import { newExecution, stageIn } from '../support/writing-stage.ts'

/** Two apps that share a person, a workspace, a browser and even a way back: neither gets anything by the other's means. */
let host: DocumentHost
let set: OAuthHouse
let house: House
let owner: Person

beforeAll(async () => {
  host = await openDocumentHost()
  set = await openOAuthHouse({ ...host.env, OAUTH_REGISTRATION: '1' })
  ;({ house, owner } = set)
})
afterAll(async () => {
  await set.close()
  host.close()
})

const kinds = {
  'with a secret': () => registerApp(house, owner),
  'without one': () => registerApp(house, owner, { public: true }),
  'with a document': async () => host.describeApp(),
  'that registered itself': async () => {
    const body = { redirect_uris: [callback] }
    return { id: (await house.call('POST', '/oauth/register', { body })).body.client_id, secret: null }
  },
} satisfies Record<string, () => Promise<App>>

const pairs = Object.keys(kinds).flatMap((mine) =>
  Object.keys(kinds).map((theirs) => [mine, theirs] as const),
)
const newApp = (kind: string) => kinds[kind as keyof typeof kinds]()
const isGood = async (token: string) =>
  (await house.call('GET', '/api/v1/workspaces', bearer(token))).status === 200
const issuedTo = ({ id }: App) =>
  set.query("select id from oauth_records where client_id = $1 and model ~ 'Token'", [id])

/** Who signed in at the provider, signed in here too. */
async function signIn(userId: string): Promise<string> {
  const opened = await house.deps.database.transaction(async (tx) => {
    const user = await findUser(tx, userId)
    if (!user) throw new Error('nobody')
    return openSession(tx, user, { userAgent: 'test', address: '127.0.0.1' })
  })
  return opened.auth_token
}

/** An app from a document is known once a person has let it in. */
async function knownApp(kind: string): Promise<App> {
  const app = await newApp(kind)
  await newTokens(house, app, { login: 'bob' })
  await set.query('delete from oauth_records where client_id = $1', [app.id])
  return app
}

describe.each(pairs)('what an app %s holds, with an app %s', (mine, theirs) => {
  test('no code and no refresh token works for the other, nor is it lost by the try', async () => {
    const [app, other] = [await newApp(mine), await knownApp(theirs)]
    const { verifier, challenge } = newPkce()
    const query = { code_challenge: challenge, code_challenge_method: 'S256' }
    const code = (await newAuthorization(house, app, { query })).get('code')
    for (const stolen of [
      { code, code_verifier: verifier },
      { code, code_verifier: newPkce().verifier },
      { code },
    ]) {
      const refused = await exchange(house, other, stolen)
      expect([refused.status, refused.body.error], refused.text).toEqual([400, 'invalid_grant'])
    }
    const own = await exchange(house, app, { code, code_verifier: verifier })
    expect(own.status, own.text).toBe(200)
    const { access_token, refresh_token } = own.body
    const refresh = { grant_type: 'refresh_token', refresh_token }
    const refused = await exchange(house, other, refresh)
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
    const revoked = await house.call('POST', '/oauth/revoke', {
      body: {
        token: refresh_token,
        client_id: other.id,
        ...(other.secret ? { client_secret: other.secret } : {}),
      },
    })
    expect(revoked.status).toBe(200)
    expect(await isGood(access_token)).toBe(true)
    expect(await issuedTo(other)).toEqual([])
    expect((await exchange(house, app, refresh)).status).toBe(200)
  })
})

test('an id with the secret of the other is nobody', async () => {
  const [one, two] = [await newApp('with a secret'), await newApp('with a secret')]
  const code = (await newAuthorization(house, one)).get('code')
  const refused = await exchange(house, { id: one.id, secret: two.secret }, { code })
  expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client'])
  expect((await exchange(house, one, { code })).status).toBe(200)
})

describe('two requests in one browser', () => {
  const [stateOne, stateTwo] = ['of-the-first', 'of-the-second']

  async function openBoth() {
    const [one, two] = [await newApp('with a secret'), await newApp('with a secret')]
    const browser = browserFor(house)
    const first = await reachConsent(browser, authorizeUrl(one, { state: stateOne }), 'alice')
    const second = await reachConsent(browser, authorizeUrl(two, { state: stateTwo }), 'alice')
    return { one, two, browser, first, second }
  }
  const uidOf = (url: URL) => url.pathname.split('/').at(-1) ?? ''

  test('a yes to one is none to the other, and each state goes back with its own code', async () => {
    const { one, two, browser, first, second } = await openBoth()
    const yes = await browser.submit(second, { decision: 'allow' })
    expect(yes.url.searchParams.get('state')).toBe(stateTwo)
    const code = yes.url.searchParams.get('code')
    expect((await exchange(house, one, { code })).body.error).toBe('invalid_grant')
    expect((await exchange(house, two, { code })).status).toBe(200)
    expect(
      await set.query("select 1 from oauth_records where client_id = $1 and model = 'Grant'", [one.id]),
    ).toEqual([])
    const no = await browser.submit(first, { decision: 'deny' })
    expect([no.url.searchParams.get('state'), no.url.searchParams.get('error')]).toEqual([
      stateOne,
      'access_denied',
    ])
  })

  test('the form of one is refused on the page of the other', async () => {
    const { browser, first, second } = await openBoth()
    const csrf = /name="csrf" value="([^"]+)"/.exec(second.text)?.[1] ?? ''
    expect((await browser.submit(first, { decision: 'allow', csrf })).status).toBe(403)
  })

  test('going on with one by a yes to the other leads nowhere', async () => {
    const { one, browser, first, second } = await openBoth()
    await browser.submit(second, { decision: 'allow' })
    const went = await browser.open(`${publicUrl}/oauth/authorize/${uidOf(first.url)}?client_id=${one.id}`)
    expect(went.url.searchParams.has('code')).toBe(false)
    const again = await browser.open(`${publicUrl}/oauth/authorize/${uidOf(second.url)}?state=${stateOne}`)
    expect(again.url.searchParams.has('code')).toBe(false)
  })
})

describe('over MCP, two apps of one person in one workspace', () => {
  test("neither goes on with the other's stream, state or session", async () => {
    const person = await house.newPerson()
    const apps = [await newApp('with a secret'), await newApp('with a secret')] as const
    const tokens = await Promise.all(apps.map(async (app) => (await grantToken(house, app, person)).token))
    const { signingKeys } = house.deps.config
    const credentials = apps.map(({ id }) => `oauth:${id}:${person.userId}`)
    const target = await newExecution(stageIn(house, 'crossed', 'crossed'), person)
    const place = { kind: 'execution' as const, target, progress: 0, after: 0, until: Date.now() + 500 }
    const event = sealEvent(signingKeys, credentials[0] ?? '', { ...place, id: 7, token: 'p' })
    const resume = async (token = '') => {
      const headers = {
        authorization: `Bearer ${token}`,
        'last-event-id': event,
        accept: 'text/event-stream',
      }
      return (await house.call('GET', '/mcp/', { headers })).status
    }
    expect(await Promise.all(tokens.map(resume))).toEqual([200, 405])
    const session = sealSession(signingKeys, credentials[0] ?? '', {
      version: '2025-11-25',
      capabilities: { elicitation: {} },
      name: 'first',
    })
    const { headers, body } = modernMessage('tools/call', {
      name: 'whoami',
      arguments: {},
      requestState: session,
    })
    for (const token of tokens) {
      const answer = await house.call('POST', '/mcp/', {
        headers: { ...headers, authorization: `Bearer ${token}` },
        body,
      })
      expect(answer.body.error, answer.text).toMatchObject({ code: -32602 })
    }
  })
})

describe('a yes that comes too late', () => {
  const nothingLeft = async ({ id }: App) => {
    expect(await set.query('select model from oauth_records where client_id = $1', [id])).toEqual([])
    const allowed = "select 1 from activity where type = 'oauth_grant.allowed' and details->>'clientId' = $1"
    expect(await set.query(allowed, [id])).toEqual([])
  }
  const remove = ({ id }: App) => house.call('DELETE', `/api/v1/oauth/clients/${id}`, { token: owner.token })

  test('to an app that was removed meanwhile grants nothing', async () => {
    const app = await newApp('with a secret')
    const browser = browserFor(house)
    const page = await reachConsent(browser, authorizeUrl(app), 'alice')
    expect((await remove(app)).status).toBe(200)
    const late = await browser.submit(page, { decision: 'allow' })
    expect([late.status, late.url.searchParams.has('code')]).toEqual([404, false])
    await nothingLeft(app)
  })

  test('to one that is being removed at that very moment grants nothing, and is no fault', async () => {
    const app = await newApp('with a secret')
    const browser = browserFor(house)
    const page = await reachConsent(browser, authorizeUrl(app), 'alice')
    const db = new pg.Client({ connectionString: set.databaseUrl })
    await db.connect()
    try {
      await db.query('begin')
      await db.query('delete from oauth_clients where id = $1', [app.id])
      const late = browser.submit(page, { decision: 'allow' })
      const waits =
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
      await expect.poll(async () => (await set.query(waits)).length).toBeGreaterThan(0)
      await db.query('commit')
      const { status, text } = await late
      expect([status, text.includes('This app was removed')]).toEqual([404, true])
    } finally {
      await db.end()
    }
    await nothingLeft(app)
  })

  test('of somebody who is no member any more grants nothing', async () => {
    const app = await newApp('with a secret')
    const browser = browserFor(house)
    const page = await reachConsent(browser, authorizeUrl(app), 'zoe')
    const [zoe] = await set.query("select id from users where email = 'zoe@example.test'")
    await set.query('delete from workspace_members where user_id = $1', [zoe.id])
    expect((await browser.submit(page, { decision: 'allow' })).status).toBe(403)
  })
})

describe('a grant that was taken back', () => {
  test('before the code was exchanged gives no token', async () => {
    const app = await newApp('with a secret')
    const code = (await newAuthorization(house, app)).get('code')
    expect(await endByPerson(app)).toBe(200)
    const late = await exchange(house, app, { code })
    expect([late.status, late.body.error]).toEqual([400, 'invalid_grant'])
    expect(await issuedTo(app)).toEqual([])
  })

  test('while codes are exchanged and tokens renewed leaves none that is good', async () => {
    const app = await newApp('with a secret')
    for (let round = 0; round < 10; round++) {
      const code = (await newAuthorization(house, app)).get('code')
      const [given] = await Promise.all([exchange(house, app, { code }), endByPerson(app)])
      if (given.status === 200) expect(await isGood(given.body.access_token)).toBe(false)
      else expect(given.body.error, given.text).toBe('invalid_grant')
      const tokens = await newTokens(house, app)
      const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      const [renewed] = await Promise.all([exchange(house, app, refresh), endByPerson(app)])
      if (renewed.status === 200) expect(await isGood(renewed.body.access_token)).toBe(false)
      else expect(renewed.body.error, renewed.text).toBe('invalid_grant')
      expect(await isGood(tokens.access_token)).toBe(false)
    }
  })

  /** As the app's pages do it: the person of the grant, signed in here. */
  async function endByPerson(app: App): Promise<number> {
    const [grant] = await set.query(
      "select id, user_id from oauth_records where client_id = $1 and model = 'Grant' order by id desc",
      [app.id],
    )
    return (
      await house.call('DELETE', `/api/v1/oauth/grants/${grant.id}`, { token: await signIn(grant.user_id) })
    ).status
  }
})
