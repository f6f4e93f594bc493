import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signTicket } from '#operations/signed-url.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { movedTo, openSocket, socketUrl, tryUpgrade } from '../../../../test/support/sockets.ts'
import { createDatabase, type House, nowhere, openHouse } from '../support/house.ts'

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

let databaseUrl: string
let one: House
let two: House
let person: Person
let key: { id: number; secret: string }

beforeAll(async () => {
  databaseUrl = await createDatabase()
  one = await openHouse({ DATABASE_URL: databaseUrl })
  two = await openHouse({ DATABASE_URL: databaseUrl })
  person = await one.newPerson()
  key = await one.newKey(person)
})

afterAll(() => Promise.all([one.close(), two.close()]))

const stale = { type: 'cache-invalidate', keys: ['skills'], ids: [] } as const
const started = {
  type: 'execution-started',
  executionId: 'e1',
  skillSlug: 's',
  status: 'working',
} as const
const approval = { approvalId: 'a', kind: 'workflow' }

/** Waits for a mark that is published last, so that all before it has arrived or never will. */
let marks = 0
type Heard = { mark?: number; name?: string }
async function heardBy(house: House, workspaceId: string, ...sockets: { heard: Heard[] }[]) {
  const mark = ++marks
  house.bus.publish({ ...stale, workspaceId, mark })
  await until(() => sockets.every(({ heard }) => heard.some((event) => event.mark === mark)), 2000)
  return sockets.map(({ heard }) => heard.filter((event) => event.mark === undefined))
}

test('the address is a WebSocket one at the public name, good for five minutes', async () => {
  for (const credential of [{ key: key.secret }, { token: person.token }]) {
    const answer = await one.call('GET', '/api/v1/events/subscribe-url', credential)
    expect(answer.status).toBe(200)
    expect(answer.body.expiresInMs).toBe(300_000)
    expect(answer.body.url).toMatch(/^ws:\/\/house\.test\/api\/v1\/events\/socket\?token=[\w.-]+$/)
  }
  const secure = await openHouse({ DATABASE_URL: databaseUrl, PUBLIC_URL: 'https://house.test/base/' })
  const answer = await secure.call('GET', '/api/v1/events/subscribe-url', { key: key.secret })
  expect(answer.body.url).toMatch(/^wss:\/\/house\.test\/base\/api\/v1\/events\/socket\?token=/)
  await secure.close()
})

test('an event reaches the sockets of both processes once, as a bare object', async () => {
  const url = movedTo(await socketUrl(one, { key: key.secret }), two.url)
  const sockets = await Promise.all([
    openSocket(await socketUrl(one, { key: key.secret })),
    openSocket(`${url}&workspace=elsewhere&channel=approvals:x`),
    openSocket(await socketUrl(two, { token: person.token })),
  ])
  const { workspaceId } = person
  one.bus.publish({ ...started, workspaceId, id: 'mine', at: 'never' })
  for (const heard of await heardBy(one, workspaceId, ...sockets)) {
    expect(heard).toEqual([
      {
        ...started,
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        workspaceId,
        at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ])
  }
  for (const { socket } of sockets) socket.close()
  await until(async () => (await openSockets(one)) + (await openSockets(two)) === 0, 2000)
})

async function openSockets(house: House): Promise<number> {
  return (await house.deps.metrics.openSockets.get()).values[0]?.value ?? 0
}

test('workspaces and persons are apart; only approvals follow a person, and come once', async () => {
  const team = await one.newTeam(person)
  const mate = await one.newPerson()
  const inTeam = { 'x-workspace-id': team }
  await one.addMember(person, team, mate)
  const [own, teamSession, ownKey, stranger, mateInTeam] = await Promise.all([
    openSocket(await socketUrl(one, { token: person.token })),
    openSocket(await socketUrl(two, { token: person.token, headers: inTeam })),
    openSocket(await socketUrl(two, { key: key.secret })),
    openSocket(await socketUrl(one, { token: mate.token })),
    openSocket(await socketUrl(one, { token: mate.token, headers: inTeam })),
  ])
  const { userId } = person
  one.bus.publish({ type: 'approval-requested', ...approval, workspaceId: team, name: 'asked' }, { userId })
  one.bus.publish({ ...started, workspaceId: team, name: 'run' }, { userId })
  const resolved = { type: 'approval-resolved', ...approval, status: 'granted' } as const
  two.bus.publish({ ...resolved, workspaceId: person.workspaceId, name: 'own' }, { userId })
  const names = (lists: Heard[][]) => lists.map((list) => list.map(({ name }) => name).sort())
  // The marks come from both processes, because each has an order of its own.
  const inOwn = [await heardBy(one, person.workspaceId, own, ownKey)]
  inOwn.push(await heardBy(two, person.workspaceId, own, ownKey))
  await heardBy(two, team, teamSession, mateInTeam)
  const inTeamHeard = await heardBy(one, team, teamSession, mateInTeam)
  const [strangerHeard] = await heardBy(two, mate.workspaceId, stranger)
  await wait(50)
  expect(names(inOwn[1] ?? [])).toEqual([['asked', 'own'], ['own']])
  expect(names(inTeamHeard)).toEqual([
    ['asked', 'own', 'run'],
    ['asked', 'run'],
  ])
  expect(strangerHeard).toEqual([])
  for (const { socket } of [own, teamSession, ownKey, stranger, mateInTeam]) socket.close()
})

test('of twenty upgrades at two processes one is answered 101, and none after it', async () => {
  for (let round = 0; round < 5; round++) {
    const url = await socketUrl(one, { key: key.secret })
    const tries = Array.from({ length: 20 }, (_, index) =>
      tryUpgrade(movedTo(url, (index % 2 ? one : two).url)),
    )
    const statuses = (await Promise.all(tries)).map(({ status }) => status).sort()
    expect(statuses).toEqual([101, ...Array(19).fill(401)])
    expect((await tryUpgrade(url)).status).toBe(401)
  }
})

test('a token with any byte altered is refused with the usual envelope, and the true one still opens', async () => {
  const url = await socketUrl(one, { key: key.secret })
  const [address = '', token = ''] = url.split('?token=')
  for (let index = 0; index < token.length; index++) {
    const other = token[index] === 'A' ? 'B' : 'A'
    const forged = token.slice(0, index) + other + token.slice(index + 1)
    const answer = await tryUpgrade(`${address}?token=${forged}`)
    expect(answer.status, `byte ${index}`).toBe(401)
    expect(JSON.parse(answer.text).error.code).toBe('UNAUTHORIZED')
  }
  expect((await tryUpgrade(address)).status).toBe(401)
  expect((await tryUpgrade(url)).status).toBe(101)
  expect(one.log()).not.toContain(token)
})

test('too old, for another door, or of a credential that ended: refused', async () => {
  const bearer = { kind: 'key', credentialId: key.id, ...person } as const
  const ring = one.deps.config.signingKeys
  const at = (token: string) => tryUpgrade(`${one.url}/api/v1/events/socket?token=${token}`)
  const sign = (purpose: string, age: number, who: Parameters<typeof signTicket>[2] = bearer) =>
    signTicket(ring, purpose, who, { lifetimeMs: 300_000, now: Date.now() - age })
  expect((await at(sign('live-socket', 299_000))).status).toBe(101)
  expect((await at(sign('live-socket', 301_000))).status).toBe(401)
  expect((await at(sign('live-stream', 0))).status).toBe(401)
  expect((await at(sign('live-socket', 0, { ...bearer, kind: 'oauth' }))).status).toBe(401)
  const ending = await one.newKey(person)
  const expired = await one.newKey(person)
  const urls = [await socketUrl(one, { key: ending.secret }), await socketUrl(one, { key: expired.secret })]
  await one.call('DELETE', `/api/v1/keys/${ending.id}`, { token: person.token })
  await one.call('PATCH', `/api/v1/keys/${expired.id}`, {
    token: person.token,
    body: { expiresAt: '2020-01-01T00:00:00Z' },
  })
  const leaving = await one.newPerson()
  urls.push(await socketUrl(one, { token: leaving.token }))
  await one.call('POST', '/api/v1/auth/sign-out', { token: leaving.token })
  for (const url of urls) expect((await tryUpgrade(url)).status).toBe(401)
})

test('used addresses are swept an hour after their end', async () => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const count = async () => (await client.query('select count(*)::int as n from used_addresses')).rows[0].n
  const sweep = one.sweeps.find(({ table }) => table === 'used_addresses')
  expect(await count()).toBeGreaterThan(0)
  expect(await sweep?.run()).toBe(0)
  await client.query("update used_addresses set expires_at = now() - interval '61 minutes'")
  expect(await sweep?.run()).toBeGreaterThan(0)
  expect(await count()).toBe(0)
  await client.end()
})

test('a wait ends with a wake-up from any process, with its time, and with its signal', async () => {
  const never = new AbortController().signal
  const longMs = 20_000
  const timed = async (waiting: Promise<void>) => {
    const started = performance.now()
    await waiting
    return performance.now() - started
  }
  const woken = [timed(one.bus.wait('c', never, longMs)), timed(two.bus.wait('c', never, longMs))]
  await wait(50)
  one.bus.wake('c')
  for (const ms of await Promise.all(woken)) expectWithin(ms, 500, 'the word', longMs)
  expect(await timed(one.bus.wait('c', never, 100))).toBeGreaterThan(90)
  const aborted = (signal: AbortSignal) => timed(one.bus.wait('c', signal, longMs))
  expectWithin(await aborted(AbortSignal.timeout(30)), 500, 'the signal', longMs)
  expectWithin(await aborted(AbortSignal.abort()), 50, 'the signal', longMs)
  const subscribed = await one.deps.redis.attempt((redis) => redis.pubsub('NUMSUB', 'live:c'))
  expect(subscribed).toEqual(['live:c', 0])
})

test('without Redis a process tells its own sockets, once, and wakes its own waits', async () => {
  const alone = await openHouse({ DATABASE_URL: databaseUrl, REDIS_URL: `redis://${nowhere}` })
  const opened = await openSocket(await socketUrl(alone, { key: key.secret }))
  alone.bus.publish({ ...stale, workspaceId: person.workspaceId, name: 'local' })
  const [heard] = await heardBy(alone, person.workspaceId, opened)
  expect(heard).toHaveLength(1)
  const waiting = alone.bus.wait('c', new AbortController().signal, 5000)
  alone.bus.wake('c')
  await waiting
  const url = await socketUrl(alone, { key: key.secret })
  const statuses = await Promise.all([tryUpgrade(url), tryUpgrade(movedTo(url, two.url))])
  expect(statuses.map(({ status }) => status).sort()).toEqual([101, 401])
  await alone.close()
})
