import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin, tell } from '../../../../test/support/proof.ts'
import type { Browser } from '../../../../test/support/push-service.ts'
import { atSize } from '../../../../test/support/sizes.ts'
import { shiftClock } from '../support/house.ts'
import { openPushStage, type PushStage } from '../support/pushes.ts'

const browsers = atSize(40, 10_000)
const seconds = atSize(3, 60)
const browsersEach = 10
const killEverySeconds = 2

let stage: PushStage

beforeAll(async () => {
  stage = await openPushStage()
})

afterAll(() => stage?.close())

interface Told {
  readonly person: Person
  readonly key: string
  readonly browsers: readonly Browser[]
  /** What becomes of this person's request, beside being told. */
  readonly fate: 'waits' | 'is signed out' | 'has decided'
  id?: string
  askedAt?: number
  decidedAt?: number
}

const fateOf = (index: number): Told['fate'] =>
  index % 10 === 3 ? 'is signed out' : index % 10 === 7 ? 'has decided' : 'waits'

async function newTold(index: number): Promise<Told> {
  const person = await stage.house.newPerson()
  const { secret } = await stage.house.newKey(person, { scopes: ['agent:list'] })
  const own = await Promise.all(Array.from({ length: browsersEach }, () => stage.newBrowser(person)))
  return { person, key: secret, browsers: own, fate: fateOf(index) }
}

async function askOf(told: Told): Promise<void> {
  const { person, key, fate } = told
  if (fate === 'is signed out')
    await stage.house.call('POST', '/api/v1/auth/sign-out', { token: person.token })
  told.askedAt = Date.now()
  told.id = await stage.ask(key)
  if (fate !== 'has decided') return
  await delay(500)
  await stage.decide(person, told.id)
  told.decidedAt = Date.now()
}

const isGone = ({ id }: Browser) => Number.parseInt(id.slice(0, 4), 16) % 20 === 0
const askedOf = ({ received }: Browser, id: string | undefined) =>
  received.filter(({ message }) => message.guild.kind === 'asked' && message.guild.approval_id === id)

async function countDue(): Promise<number> {
  const { db } = stage.house.deps.database
  const words = await db.selectFrom('push_words').select('id').execute()
  const messages = await db.selectFrom('push_messages').select('id').where('sent_at', 'is', null).execute()
  return words.length + messages.length
}

test('a worker that is killed while its message is under way leaves it to another', async () => {
  const person = await stage.house.newPerson()
  const { secret } = await stage.house.newKey(person, { scopes: ['agent:list'] })
  const browser = await stage.newBrowser(person)
  stage.service.reply(() => ({ afterMs: 60_000 }))
  const first = await stage.startWorker()
  const id = await stage.ask(secret)
  await until(() => browser.tries === 1, 10_000)
  await first.kill()
  stage.service.reply(() => ({}))
  const second = await stage.startWorker()
  await delay(2000)
  expect(browser.received, 'before the lease is over').toEqual([])
  await shiftClock(stage.databaseUrl, 31)
  await until(() => askedOf(browser, id).length === 1, 10_000)
  // That it was sent is written once the push service has answered, which is after it has received.
  await until(async () => (await countDue()) === 0, 10_000)
  await second.kill()
  await shiftClock(stage.databaseUrl, 0)
})

test('every browser is told once or twice, none after its end and none is lost, while workers are killed', {
  timeout: 600_000,
}, async () => {
  const people: Told[] = []
  for (let i = 0; i < browsers / browsersEach; i++) people.push(await newTold(i))
  stage.service.reply((browser) => {
    if (isGone(browser)) return { status: 410 }
    return Math.random() < 0.2 ? { status: 503 } : { afterMs: Math.random() * 300 }
  })
  const workers = [await stage.startWorker(), await stage.startWorker()]
  let kills = 0
  let isOver = false
  const killing = (async () => {
    while (!isOver) {
      await delay(killEverySeconds * 1000)
      const turn = kills++ % workers.length
      await workers[turn]?.kill()
      workers[turn] = await stage.startWorker()
    }
  })()
  const pauseMs = (seconds * 1000) / people.length
  await Promise.all(people.map((told, index) => delay(index * pauseMs).then(() => askOf(told))))
  isOver = true
  await killing
  await until(async () => (await countDue()) === 0, 120_000)

  const lags: number[] = []
  const counts: Record<string, number> = {}
  for (const { browsers: own, fate, id, askedAt = 0, decidedAt = 0 } of people) {
    for (const browser of own) {
      const told = askedOf(browser, id)
      const what = isGone(browser) ? 'is gone' : fate
      const times = fate === 'waits' && !isGone(browser) ? `${what}: ${told.length}` : what
      counts[times] = (counts[times] ?? 0) + 1
      const others = browser.received.filter(({ message }) => message.guild.approval_id !== id)
      expect(others, 'what others ask').toEqual([])
      if (isGone(browser) || fate === 'is signed out') expect(told).toEqual([])
      else if (fate === 'waits') {
        expect(told.length, `${browser.id} of ${id}`).toBeGreaterThanOrEqual(1)
        expect(told.length, `${browser.id} of ${id}`).toBeLessThanOrEqual(2)
        if (browser.tries === 1) lags.push((told[0]?.at ?? 0) - askedAt)
      } else for (const { at } of told) expectWithin(at - decidedAt, 2000, 'told after it was decided')
      if (isGone(browser)) expect(browser.tries).toBeLessThanOrEqual(2)
    }
  }
  expect(stage.service.violations).toEqual([])
  lags.sort((a, b) => a - b)
  const at = (share: number) => lags[Math.floor(lags.length * share)]
  tell(JSON.stringify({ kills, counts, firstTries: lags.length, lagMs: { p50: at(0.5), p99: at(0.99) } }))
})
