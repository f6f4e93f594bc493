import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Bearer, signTicket } from '#operations/signed-url.ts'
import { appendEvents, EventWriter, type NewEvent, publishNews } from '#running/executions/event-log.ts'
import { deltaFrame } from '#streams/frames.ts'
import { makeFolder } from '../../../../stack/folder.ts'
import { startRedis } from '../../../../stack/redis.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { heldMiB } from '../../../../test/support/held-memory.ts'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin, tell } from '../../../../test/support/proof.ts'
import { atSize } from '../../../../test/support/sizes.ts'
import {
  appendNow,
  droppedStreams,
  type ExecutionRow,
  type Executions,
  finishExecution,
  message,
  openExecutions,
  openStream,
  openStreamCount,
  openStreamServer,
  openUnreadStream,
  upTo,
} from '../support/event-streams.ts'
import { createDatabase, type House, nowhere, openHouse } from '../support/house.ts'

type StreamServer = Awaited<ReturnType<typeof openStreamServer>>

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

let databaseUrl: string
let house: House
let server: StreamServer
let executions: Executions
let person: Person
let key: { id: number; secret: string }

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  server = await openStreamServer(house, { beatEveryMs: 3000 })
  executions = await openExecutions(databaseUrl)
  person = await house.newPerson()
  key = await house.newKey(person)
})

afterAll(async () => {
  await server.close()
  await executions.close()
  await house.close()
})

/** Whoever reads: the credential is the person's key, wherever the execution is. */
function bearer(execution: ExecutionRow, credentialId = key.id): Bearer {
  return { kind: 'key', credentialId, userId: person.userId, workspaceId: execution.workspaceId }
}

function addressOf(execution: ExecutionRow, at = server): string {
  return at.address(bearer(execution), execution.executionId)
}

const append = (execution: ExecutionRow, ...events: NewEvent[]) => appendNow(house, execution, events)

const finish = (execution: ExecutionRow, of = house) => finishExecution(of, execution)

test('replays, follows, and ends after the last event; live and replayed frames are the same bytes', async () => {
  const execution = await executions.insert()
  const early = await openStream(addressOf(execution))
  expect(early.status).toBe(200)
  expect(early.headers).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    'x-ratelimit-limit': expect.any(String),
  })
  await append(execution, { type: 'session.status_running', payload: {} })
  await append(execution, message('one\ntwo'), { type: 'agent.thinking', payload: {} })
  const middle = await openStream(addressOf(execution))
  await until(() => early.frames.length === 3 && middle.frames.length === 3, 2000)
  await append(execution, message('three'))
  await finish(execution)
  for (const stream of [early, middle]) {
    expect((await stream.closed).aborted).toBe(false)
    expect(stream.sequences()).toEqual(upTo(5))
  }
  const late = await openStream(addressOf(execution))
  await late.closed
  // Comments, such as heartbeats, come when they come.
  const frames = (text: string) => text.replaceAll(/^(:|retry:).*\n\n/gm, '')
  expect(frames(early.text())).toBe(frames(late.text()))
  expect(frames(middle.text())).toBe(frames(late.text()))
  expect(late.frames[1]).toEqual({
    id: 2,
    data: {
      id: expect.any(String),
      type: 'agent.message',
      sequence: 2,
      payload: { content: [{ type: 'text', text: 'one\ntwo' }] },
    },
  })
  expect(late.frames.at(-1)?.data).toMatchObject({
    type: 'session.status_idle',
    payload: { stop_reason: { type: 'end_turn' } },
  })
  await until(async () => (await openStreamCount(house)) === 0, 1000)
})

test('resumes after lastSeq or Last-Event-ID, the later of both, also beyond the end', async () => {
  const execution = await executions.insert()
  await append(execution, ...upTo(9).map((n) => message(String(n))))
  await finish(execution)
  const url = addressOf(execution)
  const read = async (query: string, headers: Record<string, string> = {}) => {
    const stream = await openStream(url + query, headers)
    await stream.closed
    return stream.sequences()
  }
  expect(await read('')).toEqual(upTo(10))
  expect(await read('&lastSeq=0')).toEqual(upTo(10))
  expect(await read('&lastSeq=7')).toEqual([8, 9, 10])
  expect(await read('', { 'last-event-id': '8' })).toEqual([9, 10])
  expect(await read('&lastSeq=2', { 'last-event-id': '9' })).toEqual([10])
  expect(await read('&lastSeq=9', { 'last-event-id': '' })).toEqual([10])
  expect(await read('&lastSeq=10')).toEqual([])
  expect(await read('&lastSeq=999999999')).toEqual([])
  for (const [query, header] of [['&lastSeq=-1'], ['&lastSeq=1e3'], ['&lastSeq=x'], ['', '0x1']] as const) {
    const refused = await openStream(url + query, header ? { 'last-event-id': header } : {})
    expect(refused.status).toBe(400)
  }
  const working = await executions.insert()
  await append(working, message('1'), message('2'))
  const ahead = await openStream(`${addressOf(working)}&lastSeq=50`)
  await append(working, message('3'))
  await until(() => ahead.frames.length > 0, 2000)
  expect(ahead.sequences()).toEqual([3])
  ahead.close()
})

test('a token that is altered, old, or of another execution, door, workspace or credential is refused', async () => {
  const execution = await executions.insert()
  const other = await executions.insert()
  const url = addressOf(execution)
  const [address = '', token = ''] = url.split('?token=')
  const ring = house.deps.config.signingKeys
  const at = async (given: string, path = address) => (await openStream(`${path}?token=${given}`)).status
  const sign = (purpose: string, age = 0, who: Bearer = bearer(execution)) =>
    signTicket(ring, purpose, who, { lifetimeMs: 60_000, now: Date.now() - age })
  const own = `execution-stream:${execution.executionId}`
  for (let index = 0; index < token.length; index++) {
    const changed = token[index] === 'A' ? 'B' : 'A'
    expect(await at(token.slice(0, index) + changed + token.slice(index + 1)), `byte ${index}`).toBe(401)
  }
  expect(await at('')).toBe(401)
  expect(await at(sign(own, 61_000))).toBe(401)
  expect(await at(sign('live-socket'))).toBe(401)
  expect(await at(token, address.replace(execution.executionId, other.executionId))).toBe(401)
  expect(await at(sign(own, 0, bearer(execution, 999_999)))).toBe(401)
  expect(await at(sign(own, 0, bearer(other)))).toBe(404)
  expect(await at(sign('execution-stream:none'), address.replace(execution.executionId, 'none'))).toBe(404)
  const refused = await openStream(`${address}?token=x`)
  await refused.closed
  expect(JSON.parse(refused.text())).toMatchObject({ error: { code: 'UNAUTHORIZED' } })
  expect(refused.headers).toHaveProperty('x-ratelimit-remaining')
  const opened = await openStream(`${address}?token=${sign(own, 55_000)}`)
  expect(opened.status).toBe(200)
  opened.close()
  expect(house.log()).not.toContain(token)
})

test('deltas reach only who asks for them, without an id, and are not replayed', async () => {
  const { database, redis, logger } = house.deps
  const execution = await executions.insert()
  const asking = await openStream(`${addressOf(execution)}&deltas=1`)
  const plain = await openStream(addressOf(execution))
  const writer = new EventWriter({ database, redis, logger }, { id: execution.id, attempt: 1 })
  writer.write({ type: 'agent.thinking', payload: {} })
  await writer.flush()
  await until(() => asking.frames.length === 1, 2000)
  for (const text of ['Hel', 'lo']) {
    writer.delta(text)
    await writer.flush()
  }
  await until(() => asking.frames.length === 3, 2000)
  writer.write(message('Hello'))
  await writer.flush()
  await until(() => asking.frames.length === 4, 2000)
  // One that comes after what it was a piece of.
  publishNews(redis, execution.id, { kind: 'deltas', after: 1, frames: deltaFrame('late') })
  await finish(execution)
  await Promise.all([asking.closed, plain.closed])
  const delta = (text: string) => ({ data: { type: 'agent.message_delta', payload: { text } } })
  expect(asking.frames.slice(1, 3)).toEqual([delta('Hel'), delta('lo')])
  expect(asking.frames).toHaveLength(5)
  expect(asking.sequences()).toEqual([1, 2, 3])
  expect(plain.frames).toHaveLength(3)
  const late = await openStream(`${addressOf(execution)}&deltas=1`)
  await late.closed
  expect(late.frames).toHaveLength(3)
})

describe('the seam between log and news', () => {
  test('readers that open at any moment of 2,000 events see each once, also while Redis dies and returns', async () => {
    const dir = await makeFolder()
    const redis = await startRedis({ dir })
    const far = await openHouse({ DATABASE_URL: databaseUrl, REDIS_URL: redis.url })
    const near = await openHouse({ DATABASE_URL: databaseUrl, REDIS_URL: redis.url })
    const reading = await openStreamServer(near)
    const execution = await executions.insert()
    const writer = new EventWriter(far.deps, { id: execution.id, attempt: 1 })
    const opening: ReturnType<typeof openStream>[] = []
    for (let count = 1; count <= 2000; count++) {
      writer.write(message(String(count)))
      if (count % 5 === 0) await wait(Math.random() * 6)
      if (Math.random() < 0.03) opening.push(openStream(addressOf(execution, reading)))
      if (count === 500 || count === 1200) process.kill(redis.pid() ?? 0, 'SIGKILL')
    }
    await writer.flush()
    await finish(execution, far)
    const streams = await Promise.all(opening)
    expect(streams.length).toBeGreaterThan(30)
    for (const stream of streams) {
      expect(stream.status).toBe(200)
      expect((await stream.closed).aborted).toBe(false)
      expect(stream.sequences()).toEqual(upTo(2001))
    }
    tell(`${streams.length} readers saw 1 to 2001 each`)
    await reading.close()
    await Promise.all([far.close(), near.close()])
    await redis.stop()
    await rm(dir, { recursive: true, force: true })
  })

  test('without Redis readers look for themselves, soon', async () => {
    const alone = await openHouse({ DATABASE_URL: databaseUrl, REDIS_URL: `redis://${nowhere}` })
    const reading = await openStreamServer(alone)
    const execution = await executions.insert()
    const stream = await openStream(addressOf(execution, reading))
    const delays = []
    for (let count = 1; count <= 5; count++) {
      await append(execution, message(String(count)))
      const started = performance.now()
      await until(() => stream.frames.length === count, 3000)
      delays.push(performance.now() - started)
    }
    tell(`without Redis an event arrives after up to ${Math.max(...delays).toFixed(0)} ms`)
    await finish(execution, alone)
    expect((await stream.closed).aborted).toBe(false)
    expect(stream.sequences()).toEqual(upTo(6))
    await reading.close()
    await alone.close()
  })

  test('news that only one side lost is found by looking', async () => {
    const execution = await executions.insert()
    const stream = await openStream(addressOf(execution))
    // Stored and not published, as by a worker that has lost Redis while this process has not.
    await appendEvents(house.deps.database, execution.id, 1, [message('1'), message('2')])
    await until(() => stream.frames.length === 2, 7000)
    await append(execution, message('3'))
    await until(() => stream.frames.length === 3, 1000)
    expect(stream.sequences()).toEqual([1, 2, 3])
    stream.close()
  })

  test('a log larger than a page, and a message larger than Redis is given, arrive whole', async () => {
    const execution = await executions.insert()
    const large = 'x'.repeat(90_000)
    await append(execution, ...upTo(700).map((n) => message(n % 100 === 0 ? large : String(n))))
    const stream = await openStream(addressOf(execution))
    await until(() => stream.frames.length === 700, 5000)
    await append(execution, message(large))
    await finish(execution)
    await stream.closed
    expect(stream.sequences()).toEqual(upTo(702))
    expect(stream.frames[700]?.data.payload.content[0].text).toBe(large)
  })
})

describe('who does not read', () => {
  test('is dropped, and resumes where it was', async () => {
    const execution = await executions.insert()
    const before = (await droppedStreams(house))['stalled'] ?? 0
    const unread = await openUnreadStream(addressOf(execution))
    const reader = await openStream(addressOf(execution))
    const filling = message('x'.repeat(60_000))
    let count = 0
    while (((await droppedStreams(house))['stalled'] ?? 0) === before && count < 600) {
      await append(execution, filling)
      count++
      if (count > 200) await wait(50)
    }
    expect((await droppedStreams(house))['stalled']).toBe(before + 1)
    await until(() => reader.frames.length === count, 5000)
    const received: Buffer[] = []
    unread.on('data', (chunk) => received.push(chunk))
    unread.resume()
    await new Promise((resolve) => unread.once('close', resolve))
    // The last frame may be cut, and counts for nothing, like for any client.
    const seen = [...String(Buffer.concat(received)).matchAll(/id: (\d+)\ndata: [^\n]*\n\n/g)].map(([, n]) =>
      Number(n),
    )
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.length).toBeLessThan(count)
    const last = seen.at(-1) ?? 0
    const resumed = await openStream(`${addressOf(execution)}&lastSeq=${last}`)
    await until(() => resumed.sequences().at(-1) === count, 5000)
    expect([...seen, ...resumed.sequences()]).toEqual(upTo(count))
    reader.close()
    resumed.close()
  })

  test('costs little: those that stall are dropped with little held for them, and others read on', async () => {
    const stalledCount = atSize(100, 500)
    const execution = await executions.insert()
    const urls = await Promise.all(
      upTo(5).map(async () => {
        const own = await house.newKey(person)
        return server.address(bearer(execution, own.id), execution.executionId)
      }),
    )
    await until(async () => (await openStreamCount(house)) === 0, 2000)
    const before = heldMiB()
    const stalled = []
    for (let round = 0; round < stalledCount / 5; round++)
      stalled.push(...(await Promise.all(urls.map((url) => server.openStalled(url)))))
    expect(await openStreamCount(house)).toBe(stalledCount)
    const opened = heldMiB()
    const reader = await openStream(addressOf(execution))
    const droppedBefore = (await droppedStreams(house))['stalled'] ?? 0
    for (let count = 0; count < 40; count++) await append(execution, message('x'.repeat(50_000)))
    await until(() => reader.frames.length === 40, 10_000)
    const grown = heldMiB() - opened
    tell(
      `${stalledCount} streams hold ${(opened - before).toFixed(1)} MiB, with 2 MB that each has not taken ${grown.toFixed(1)} MiB more`,
    )
    expect(grown, 'of 2 MiB each, were all kept').toBeLessThan(stalledCount / 5)
    const dropped = async () => ((await droppedStreams(house))['stalled'] ?? 0) - droppedBefore
    await until(async () => (await dropped()) === stalledCount, 10_000)
    expect(await openStreamCount(house)).toBe(1)
    reader.close()
    await until(async () => (await openStreamCount(house)) === 0, 5000)
  })
})

test('heartbeats come to who waits', async () => {
  const execution = await executions.insert()
  const stream = await openStream(addressOf(execution))
  await until(() => stream.remarks.includes(': heartbeat'), 4000)
  expect(stream.remarks[0]).toBe(': open')
  stream.close()
})

test.each([
  ['with Redis', undefined],
  ['without Redis', `redis://${nowhere}`],
])('%s, streams end within two seconds of their credential and others stay', async (name, redisUrl) => {
  const env = { DATABASE_URL: databaseUrl, ...(redisUrl ? { REDIS_URL: redisUrl } : {}) }
  const [near, far] = [await openHouse(env), await openHouse(env)]
  const reading = await openStreamServer(far)
  const execution = await executions.insert()
  const ending = await near.newKey(person)
  const open = (id: number) => openStream(reading.address(bearer(execution, id), execution.executionId))
  const [first, second, kept] = [await open(ending.id), await open(ending.id), await open(key.id)]
  const started = performance.now()
  expect((await near.call('DELETE', `/api/v1/keys/${ending.id}`, { token: person.token })).status).toBe(200)
  for (const stream of [first, second]) {
    const { at } = await stream.closed
    tell(`${name}: stream closed ${(at - started).toFixed(0)} ms after its key was revoked`)
    expectWithin(at - started, 2000)
  }
  expect((await open(ending.id)).status).toBe(401)
  await append(execution, message('still here'))
  await until(() => kept.frames.length === 1, 3000)
  kept.close()
  await reading.close()
  await Promise.all([near.close(), far.close()])
})

test('a process that stops ends its streams with a hint to come back, and takes no more', async () => {
  const own = await openStreamServer(house)
  const execution = await executions.insert()
  const stream = await openStream(addressOf(execution, own))
  const unread = await openUnreadStream(addressOf(execution, own))
  const started = performance.now()
  await own.close()
  expectWithin(performance.now() - started, 2500)
  expect((await stream.closed).aborted).toBe(false)
  expect(stream.remarks.at(-1)).toMatch(/^retry: \d{3,4}$/)
  unread.destroy()
})

test('the stream of an execution that is removed ends', async () => {
  const execution = await executions.insert()
  const stream = await openStream(addressOf(execution))
  await executions.client.query('delete from executions where id = $1', [execution.id])
  expect((await stream.closed).aborted).toBe(false)
})
