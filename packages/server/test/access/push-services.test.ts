import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { shiftClock } from '../support/house.ts'
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
const messagesOf = (subscriptionId: string) =>
  db().selectFrom('push_messages').selectAll().where('subscription_id', '=', subscriptionId).execute()

describe('a push service', () => {
  test.each([429, 500, 503])(
    'that answers %i is asked again, later each time, until it takes it',
    async (status) => {
      const browser = await stage.newBrowser(person)
      stage.service.reply((_, attempt) => ({ status: attempt < 4 ? status : 201 }))
      await stage.ask(key.secret)
      for (const [seconds, tries] of [
        [0, 1],
        [0, 1],
        [2, 2],
        [3, 2],
        [5, 3],
        [6, 3],
        [11, 4],
        [100, 4],
      ] as const) {
        await shiftClock(stage.databaseUrl, seconds)
        await stage.send()
        expect(browser.tries, `after ${seconds} s`).toBe(tries)
      }
      expect(browser.received).toHaveLength(1)
    },
  )

  test('says when to come back, and is left alone until then', async () => {
    const browser = await stage.newBrowser(person)
    stage.service.reply((_, attempt) =>
      attempt === 1 ? { status: 429, headers: { 'retry-after': '120' } } : {},
    )
    await stage.ask(key.secret)
    await stage.send()
    await shiftClock(stage.databaseUrl, 118)
    await stage.send()
    expect(browser.tries).toBe(1)
    await shiftClock(stage.databaseUrl, 122)
    await stage.send()
    expect(browser.received).toHaveLength(1)
  })

  test('that cuts the connection after it took a message gets the same once more, under the same topic', async () => {
    const browser = await stage.newBrowser(person)
    stage.service.reply((_, attempt) => ({ cut: attempt === 1 }))
    await stage.ask(key.secret)
    await stage.send()
    await shiftClock(stage.databaseUrl, 2)
    await stage.send()
    expect(new Set(browser.received.map(({ topic }) => topic)).size).toBe(1)
    expect(browser.received).toHaveLength(2)
  })

  test.each([404, 410])('that answers %i ends the subscription', async (status) => {
    const [gone, other] = [await stage.newBrowser(person), await stage.newBrowser(person)]
    stage.service.reply(({ id }) => (id === gone.id ? { status } : {}))
    await stage.ask(key.secret)
    await stage.send()
    await stage.ask(key.secret)
    await stage.send()
    expect([gone.tries, other.received.length]).toEqual([1, 2])
  })

  test('that refuses for good is not asked again; after three the person sees that it fails', async () => {
    const browser = await stage.newBrowser(person)
    stage.service.reply(() => ({ status: 403 }))
    const failing = async () => {
      const answer = await stage.house.call('GET', '/api/v1/push/subscriptions', { token: person.token })
      return answer.body[0].failing
    }
    for (const isFailing of [false, false, true]) {
      await stage.ask(key.secret)
      await stage.send()
      expect(await failing()).toBe(isFailing)
    }
    await shiftClock(stage.databaseUrl, 100)
    await stage.send()
    expect(browser.tries).toBe(3)
    stage.service.reply(() => ({}))
    await stage.ask(key.secret)
    await stage.send()
    expect(await failing()).toBe(false)
  })

  test('that redirects is not followed', async () => {
    const [browser, other] = [await stage.newBrowser(person), await stage.service.newBrowser()]
    const location = other.subscription.endpoint
    stage.service.reply(({ id }) => (id === browser.id ? { status: 307, headers: { location } } : {}))
    await stage.ask(key.secret)
    await stage.send()
    expect([browser.tries, other.tries]).toEqual([1, 0])
  })

  test('whose name is no longer allowed is sent nothing', async () => {
    const browser = await stage.newBrowser(person)
    const elsewhere = { endpoint: 'http://127.0.0.1:9/push/x', origin: 'http://127.0.0.1:9' }
    await db()
      .updateTable('push_subscriptions')
      .set(elsewhere)
      .where('id', '=', browser.subscriptionId)
      .execute()
    await stage.ask(key.secret)
    await stage.send()
    expect(await messagesOf(browser.subscriptionId)).toEqual([])
  })

  test('that hangs keeps no other from being told', async () => {
    const slow = await openPushStage()
    try {
      // Another service in the same database would be one more port; here one browser in forty hangs it up.
      const owner = await slow.house.newPerson()
      const mine = await slow.house.newKey(owner, { scopes: ['agent:list'] })
      const browser = await slow.newBrowser(owner)
      slow.service.reply(() => ({ afterMs: 11_000 }))
      const sender = slow.newSender()
      await slow.ask(mine.secret)
      const began = performance.now()
      await sender.look()
      // Nobody waits for it: the look is over while the message is under way.
      expectWithin(performance.now() - began, 3000, 'the look', 10_000)
      await sender.settled()
      expectWithin(performance.now() - began, 11_000)
      const [message] = await slow.house.deps.database.db
        .selectFrom('push_messages')
        .selectAll()
        .where('subscription_id', '=', browser.subscriptionId)
        .execute()
      expect(message?.sent_at).toBe(null)
    } finally {
      await slow.close()
    }
  })
})
