import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeFolder } from '../../../../stack/folder.ts'
import { type RedisServer, startRedis } from '../../../../stack/redis.ts'
import { connectClient } from '../../../../test/support/mcp-clients.ts'
import { freeze } from '../../../../test/support/processes.ts'
import { tell } from '../../../../test/support/proof.ts'
import { atSize } from '../../../../test/support/sizes.ts'
import { newApprover } from '../support/approver.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { models } from '../support/writing-stage.ts'

/** Legacy clients are asked on the stream of one process and answer to whichever they reach. */
const people = atSize(4, 20)
const callsEach = atSize(2, 10)
const outageMs = atSize(2000, 10_000)
const timeout = 60_000 + people * callsEach * 3000
const message = { message: 'Hello', wait_seconds: 0 }

let houses: [House, House]
let redis: RedisServer

beforeAll(async () => {
  redis = await startRedis({ dir: await makeFolder() })
  const settings = {
    DATABASE_URL: await createDatabase(),
    REDIS_URL: redis.url,
    MODELS: JSON.stringify(models),
    STARTING_CREDITS: '1000',
  }
  houses = [await openHouse(settings), await openHouse(settings)]
})
afterAll(async () => {
  await Promise.all(houses.map((house) => house.close()))
  await redis?.stop()
})

/**
 * Each request to either process, by chance, but two of three answers to a question to another one than asked it; and where
 * the last call and the last answer went.
 */
function reach() {
  const went = { call: -1, reply: -1 }
  const fetchAnywhere: typeof fetch = (input, init) => {
    const said = typeof init?.body === 'string' ? JSON.parse(init.body) : {}
    const isReply = said.method === undefined && said.result !== undefined
    const by = Math.random()
    const at = isReply ? (by < 2 / 3 ? 1 - went.call : went.call) : by < 0.5 ? 0 : 1
    if (said.method === 'tools/call') Object.assign(went, { call: at, reply: -1 })
    if (isReply) went.reply = at
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    return fetch(new URL(pathname, houses[at]?.url), init)
  }
  return { went, fetch: fetchAnywhere }
}

interface Asked {
  readonly isApart: boolean
  readonly beganAt: number
  readonly endedAt: number
}

type Answers = (call: number) => 'accept' | 'decline'

/** A person and an agent of theirs, which is asked again for every call. `answers` says how its client answers. */
async function callAndAnswer(answers: Answers, onAsked: () => void): Promise<Asked[]> {
  const person = await newApprover(houses)
  const { secret: key } = await houses[0].newKey(person, { scopes: ['profile:read'] })
  const { went, fetch } = reach()
  let answer: 'accept' | 'decline' = 'accept'
  let deciding: Promise<unknown> | undefined
  const onLink = () => {
    onAsked()
    if (answer === 'accept') deciding = person.decideNext('approve', { mode: 'one_time' })
    return answer
  }
  const client = await connectClient('v1 with links', {
    url: new URL('/mcp/', houses[0].url),
    key,
    fetch,
    onLink,
  })
  const asked: Asked[] = []
  for (let call = 0; call < callsEach; call++) {
    answer = answers(call)
    const beganAt = performance.now()
    const result = await client.call('message_agent', message)
    await deciding
    const text = result.content[0]?.text
    if (answer === 'accept') expect(result.isError, text).toBeFalsy()
    else expect(text).toContain('It stays open')
    expect(went.reply).toBeGreaterThanOrEqual(0)
    asked.push({ isApart: went.reply !== went.call, beganAt, endedAt: performance.now() })
  }
  await client.close()
  return asked
}

const everybody = (answers: Answers, onAsked = () => {}) =>
  Promise.all(Array.from({ length: people }, () => callAndAnswer(answers, onAsked)))

test('a question is answered, whichever process the answer reaches', { timeout }, async () => {
  const asked = (await everybody((call) => (call % 2 === 0 ? 'decline' : 'accept'))).flat()
  const apart = asked.filter(({ isApart }) => isApart).length
  tell(`${asked.length} questions, ${apart} answered to another process than asked`)
  expect(asked).toHaveLength(people * callsEach)
  expect(apart).toBeGreaterThanOrEqual(asked.length >= 100 ? asked.length / 2 : 1)
})

test('what a person agrees to comes through while word between processes is lost', { timeout }, async () => {
  let lost = { from: 0, until: 0 }
  const firstAsked = Promise.withResolvers<void>()
  const outage = async () => {
    await firstAsked.promise
    const pid = redis.pid()
    if (pid === null) throw new Error('Redis is not there to be stopped')
    const resume = freeze(pid)
    const from = performance.now()
    await sleep(outageMs)
    resume()
    lost = { from, until: performance.now() }
  }
  const [all] = await Promise.all([everybody(() => 'accept', firstAsked.resolve), outage()])
  const asked = all.flat()
  const during = asked.filter(({ beganAt, endedAt }) => beganAt < lost.until && endedAt > lost.from)
  const slowest = Math.max(...asked.map(({ beganAt, endedAt }) => endedAt - beganAt))
  tell(`${asked.length} questions, ${during.length} while Redis was away, slowest ${Math.round(slowest)} ms`)
  expect(asked).toHaveLength(people * callsEach)
  expect(during.length).toBeGreaterThan(0)
})
