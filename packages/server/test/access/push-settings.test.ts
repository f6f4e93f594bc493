import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { shiftClock } from '../support/house.ts'
import { openPushStage, type PushStage } from '../support/pushes.ts'

let stage: PushStage
let person: Person
let key: { id: number; secret: string }
let browser: Awaited<ReturnType<PushStage['newBrowser']>>

beforeAll(async () => {
  stage = await openPushStage()
})

afterAll(() => stage?.close())

beforeEach(async () => {
  person = await stage.house.newPerson()
  key = await stage.house.newKey(person, { scopes: ['agent:list'] })
  browser = await stage.newBrowser(person)
})

afterEach(() => shiftClock(stage.databaseUrl, 0))

const change = async (body: object) => {
  const answer = await stage.house.call('PATCH', '/api/v1/profile/notifications', {
    token: person.token,
    body,
  })
  expect(answer.status, answer.text).toBe(200)
}
const permission = async (scope: string) => {
  const body = { scope, reason: 'because' }
  const answer = await stage.house.call('POST', '/api/v1/agents/request-permission', {
    key: key.secret,
    body,
  })
  expect(answer.status, answer.text).toBe(202)
  return answer.body.request_id as string
}
const toldOf = () => browser.received.map(({ message }) => message.guild.approval_id)

test('who wants to hear of nothing hears nothing', async () => {
  await change({ approvals: 'none' })
  await stage.ask(key.secret)
  await stage.send()
  expect(browser.tries).toBe(0)
})

test('who wants to hear of what is sensitive hears of that', async () => {
  await change({ approvals: 'sensitive' })
  await stage.ask(key.secret)
  await permission('profile:read')
  const sensitive = await permission('profile:write')
  await stage.send()
  expect(toldOf()).toEqual([sensitive])
})

test('an agent that is silenced is heard again when its time is over, and the others all along', async () => {
  const other = await stage.house.newKey(person, { scopes: ['agent:list'] })
  await change({ muted: [{ apiKeyId: key.id, until: new Date(Date.now() + 600_000).toISOString() }] })
  await stage.ask(key.secret)
  const heard = await stage.ask(other.secret)
  await stage.send()
  expect(toldOf()).toEqual([heard])
  await shiftClock(stage.databaseUrl, 700)
  const later = await stage.ask(key.secret)
  await stage.send()
  expect(toldOf()).toEqual([heard, later])
})

describe('in quiet hours', () => {
  /** From an hour ago for so many hours. */
  const quietFor = (hours: number, except: string[] = []) => {
    const at = (shift: number) => new Date(Date.now() + shift * 3_600_000).toISOString().slice(11, 16)
    return { quiet: { from: at(-1), to: at(hours - 1), timezone: 'UTC', except } }
  }

  test('what comes is told in one message when they end, with what expired meanwhile', async () => {
    await change(quietFor(3))
    for (let i = 0; i < 3; i++) await stage.ask(key.secret)
    const answered = await stage.ask(key.secret)
    await stage.decide(person, answered)
    await stage.send()
    await shiftClock(stage.databaseUrl, 3600)
    await stage.send()
    expect(browser.tries).toBe(0)
    await shiftClock(stage.databaseUrl, 2 * 3600 + 60)
    await stage.send()
    await stage.send()
    expect(browser.received.map(({ message }) => message)).toEqual([
      {
        web_push: 8030,
        notification: {
          title: '3 requests came while you were quiet',
          navigate: 'https://app.test/',
          tag: 'digest',
        },
        guild: { v: 1, kind: 'digest' },
      },
    ])
  })

  test('nothing is told of what the person has answered by then', async () => {
    await change(quietFor(3))
    const id = await stage.ask(key.secret)
    await stage.send()
    await stage.decide(person, id)
    await shiftClock(stage.databaseUrl, 2 * 3600 + 60)
    await stage.send()
    expect(browser.tries).toBe(0)
  })

  test('kinds that are excepted are told at once', async () => {
    await change(quietFor(3, ['permission']))
    await stage.ask(key.secret)
    const told = await permission('profile:read')
    await stage.send()
    expect(toldOf()).toEqual([told])
  })

  test('whoever ends them hears at once of what came', async () => {
    await change(quietFor(3))
    await stage.ask(key.secret)
    await stage.send()
    await change({ quiet: null })
    await stage.send()
    expect(browser.received.map(({ message }) => message.guild.kind)).toEqual(['digest'])
  })

  test('what comes while a digest is under way is in the next one', async () => {
    await change(quietFor(3))
    await stage.ask(key.secret)
    await stage.send()
    await change({ quiet: null })
    await change(quietFor(3))
    stage.service.reply(() => ({ afterMs: 1500 }))
    const sending = stage.send(stage.newSender())
    await until(() => browser.tries === 1, 5000)
    stage.service.reply(() => ({}))
    await stage.ask(key.secret)
    await stage.send()
    await sending
    await shiftClock(stage.databaseUrl, 31)
    await stage.send()
    expect(browser.received.map(({ message }) => message.notification.title)).toEqual([
      'A request came while you were quiet',
      '2 requests came while you were quiet',
    ])
  })
})
