import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, openHouse } from '../support/house.ts'
import { openPushStage, type PushStage } from '../support/pushes.ts'

let stage: PushStage
let person: Person

beforeAll(async () => {
  stage = await openPushStage()
})

afterAll(() => stage?.close())

beforeEach(async () => {
  person = await stage.house.newPerson()
})

const list = async (by = person) =>
  (await stage.house.call('GET', '/api/v1/push/subscriptions', { token: by.token })).body
const settings = async (by = person) =>
  (await stage.house.call('GET', '/api/v1/profile/notifications', { token: by.token })).body
const change = (body: object, by = person) =>
  stage.house.call('PATCH', '/api/v1/profile/notifications', { token: by.token, body })

describe('a deployment', () => {
  test('says with which key browsers subscribe', async () => {
    const { push } = (await stage.house.call('GET', '/api/v1/meta')).body
    expect(Buffer.from(push.applicationServerKey, 'base64url')).toHaveLength(65)
  })

  test('without keys offers nothing and takes nothing', async () => {
    const house = await openHouse({ DATABASE_URL: await createDatabase(), VAPID_KEYS: '' })
    try {
      expect((await house.call('GET', '/api/v1/meta')).body.push).toBe(null)
      const { token } = await house.newPerson()
      const { subscription: body } = await stage.service.newBrowser()
      expect((await house.call('PUT', '/api/v1/push/subscriptions', { token, body })).status).toBe(404)
    } finally {
      await house.close()
    }
  })
})

describe('a subscription', () => {
  test('is the same for the same endpoint, and shows neither endpoint nor keys', async () => {
    const { subscription } = await stage.service.newBrowser()
    const [first, again] = [
      await stage.subscribe(person, subscription, 'Phone'),
      await stage.subscribe(person, subscription, 'My phone'),
    ]
    expect(again.body).toEqual(first.body)
    const items = await list()
    expect(items).toEqual([
      {
        id: first.body.id,
        label: 'My phone',
        createdAt: expect.any(String),
        deliveredAt: null,
        failing: false,
        current: true,
      },
    ])
    expect(JSON.stringify(items)).not.toContain(subscription.endpoint)
  })

  test.each([
    'http://fcm.googleapis.com/fcm/send/x',
    'https://127.0.0.1/push/x',
    'https://localhost/push/x',
    'http://127.0.0.1:9/push/x',
    'https://[::1]/push/x',
    'https://169.254.169.254/latest/meta-data',
    'https://10.0.0.7/push',
    'https://2130706433/push',
    'https://evil.example/push',
    'https://fcm.googleapis.com.evil.example/x',
    'https://fcm.googleapis.com@evil.example/x',
    'https://user:word@fcm.googleapis.com/x',
    'https://fcm.googleapis.com:8443/x',
    'https://push.apple.com.evil.example/x',
    'https://evilpush.apple.com/x',
    'https://web.push.apple.com/x#part',
    'ftp://fcm.googleapis.com/x',
    'x',
  ])('cannot be to %s', async (endpoint) => {
    const { subscription } = await stage.service.newBrowser()
    const answer = await stage.subscribe(person, { ...subscription, endpoint })
    expect(answer.status, answer.text).toBe(400)
    expect(await list()).toEqual([])
  })

  test.each(['https://web.push.apple.com/QAbc', 'https://updates.push.services.mozilla.com/wpush/v2/gA'])(
    'can be to %s',
    async (endpoint) => {
      const { subscription } = await stage.service.newBrowser()
      const answer = await stage.subscribe(person, { ...subscription, endpoint })
      expect(answer.status, answer.text).toBe(200)
    },
  )

  test('needs keys that can be written to', async () => {
    const { subscription } = await stage.service.newBrowser()
    const { keys } = subscription
    const off = Buffer.from(keys.p256dh, 'base64url')
    off[64] = (off[64] ?? 0) ^ 1
    for (const wrong of [{ ...keys, p256dh: off.toString('base64url') }, { ...keys, auth: 'short' }, {}]) {
      const answer = await stage.subscribe(person, { ...subscription, keys: wrong })
      expect(answer.status, answer.text).toBe(400)
    }
  })

  test('is one of ten at most, however many come at once', async () => {
    const browsers = await Promise.all(Array.from({ length: 14 }, () => stage.service.newBrowser()))
    const answers = await Promise.all(
      browsers.map(({ subscription }) => stage.subscribe(person, subscription)),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array(10).fill(200),
      ...Array(4).fill(409),
    ])
    expect(await list()).toHaveLength(10)
  })

  test('of somebody else is not taken by who knows its address, and is by who has its secret', async () => {
    const other = await stage.house.newPerson()
    const { subscription } = await stage.service.newBrowser()
    await stage.subscribe(other, subscription)
    const stolen = {
      ...subscription,
      keys: { ...subscription.keys, auth: randomBytes(16).toString('base64url') },
    }
    expect((await stage.subscribe(person, stolen)).status).toBe(409)
    expect(await list(other)).toHaveLength(1)
    // The same browser, in which somebody else has signed in.
    expect((await stage.subscribe(person, subscription)).status).toBe(200)
    expect(await list(other)).toEqual([])
  })

  test('ends with its session, and by hand', async () => {
    const { subscriptionId } = await stage.newBrowser(person)
    const path = `/api/v1/push/subscriptions/${subscriptionId}`
    const stranger = await stage.house.newPerson()
    expect((await stage.house.call('DELETE', path, { token: stranger.token })).status).toBe(404)
    expect((await stage.house.call('DELETE', path, { token: person.token })).status).toBe(200)
    expect(await list()).toEqual([])
    await stage.newBrowser(person)
    const second = await stage.house.newPerson({ email: person.email })
    expect((await list(second)).map(({ current }: { current: boolean }) => current)).toEqual([false])
    await stage.house.call('POST', '/api/v1/auth/sign-out', { token: person.token })
    expect(await list(second)).toEqual([])
  })
})

describe('settings', () => {
  const night = { from: '22:00', to: '07:00', timezone: 'Europe/Berlin', except: ['budget'] }

  test('tell of everything at first; what is left out of a change stays', async () => {
    const all = { approvals: 'all', questions: true, budget: true, quiet: null, digest: null, muted: [] }
    expect(await settings()).toEqual(all)
    expect((await change({ quiet: night, approvals: 'sensitive' })).body).toEqual({
      ...all,
      quiet: night,
      approvals: 'sensitive',
    })
    const digest = { at: '08:30', timezone: 'Europe/Berlin' }
    expect((await change({ digest })).body).toMatchObject({ quiet: night, approvals: 'sensitive', digest })
    expect((await change({ quiet: null })).body).toMatchObject({ quiet: null, digest })
  })

  test.each([
    [{ quiet: { ...night, timezone: 'Mars/Olympus' } }],
    [{ quiet: { ...night, timezone: "x'; drop table users" } }],
    [{ quiet: { ...night, to: '22:00' } }],
    [{ quiet: { ...night, to: '24:00' } }],
    [{ quiet: { ...night, except: ['everything'] } }],
    [{ digest: { at: '08:30', timezone: '' } }],
    [{ muted: [{ apiKeyId: 1, until: 'tomorrow' }] }],
    [{ approvals: 'some' }],
  ])('refuse %j', async (wrong) => {
    const answer = await change(wrong)
    expect(answer.status, answer.text).toBe(400)
    expect((await settings()).quiet).toBe(null)
  })

  test('name an agent that is silenced until its time is over', async () => {
    const muted = [{ apiKeyId: 1, until: '2040-01-01T00:00:00.000Z' }]
    const over = { apiKeyId: 2, until: '2020-01-01T00:00:00.000Z' }
    expect((await change({ muted: [...muted, over] })).body.muted).toEqual(muted)
  })
})
