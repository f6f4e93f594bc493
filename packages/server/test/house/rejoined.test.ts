import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../../../test/support/processes.ts'
import { type Headers, type Holder, newHolder } from '../support/credentials.ts'
import {
  type App,
  authorizeUrl,
  browserFor,
  exchange,
  newAuthorization,
  newPkce,
  newTokens,
  type OAuthHouse,
  openOAuthHouse,
  reachConsent,
  registerApp,
} from '../support/oauth.ts'

/**
 * Whoever leaves a workspace, or is put out of it, and comes back later comes back with nothing: what acted for them there
 * before has ended for good, also what was being made for them at that very moment.
 */
let set: OAuthHouse
let app: App
let team: string
let people = 0

beforeAll(async () => {
  set = await openOAuthHouse()
  app = await registerApp(set.house, set.owner)
  team = await set.house.newTeam(set.owner)
})
afterAll(() => set?.close())

const newMember = () => newHolder(set, app, `rejoins-${++people}`, team)

const remove = (userId: string) =>
  set.house.call('DELETE', `/api/v1/workspaces/current/members/${userId}`, {
    token: set.owner.token,
    headers: { 'x-workspace-id': team },
  })

const comeBack = ({ userId }: Holder) =>
  set.query("insert into workspace_members (workspace_id, user_id, role) values ($1, $2, 'member')", [
    team,
    userId,
  ])

const statusOf = async ({ call }: Holder, headers: Headers) =>
  (await call(headers, 'GET', '/workspaces')).status

interface Ended {
  /** Whether it still does something for who holds it. */
  acts(): Promise<boolean>
  /** Telling whether it works uses it up. */
  once?: true
}

/** Every way of acting for a person in a workspace without being the person. */
const held: Record<string, (holder: Holder) => Promise<Ended>> = {
  'a key': async (holder) => ({ acts: async () => (await statusOf(holder, holder.key)) === 200 }),

  'what a key was granted for a time': async (holder) => {
    const { id, headers } = await holder.newKey({ access: 'declared', scopes: ['profile:read'] })
    await set.query(
      `insert into grants (key_id, workspace_id, scope, mode, expires_at)
       values ($1, $2, 'agent:list', 'session', guild_now() + interval '1 hour')`,
      [id, team],
    )
    const isKept = async () => (await set.query('select from grants where key_id = $1', [id])).length > 0
    return {
      acts: async () => (await isKept()) || (await holder.call(headers, 'GET', '/agents')).status === 200,
    }
  },

  'what a key asks its person': async (holder) => {
    const { headers } = await holder.newKey({ access: 'declared', scopes: ['profile:read'] })
    const asked = await holder.call(headers, 'POST', '/agents/request-permission', {
      scope: 'agent:list',
      reason: 'to see who there is',
    })
    expect(asked.status, asked.text).toBeLessThan(300)
    const inbox = () => holder.call(holder.session, 'GET', '/approvals?status=pending')
    return { acts: async () => (await inbox()).body.items?.length > 0 }
  },

  'a pairing that was approved and not yet collected': async (holder) => {
    const begun = await holder.call({}, 'POST', '/activate')
    const confirmed = await holder.call(holder.session, 'POST', '/activate/confirm', {
      code: begun.body.user_code,
    })
    expect(confirmed.status, confirmed.text).toBe(200)
    const collect = () =>
      holder.call({}, 'POST', '/activate/poll', { device_code: begun.body.device_code, wait: 0 })
    return { once: true, acts: async () => (await collect()).body.api_key !== undefined }
  },

  'the token of an app': async (holder) => ({
    acts: async () => (await statusOf(holder, holder.oauth)) === 200,
  }),

  'what renews the token of an app': async () => {
    const login = `rejoins-${people}`
    const { refresh_token } = await newTokens(set.house, app, { login, fields: { workspace: team } })
    const renew = () => exchange(set.house, app, { grant_type: 'refresh_token', refresh_token })
    return { once: true, acts: async () => (await renew()).status === 200 }
  },

  'a code that an app has not redeemed': async () => {
    const { verifier, challenge } = newPkce()
    const redirect = await newAuthorization(set.house, app, {
      login: `rejoins-${people}`,
      query: { code_challenge: challenge, code_challenge_method: 'S256' },
      fields: { workspace: team },
    })
    const redeem = () => exchange(set.house, app, { code: redirect.get('code'), code_verifier: verifier })
    return { once: true, acts: async () => (await redeem()).status === 200 }
  },
}

describe.each(Object.entries(held))('%s', (_name, prepare) => {
  test.each(['is put out', 'leaves'])('ends for good when its person %s', async (how) => {
    const holder = await newMember()
    const used = await prepare(holder)
    expect(await used.acts()).toBe(true)
    const { acts } = used.once ? await prepare(holder) : used
    const gone =
      how === 'leaves'
        ? await holder.call(holder.session, 'DELETE', `/workspaces/current/members/${holder.userId}`)
        : // As somebody may write it who copies it from elsewhere.
          await remove(holder.userId.toUpperCase())
    expect(gone.status, gone.text).toBe(200)
    await comeBack(holder)
    expect((await holder.call(holder.session, 'GET', '/workspaces')).status).toBe(200)
    expect(await acts()).toBe(false)
    expect((await holder.call(holder.session, 'GET', '/keys')).body).toEqual([])
    expect((await holder.call(holder.session, 'GET', '/oauth/grants')).body).toEqual(
      // The one of the first visit, which is for the person's own workspace.
      [expect.not.objectContaining({ workspace: expect.objectContaining({ id: team }) })],
    )
  })
})

test('the log says how much ended with the membership, and each key why it did', async () => {
  const holder = await newMember()
  await holder.newKey()
  expect((await remove(holder.userId)).status).toBe(200)
  const [line] = await set.query(
    "select details from activity where type = 'member.removed' and details ->> 'userId' = $1",
    [holder.userId],
  )
  expect(line.details).toEqual({ userId: holder.userId, endedKeys: 2, endedOAuthGrants: 1 })
  const kept = await set.query(
    `select revoked_because, revoked_at is not null as ended,
       exists (select from api_key_secrets s where s.key_id = k.id) as secret from api_keys k where user_id = $1`,
    [holder.userId],
  )
  const ended = { revoked_because: 'member_removed', ended: true, secret: false }
  expect(kept).toEqual([ended, ended])
})

test('what the person holds elsewhere goes on', async () => {
  const holder = await newMember()
  const made = await set.house.call('POST', '/api/v1/keys', {
    headers: { 'x-auth-token': holder.sessionToken },
    body: { label: 'own', access: 'full' },
  })
  const other = await newMember()
  expect((await remove(holder.userId)).status).toBe(200)
  expect(await statusOf(holder, { 'x-api-key': made.body.api_key })).toBe(200)
  expect(await statusOf(other, other.key)).toBe(200)
  expect(await statusOf(other, other.oauth)).toBe(200)
})

/** What gives a person something in a workspace, as far as its last request. */
const given: Record<string, (holder: Holder) => Promise<() => Promise<{ status: number }>>> = {
  'a new key': async (holder) => () =>
    holder.call(holder.session, 'POST', '/keys', { label: 'late', access: 'full' }),

  'a pairing': async (holder) => {
    const begun = await holder.call({}, 'POST', '/activate')
    return () => holder.call(holder.session, 'POST', '/activate/confirm', { code: begun.body.user_code })
  },

  'consent to an app': async () => {
    const { challenge } = newPkce()
    const address = authorizeUrl(app, { code_challenge: challenge, code_challenge_method: 'S256' })
    const browser = browserFor(set.house)
    const page = await reachConsent(browser, address, `rejoins-${people}`)
    return () => browser.submit(page, { decision: 'allow', workspace: team })
  },
}

describe.each(Object.entries(given))('%s beside a removal', (_name, give) => {
  /** Statements that wait for somebody's lock in this database. */
  const waiting = async () => {
    const rows = await set.query(
      `select from pg_locks l join pg_database d on d.oid = l.database
       where not granted and d.datname = current_database()
       union all select from pg_locks l where not granted and locktype = 'transactionid'
         and pid in (select pid from pg_stat_activity where datname = current_database())`,
    )
    return rows.length
  }
  const within = async (work: (client: pg.Client) => Promise<void>) => {
    const client = new pg.Client({ connectionString: set.databaseUrl })
    await client.connect()
    try {
      await client.query('begin')
      await work(client)
    } finally {
      await client.end()
    }
  }
  const liveThere = async ({ userId }: Holder) => {
    const keys = 'select from api_keys where user_id = $1 and workspace_id = $2 and revoked_at is null'
    const grants =
      "select from oauth_records where user_id = $1 and workspace_id = $2 and model = 'Grant' and expires_at > guild_now()"
    const rows = await set.query(`${keys} union all ${grants}`, [userId, team])
    return rows.length
  }

  test('that came first is refused', async () => {
    const holder = await newMember()
    const send = await give(holder)
    await within(async (client) => {
      await client.query('delete from workspace_members where workspace_id = $1 and user_id = $2', [
        team,
        holder.userId,
      ])
      const answer = send()
      await until(async () => (await waiting()) > 0, 10_000)
      // What the removal ends beside the membership is another test's; here only what is new counts.
      await client.query('update api_keys set revoked_at = guild_now() where user_id = $1', [holder.userId])
      await client.query('delete from oauth_records where user_id = $1 and workspace_id = $2', [
        holder.userId,
        team,
      ])
      await client.query('commit')
      expect((await answer).status).toBe(403)
    })
    await comeBack(holder)
    expect(await liveThere(holder)).toBe(0)
  })

  test('that comes second ends with it', async () => {
    const holder = await newMember()
    const send = await give(holder)
    let removed: ReturnType<typeof remove> | undefined
    let answer: ReturnType<typeof send> | undefined
    await within(async (client) => {
      // Nobody can write a line in the log, which is the last thing that either of the two does.
      await client.query('lock table activity in exclusive mode')
      answer = send()
      await until(async () => (await waiting()) > 0, 10_000)
      removed = remove(holder.userId)
      await until(async () => (await waiting()) > 1, 10_000)
      await client.query('commit')
    })
    expect((await answer)?.status).toBeLessThan(400)
    expect((await removed)?.status).toBe(200)
    await comeBack(holder)
    expect(await liveThere(holder)).toBe(0)
  })
})
