import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serveSockets } from '#transports/http/socket.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { heldMiB, residentMiB } from '../../../../test/support/held-memory.ts'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin, tell } from '../../../../test/support/proof.ts'
import { atSize, isProof } from '../../../../test/support/sizes.ts'
import { openSocket, openUnread, socketUrl, tryUpgrade } from '../../../../test/support/sockets.ts'
import { createDatabase, type House, nowhere, openHouse } from '../support/house.ts'

const stale = { type: 'cache-invalidate', keys: ['skills'], ids: [] } as const
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

let databaseUrl: string
let one: House
let two: House
let person: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  one = await openHouse({ DATABASE_URL: databaseUrl })
  two = await openHouse({ DATABASE_URL: databaseUrl })
  person = await one.newPerson()
})

afterAll(() => Promise.all([one.close(), two.close()]))

async function dropped(house: House): Promise<Record<string, number>> {
  const { values } = await house.deps.metrics.droppedSockets.get()
  return Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]))
}

describe.each([
  ['with Redis', undefined],
  ['without Redis', `redis://${nowhere}`],
])('%s', (name, redisUrl) => {
  let near: House
  let far: House

  beforeAll(async () => {
    const env = { DATABASE_URL: databaseUrl, ...(redisUrl ? { REDIS_URL: redisUrl } : {}) }
    near = await openHouse(env)
    far = await openHouse(env)
  })

  afterAll(() => Promise.all([near.close(), far.close()]))

  test('sockets end within two seconds of their credential, in every process, and others stay', async () => {
    const key = await near.newKey(person)
    const kept = await near.newKey(person)
    const leaving = await near.newPerson()
    const team = await near.newTeam(person)
    const inTeam = { 'x-workspace-id': team }
    const removed = await near.newPerson()
    await near.addMember(person, team, removed)
    const open = async (credential: Parameters<typeof socketUrl>[1]) => [
      await openSocket(await socketUrl(near, credential)),
      await openSocket(await socketUrl(far, credential)),
    ]
    const ending = {
      key: await open({ key: key.secret }),
      session: await open({ token: leaving.token }),
      member: await open({ token: removed.token, headers: inTeam }),
    }
    const staying = [
      ...(await open({ key: kept.secret })),
      ...(await open({ token: removed.token })),
      ...(await open({ token: person.token })),
    ]
    const signOut = () => near.call('POST', '/api/v1/auth/sign-out', { token: leaving.token })
    const ends = {
      key: () => near.call('DELETE', `/api/v1/keys/${key.id}`, { token: person.token }),
      session: signOut,
      member: () =>
        near.call('DELETE', `/api/v1/workspaces/current/members/${removed.userId}`, {
          token: person.token,
          headers: inTeam,
        }),
    }
    for (const what of ['key', 'session', 'member'] as const) {
      const started = performance.now()
      expect((await ends[what]()).status).toBe(200)
      for (const socket of ending[what]) {
        const { code, reason, at } = await socket.closed
        expect({ code, reason }).toEqual({ code: 4001, reason: 'credential ended' })
        tell(`${name}: ${what} ended, socket closed after ${(at - started).toFixed(0)} ms`)
        expectWithin(at - started, redisUrl ? 2000 : 1000)
      }
    }
    // A key whose expiry is set to later is announced like one that ended, and is none.
    const later = { expiresAt: '2099-01-01T00:00:00Z' }
    await near.call('PATCH', `/api/v1/keys/${kept.id}`, { token: person.token, body: later })
    await wait(300)
    for (const { socket } of staying) {
      expect(socket.readyState).toBe(WebSocket.OPEN)
      socket.close()
    }
  })
})

test('the word is heard again after the connection to Redis was cut', async () => {
  const key = await one.newKey(person)
  const socket = await openSocket(await socketUrl(two, { key: key.secret }))
  await one.deps.redis.attempt((redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub'))
  await until(() => !two.deps.redis.hearing, 2000)
  await until(() => one.deps.redis.hearing && two.deps.redis.hearing, 3000)
  one.bus.publish({ ...stale, workspaceId: person.workspaceId })
  await until(() => socket.heard.length === 1, 1000)
  await one.call('DELETE', `/api/v1/keys/${key.id}`, { token: person.token })
  expect((await socket.closed).code).toBe(4001)
})

test('the oldest of more than twenty sockets of a credential is closed', async () => {
  const { secret } = await one.newKey(person)
  const sockets = []
  for (let count = 0; count < 21; count++)
    sockets.push(await openSocket(await socketUrl(one, { key: secret })))
  expect((await sockets[0]?.closed)?.code).toBe(4008)
  await wait(50)
  expect(sockets.slice(1).every(({ socket }) => socket.readyState === WebSocket.OPEN)).toBe(true)
  for (const { socket } of sockets) socket.close()
})

test('messages are ignored, and one over 4 KiB ends the socket', async () => {
  const { secret } = await one.newKey(person)
  const { socket, closed } = await openSocket(await socketUrl(one, { key: secret }))
  for (let count = 0; count < 100; count++) socket.send('x'.repeat(4096))
  await wait(100)
  expect(socket.readyState).toBe(WebSocket.OPEN)
  socket.send('x'.repeat(4097))
  expect((await closed).code).toBe(1009)
  expect(await dropped(one)).toMatchObject({ broken: 1 })
})

test('readers that stall are dropped with little kept for them, and others hear everything', async () => {
  const stalledCount = atSize(60, 300)
  const keys = await Promise.all(Array.from({ length: stalledCount / 20 }, () => one.newKey(person)))
  const stalled = []
  for (const { secret } of keys) {
    const urls = await Promise.all(Array.from({ length: 20 }, () => socketUrl(one, { key: secret })))
    stalled.push(...(await Promise.all(urls.map(openUnread))))
  }
  expect(stalled).toHaveLength(stalledCount)
  const reader = await openSocket(await socketUrl(one, { token: person.token }))
  // What is kept is asked for, not what the tests before this one and the loop itself left to be collected.
  const heldBefore = heldMiB()
  const before = isProof ? residentMiB() : heldBefore
  let peak = before
  const filling = 'x'.repeat(16 * 1024)
  let published = 0
  while (((await dropped(one)).stalled ?? 0) < stalledCount && published < 2000) {
    one.bus.publish({ ...stale, workspaceId: person.workspaceId, filling })
    published++
    await new Promise(setImmediate)
    const held = published % 25 === 0 ? heldMiB() : 0
    peak = Math.max(peak, isProof ? residentMiB() : held)
  }
  await until(() => reader.heard.length === published, 10_000)
  const grownMiB = peak - before
  tell(
    `${stalledCount} stalled: dropped after ${published} events of 16 KiB, grown ${grownMiB.toFixed(0)} MiB`,
  )
  expect(await dropped(one)).toMatchObject({ stalled: stalledCount })
  // What every socket may have waiting, were it kept for each, would be a MiB of each.
  expect(grownMiB).toBeLessThan(stalledCount / 2)
  for (const socket of stalled) socket.destroy()
  reader.socket.close()
})

test('who answers no ping for two rounds is dropped, who answers stays', async () => {
  const server = createServer()
  const admission = { credential: 'key:1', opened: () => {}, closed: () => {} }
  const door = { path: '/socket', admit: async () => admission }
  const sockets = serveSockets(server, one.deps, door, { pingEveryMs: 100 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/socket`
  const silentBefore = (await dropped(one)).silent ?? 0
  const answering = await openSocket(url)
  const silent = await openUnread(url)
  const started = performance.now()
  await until(async () => ((await dropped(one)).silent ?? 0) === silentBefore + 1, 2000)
  expect(performance.now() - started).toBeGreaterThan(200)
  await wait(500)
  expect(answering.socket.readyState).toBe(WebSocket.OPEN)
  silent.destroy()
  await sockets.close()
  server.close()
})

test('beats are told to who asks for them, beside the pings, and to nobody else', async () => {
  const server = createServer()
  const door = {
    path: '/socket',
    admit: async () => ({ credential: 'key:1', opened: () => {}, closed: () => {} }),
  }
  const sockets = serveSockets(server, one.deps, door, { pingEveryMs: 100 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/socket`
  const heard = async (query: string) => {
    const said: string[] = []
    const socket = new WebSocket(url + query)
    socket.addEventListener('message', ({ data }) => said.push(String(data)))
    await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }))
    return { socket, said }
  }
  const wants = await heard('?token=x&beats=1')
  const others = await Promise.all(['?token=x', '?token=x&beats=0', '?token=x&beats=true'].map(heard))
  await until(() => wants.said.length >= 3, 5000)
  expect(new Set(wants.said)).toEqual(new Set(['{"type":"beat"}']))
  expect(others.map(({ said }) => said)).toEqual([[], [], []])
  for (const { socket } of [wants, ...others]) socket.close()
  await sockets.close()
  server.close()
})

test('a process that stops says so, waits for nobody who does not answer, and admits no more', async () => {
  const house = await openHouse({ DATABASE_URL: databaseUrl })
  const { secret } = await house.newKey(person)
  const socket = await openSocket(await socketUrl(house, { key: secret }))
  const unread = await openUnread(await socketUrl(house, { key: secret }))
  const late = await socketUrl(house, { key: secret })
  const started = performance.now()
  const closing = house.close()
  const refused = await tryUpgrade(late).catch(() => ({ status: 0 }))
  expect([0, 503]).toContain(refused.status)
  expect(await socket.closed).toMatchObject({ code: 1012, reason: 'restarting; reconnect' })
  await closing
  expectWithin(performance.now() - started, 2500)
  unread.destroy()
})

test('without PostgreSQL an upgrade is answered 503', async () => {
  const house = await openHouse({ DATABASE_URL: `postgres://x@${nowhere}/none` })
  await until(() => !house.deps.database.available, 3000)
  const answer = await tryUpgrade(`${house.url}/api/v1/events/socket?token=x`)
  expect(answer).toMatchObject({ status: 503, retryAfter: '1' })
  await house.close()
})

test('an offer to upgrade any other route is declined by serving it', async () => {
  expect((await tryUpgrade(`${one.url}/healthz`)).status).toBe(200)
  expect((await tryUpgrade(`${one.url}/api/v1/nowhere`)).status).toBe(404)
})
