import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { freeze, pidsOf, until } from '../support/processes.ts'
import { expectWithin, tell } from '../support/proof.ts'
import { atSize } from '../support/sizes.ts'
import { movedTo, openSocket, openUnread } from '../support/sockets.ts'
import { roughStack, type SharedStack } from './support/shared-stacks.ts'

const socketCount = atSize(100, 2000)
const perKey = 10
const rounds = atSize(5, 20)

let stack: SharedStack
let app: Caller
let person: Person
let redis: Redis

beforeAll(async () => {
  stack = await roughStack()
  app = createCaller(stack.baseUrl)
  person = await app.newPerson()
  redis = new Redis(stack.redisUrl)
  redis.on('error', () => {})
})

afterAll(() => redis.disconnect())

/** Also after a test that was given up on, whose last lines are not reached. */
let resume = () => {}
afterEach(() => resume())

async function urlAt(index: number, key: string): Promise<string> {
  const { body } = await app.call('GET', '/api/v1/events/subscribe-url', { key })
  return movedTo(body.url, stack.apiUrls[index % 2] ?? '')
}

/** As a process would: `live:<channel>`, and who sends it in front of the event. */
function publish(fields: Record<string, unknown>): Promise<number> {
  const { workspaceId } = person
  const event = { type: 'cache-invalidate', id: 'x', workspaceId, at: new Date().toISOString(), ...fields }
  return redis.publish(`live:workspace:${workspaceId}`, `- ${JSON.stringify(event)}`)
}

test(`${socketCount} sockets of two processes hear an event, 99 of 100 within 250 ms`, async () => {
  const keys: { secret: string }[] = []
  while (keys.length < socketCount / perKey) {
    keys.push(...(await Promise.all(Array.from({ length: 10 }, () => app.newKey(person)))))
  }
  const heard = new Map<number, number[]>()
  const opening = performance.now()
  const sockets = []
  for (let from = 0; from < socketCount; from += 50) {
    const batch = Array.from({ length: 50 }, async (_, step) => {
      const index = from + step
      const url = await urlAt(index, keys[index % keys.length]?.secret ?? '')
      const socket = await openUnread(url)
      socket.on('data', (chunk) => {
        for (const [, mark] of String(chunk).matchAll(/"mark":(\d+)/g))
          heard.get(Number(mark))?.push(performance.now())
      })
      socket.resume()
      return socket
    })
    sockets.push(...(await Promise.all(batch)))
  }
  const openedMs = performance.now() - opening
  const delays: number[] = []
  for (let mark = 1; mark <= rounds; mark++) {
    const times: number[] = []
    heard.set(mark, times)
    const started = performance.now()
    expect(await publish({ mark })).toBe(2)
    await until(() => times.length === socketCount, 5000)
    delays.push(...times.map((time) => time - started))
  }
  delays.sort((a, b) => a - b)
  const at = (part: number) => (delays[Math.ceil(delays.length * part) - 1] ?? 0).toFixed(0)
  const metrics = await Promise.all(stack.apiUrls.map((url) => createCaller(url).call('GET', '/metrics')))
  const open = metrics.map(({ text }) => Number(/^guildhall_open_sockets (\d+)/m.exec(text)?.[1]))
  const rss = metrics.map(
    ({ text }) => Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1]) / 2 ** 20,
  )
  tell(
    `${open.join(' + ')} sockets opened in ${openedMs.toFixed(0)} ms, ${rss.map((mib) => mib.toFixed(0)).join(' and ')} MiB; ` +
      `${delays.length} deliveries: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms`,
  )
  expect(open).toEqual([socketCount / 2, socketCount / 2])
  expect(delays).toHaveLength(rounds * socketCount)
  expectWithin(Number(at(0.99)), 250)
  for (const socket of sockets) socket.destroy()
})

test.each([
  ['hangs', 'SIGSTOP'],
  ['dies', 'SIGKILL'],
] as const)(
  'a revoked key loses its sockets within 2 s although Redis %s at that moment',
  async (what, signal) => {
    const key = await app.newKey(person)
    const sockets = [
      await openSocket(await urlAt(0, key.secret)),
      await openSocket(await urlAt(1, key.secret)),
    ]
    const { redis } = pidsOf(stack.dir)
    if (signal === 'SIGSTOP') resume = freeze(redis)
    else process.kill(redis, signal)
    const started = performance.now()
    const answer = await app.call('DELETE', `/api/v1/keys/${key.id}`, { token: person.token })
    expect(answer.status).toBe(200)
    const answeredMs = performance.now() - started
    tell(`Redis ${what}: revoked after ${answeredMs.toFixed(0)} ms`)
    expectWithin(answeredMs, 1000)
    for (const { closed } of sockets) {
      const { code, at } = await closed
      tell(`Redis ${what}: socket closed after ${(at - started).toFixed(0)} ms`)
      expect(code).toBe(4001)
      expectWithin(at - started, 2000)
    }
    resume()
    await until(async () => (await app.call('GET', '/readyz')).body.status === 'ok', 10_000)
  },
)

test('a process that is told to stop closes its sockets with 1012 and ends well', async () => {
  const key = await app.newKey(person)
  const socket = await openSocket(await urlAt(0, key.secret))
  process.kill(pidsOf(stack.dir).api[0] ?? 0, 'SIGTERM')
  expect(await socket.closed).toMatchObject({ code: 1012, reason: 'restarting; reconnect' })
})
