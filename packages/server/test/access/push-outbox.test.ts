import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { newTeamWith, shiftClock } from '../support/house.ts'
import { assertFor, givePasskey } from '../support/passkeys.ts'
import { openPushStage, type PushStage } from '../support/pushes.ts'

let stage: PushStage
let person: Person
let key: { id: number; secret: string }

beforeAll(async () => {
  stage = await openPushStage()
})

afterAll(() => stage?.close())

beforeEach(async () => {
  person = await stage.house.newPerson()
  key = await stage.house.newKey(person, { scopes: ['agent:list'] })
})

afterEach(async () => {
  stage.service.reply(() => ({}))
  await shiftClock(stage.databaseUrl, 0)
  expect(stage.service.violations).toEqual([])
})

const db = () => stage.house.deps.database.db
const change = async (body: object, by = person) => {
  const answer = await stage.house.call('PATCH', '/api/v1/profile/notifications', { token: by.token, body })
  expect(answer.status, answer.text).toBe(200)
}
const kindsOf = (browser: { received: { message: { guild: { kind: string } } }[] }) =>
  browser.received.map(({ message }) => message.guild.kind)

describe('a request', () => {
  test('is told to each browser of its person once, with nothing of what it says', async () => {
    const browsers = [await stage.newBrowser(person), await stage.newBrowser(person)]
    const label = 'a-very-secret-label'
    const named = await stage.house.newKey(person, { scopes: ['agent:list'], label })
    const id = await stage.ask(named.secret)
    await stage.send()
    await stage.send()
    for (const { received } of browsers) {
      expect(received).toHaveLength(1)
      const [{ message, text, ttl, urgency, bytes, topic } = expect.fail()] = received
      expect(message).toEqual({
        web_push: 8030,
        notification: {
          title: 'An agent asks a question',
          navigate: `https://app.test/approvals/${id}`,
          tag: id,
        },
        guild: { v: 1, kind: 'asked', approval_id: id, expires_at: expect.any(String) },
      })
      expect(text).not.toContain('secret')
      expect(text).not.toContain(person.workspaceId)
      expect(urgency).toBe('high')
      expect(ttl).toBeGreaterThan(3500)
      expect(ttl).toBeLessThanOrEqual(3600)
      expect(bytes).toBe(86 + 512 + 16)
      expect(topic).not.toContain(id.slice(-12))
    }
  })

  test('that is taken back with its transaction is told to nobody', async () => {
    const browser = await stage.newBrowser(person)
    const id = await stage.ask(key.secret)
    await expect(
      stage.house.deps.database.transaction(async (tx) => {
        const row = await tx
          .selectFrom('approval_requests')
          .selectAll()
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
        const again = { id: `${id}x`, kind: row.kind, user_id: row.user_id, workspace_id: row.workspace_id }
        await tx
          .insertInto('approval_requests')
          .values({
            ...again,
            key_id: row.key_id,
            same_as: Buffer.from('x'),
            scopes: [],
            mode: null,
            reason: null,
            action: null,
            link_code: null,
            subject: null,
            granted_mode: null,
            deny_reason: null,
          } as never)
          .execute()
        throw new Error('taken back')
      }),
    ).rejects.toThrow('taken back')
    await stage.send()
    expect(browser.received.map(({ message }) => message.guild.approval_id)).toEqual([id])
  })

  test('is told to nobody once it is decided, withdrawn or expired, or its key is gone', async () => {
    const browser = await stage.newBrowser(person)
    const decided = await stage.ask(key.secret)
    await stage.decide(person, decided)
    const withdrawn = await stage.ask(key.secret)
    await stage.house.call('POST', `/api/v1/agents/ask/${withdrawn}/withdraw`, { key: key.secret, body: {} })
    const revoked = await stage.house.newKey(person, { scopes: ['agent:list'] })
    await stage.ask(revoked.secret)
    await stage.house.call('DELETE', `/api/v1/keys/${revoked.id}`, { token: person.token })
    await stage.ask(key.secret)
    await shiftClock(stage.databaseUrl, 3601)
    await stage.send()
    expect(browser.tries).toBe(0)
  })

  test('that is decided while it waits to be told again is told no more', async () => {
    const browser = await stage.newBrowser(person)
    stage.service.reply(() => ({ status: 503 }))
    const id = await stage.ask(key.secret)
    await stage.send()
    expect(browser.tries).toBe(1)
    await stage.decide(person, id)
    stage.service.reply(() => ({}))
    await shiftClock(stage.databaseUrl, 40)
    await stage.send()
    await stage.send()
    // It was refused, but might have arrived: so it is taken back, and not told.
    expect(kindsOf(browser)).toEqual(['ended'])
  })

  test('that is decided elsewhere is replaced where it was shown, and only there', async () => {
    const [shown, later] = [await stage.newBrowser(person), await stage.service.newBrowser()]
    const id = await stage.ask(key.secret)
    await stage.send()
    await stage.subscribe(person, later.subscription)
    await stage.decide(person, id)
    await stage.send()
    expect(later.tries).toBe(0)
    const [first, second] = shown.received
    expect(second?.message).toEqual({
      web_push: 8030,
      notification: {
        title: 'Nothing to decide here any more',
        navigate: `https://app.test/approvals/${id}`,
        tag: id,
        silent: true,
      },
      guild: { v: 1, kind: 'ended', approval_id: id },
    })
    expect(second?.topic).toBe(first?.topic)
  })

  test('is told to no browser whose session has ended, or that has ended itself', async () => {
    const [ended, removed, late] = [
      await stage.newBrowser(person),
      await stage.newBrowser(await stage.house.newPerson({ email: person.email })),
      await stage.newBrowser(await stage.house.newPerson({ email: person.email })),
    ]
    const other = await stage.house.newPerson({ email: person.email })
    await stage.ask(key.secret)
    const path = `/api/v1/push/subscriptions/${removed.subscriptionId}`
    await stage.house.call('DELETE', path, { token: other.token })
    await stage.house.call('POST', '/api/v1/auth/sign-out', { token: person.token })
    // Over, and not yet swept.
    const sessions = db()
      .selectFrom('push_subscriptions')
      .select('session_id')
      .where('id', '=', late.subscriptionId)
    await db()
      .updateTable('sessions')
      .set({ expires_at: new Date(Date.now() - 1000) })
      .where('id', 'in', sessions)
      .execute()
    await stage.send()
    expect([ended.tries, removed.tries, late.tries]).toEqual([0, 0, 0])
  })
})

describe('what others ask', () => {
  test('is never told to a stranger, not even to one who takes the endpoint over', async () => {
    const stranger = await stage.house.newPerson()
    const theirs = await stage.newBrowser(stranger)
    const shared = await stage.newBrowser(person)
    const id = await stage.ask(key.secret)
    await stage
      .newSender()
      .look()
      .catch(() => {})
    await delay(200)
    shared.received.length = 0
    const second = await stage.ask(key.secret)
    // The browser changes hands before anything is sent.
    await stage.subscribe(stranger, shared.subscription)
    await stage.decide(person, id)
    await stage.decide(person, second)
    await stage.ask(key.secret)
    await stage.send()
    expect(theirs.received).toEqual([])
    expect(shared.received).toEqual([])
  })

  test('of a workspace is told to all its members, and to none who left', async () => {
    const [member, gone] = [await stage.house.newPerson(), await stage.house.newPerson()]
    const team = await newTeamWith(stage.house, person, member)
    await stage.house.addMember(person, team, gone)
    const browsers = [
      await stage.newBrowser(person),
      await stage.newBrowser(member),
      await stage.newBrowser(gone),
    ]
    const row = {
      id: `workflow_${team}`,
      kind: 'workflow',
      user_id: person.userId,
      workspace_id: team,
      key_id: null,
    }
    await db()
      .insertInto('approval_requests')
      .values({
        ...row,
        same_as: Buffer.from(team),
        scopes: [],
        mode: null,
        reason: null,
        action: null,
        link_code: null,
        subject: null,
        granted_mode: null,
        deny_reason: null,
      } as never)
      .execute()
    await stage.house.call('DELETE', `/api/v1/workspaces/current/members/${gone.userId}`, {
      token: person.token,
      headers: { 'x-workspace-id': team },
    })
    await stage.send()
    expect(browsers.map(({ received }) => received.length)).toEqual([1, 1, 0])
    expect(browsers[0]?.received[0]?.ttl).toBe(7 * 24 * 3600)
  })
})

describe('a test message', () => {
  test('comes once, quiet hours or not, to its own browser alone', async () => {
    const [browser, other] = [await stage.newBrowser(person), await stage.newBrowser(person)]
    await change({ quiet: { from: '00:00', to: '23:59', timezone: 'UTC', except: [] } })
    const path = `/api/v1/push/subscriptions/${browser.subscriptionId}/test`
    for (let i = 0; i < 3; i++)
      expect((await stage.house.call('POST', path, { token: person.token })).status).toBe(200)
    await stage.send()
    expect(kindsOf(browser)).toEqual(['test'])
    expect(other.tries).toBe(0)
  })
})

/** What a statement of PostgreSQL's says of quiet hours, without anything around it. */
test('quiet hours end when the clock on the wall says so, also where it is put back or forward', async () => {
  const client = new pg.Client({ connectionString: stage.databaseUrl })
  await client.connect()
  const until = async (at: string, from: string, to: string, zone: string, digest: object | null = null) => {
    const quiet = JSON.stringify({ from, to, timezone: zone, except: [] })
    const { rows } = await client.query('select quiet_until($1::jsonb, $2::jsonb, $3::timestamptz) as ends', [
      quiet,
      digest && JSON.stringify(digest),
      at,
    ])
    return rows[0].ends?.toISOString() ?? null
  }
  const berlin = ['22:00', '07:00', 'Europe/Berlin'] as const
  expect(await until('2026-01-10T20:59:59Z', ...berlin)).toBe(null)
  expect(await until('2026-01-10T21:00:00Z', ...berlin)).toBe('2026-01-11T06:00:00.000Z')
  expect(await until('2026-01-11T05:59:59Z', ...berlin)).toBe('2026-01-11T06:00:00.000Z')
  expect(await until('2026-01-11T06:00:00Z', ...berlin)).toBe(null)
  // The night in which clocks go forward is an hour shorter, the one in which they go back an hour longer.
  expect(await until('2026-03-28T22:00:00Z', ...berlin)).toBe('2026-03-29T05:00:00.000Z')
  expect(await until('2026-10-24T22:00:00Z', ...berlin)).toBe('2026-10-25T06:00:00.000Z')
  const noon = ['12:00', '14:00', 'Asia/Kolkata'] as const
  expect(await until('2026-05-01T07:00:00Z', ...noon)).toBe('2026-05-01T08:30:00.000Z')
  expect(await until('2026-05-01T09:00:00Z', ...noon)).toBe(null)
  const digest = { at: '09:00', timezone: 'Europe/Berlin' }
  expect(await until('2026-01-10T23:00:00Z', ...berlin, digest)).toBe('2026-01-11T08:00:00.000Z')
  const early = { at: '06:00', timezone: 'Europe/Berlin' }
  expect(await until('2026-01-10T23:00:00Z', ...berlin, early)).toBe('2026-01-12T05:00:00.000Z')
  await client.end()
})

describe('passkeys that are about to be taken away', () => {
  test('are told to every browser of the person at once, also in quiet hours, unless it is canceled first', async () => {
    const { authenticator } = await givePasskey(stage.house, person)
    const browsers = [await stage.newBrowser(person), await stage.newBrowser(person)]
    const stranger = await stage.newBrowser(await stage.house.newPerson())
    await change({ approvals: 'none', quiet: { from: '00:00', to: '23:59', timezone: 'UTC', except: [] } })
    const reset = (method: string, body?: object) =>
      stage.house.call(method, '/api/v1/passkeys/reset', { token: person.token, ...(body && { body }) })
    expect((await reset('POST')).status).toBe(202)
    const device_auth = await assertFor(stage.house, person, authenticator, { purpose: 'cancel-reset' })
    expect((await reset('DELETE', { device_auth })).status).toBe(200)
    await stage.send()
    expect(browsers.map(kindsOf)).toEqual([[], []])
    await reset('POST')
    await stage.send()
    expect(browsers.map(kindsOf)).toEqual([['reset'], ['reset']])
    expect(browsers[0]?.received[0]?.message.notification).toMatchObject({
      navigate: 'https://app.test/settings/passkeys',
    })
    expect(kindsOf(stranger)).toEqual([])
    const later = await stage.newBrowser(person)
    await stage.send()
    expect(kindsOf(later)).toEqual(['reset'])
  })
})
