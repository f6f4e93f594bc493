import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { openExecutions } from '../support/event-streams.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { redisUrl } from '../support/redis.ts'

let house: House
let person: Person
let executions: Awaited<ReturnType<typeof openExecutions>>

// Every window is of another size, so that the headers tell which one is described.
const limits = {
  rest: 40,
  refused: 9,
  poll: 8,
  token: 7,
  stream: 6,
  skillRun: 5,
  activate: 4,
  activationPoll: 3,
  codeMisses: 2,
}

beforeAll(async () => {
  const databaseUrl = await createDatabase()
  house = await openHouse({
    DATABASE_URL: databaseUrl,
    // A Redis database of its own, so that no other test has used this address's windows.
    REDIS_URL: `${redisUrl()}/7`,
    LIMITS: Object.entries(limits)
      .map(([name, max]) => `${name}=${max}/60`)
      .join(','),
  })
  executions = await openExecutions(databaseUrl)
  person = await house.newPerson()
})

afterAll(async () => {
  await executions.close()
  await house.close()
})

const windowOf = ({ headers }: Answer) => [
  Number(headers.get('x-ratelimit-limit')),
  Number(headers.get('x-ratelimit-remaining')),
]

/** Asks until it is refused; how many were let through, and the refusal. */
async function exhaust(ask: () => Promise<Answer>): Promise<{ served: number; refused: Answer }> {
  for (let served = 0; ; served++) {
    const answer = await ask()
    if (answer.status === 429) return { served, refused: answer }
    if (served > 100) throw new Error('There is no end to it')
  }
}

function expectFull({ headers }: Answer, limit: number): void {
  expect(headers.get('x-ratelimit-limit')).toBe(String(limit))
  expect(headers.get('x-ratelimit-remaining')).toBe('0')
  expect(headers.get('x-ratelimit-reset')).toBe(headers.get('retry-after'))
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
}

const withJunk = () => house.call('GET', '/api/v1/workspaces', { key: 'junk' })
const pollFor = (deviceCode: string) =>
  house.call('POST', '/api/v1/activate/poll', { body: { device_code: deviceCode } })
const token = () => house.call('POST', '/oauth/token', { body: { grant_type: 'refresh_token' } })

test('one client at an address spends no window but the one of what it does', async () => {
  expect(await exhaust(withJunk)).toMatchObject({ served: limits.refused })
  expect(await exhaust(token)).toMatchObject({ served: limits.token })
  expect(await exhaust(() => pollFor(randomUUID()))).toMatchObject({ served: limits.poll })
  // Others at the same address: with a credential, and without one.
  expect(windowOf(await house.call('GET', '/api/v1/workspaces', { token: person.token }))).toEqual([40, 39])
  const seen = await house.call('GET', '/api/v1/meta')
  expect(seen.status).toBe(200)
  expect(windowOf(seen)[0]).toBe(limits.rest)
  expectFull(await withJunk(), limits.refused)
  expectFull(await token(), limits.token)
  expectFull(await pollFor(randomUUID()), limits.poll)
})

test('a refusal describes the window that refused, not the first one', async () => {
  const another = await house.newPerson()
  const run = () =>
    house.call('POST', '/api/v1/skills/none/run', { token: another.token, body: { input: 'x' } })
  const first = await run()
  expect([first.status, ...windowOf(first)]).toEqual([404, 40, 39])
  const { served, refused } = await exhaust(run)
  expect(served).toBe(limits.skillRun - 1)
  expectFull(refused, limits.skillRun)
  const { refused: started } = await exhaust(() => house.call('POST', '/api/v1/activate'))
  expectFull(started, limits.activate)
  const guess = () =>
    house.call('POST', '/api/v1/activate/deny', { token: another.token, body: { code: 'ABCD-EFGH' } })
  expectFull((await exhaust(guess)).refused, limits.codeMisses)
})

test('a credential that may not run skills takes no start from the person it belongs to', async () => {
  const another = await house.newPerson()
  const run = (credential: object) =>
    house.call('POST', '/api/v1/skills/none/run', { ...credential, body: { input: 'x' } })
  const [narrow, undeclared] = [
    await house.newKey(another, { scopes: ['agent:list'] }),
    await house.newKey(another, { access: 'declared' }),
  ]
  for (const { secret } of [narrow, undeclared]) {
    for (let asked = 0; asked <= limits.skillRun; asked++)
      expect((await run({ key: secret })).status).toBe(403)
  }
  const { served, refused } = await exhaust(() => run({ token: another.token }))
  expect(served).toBe(limits.skillRun)
  expectFull(refused, limits.skillRun)
})

test('a signed stream counts against the credential that got its address, and a forged one as refused', async () => {
  const owner = await house.newPerson()
  const execution = await executions.insert({ workspaceId: owner.workspaceId, status: 'completed' })
  const streamToken = `/api/v1/executions/${execution.executionId}/stream-token`
  const open = async (credential: { token: string } | { key: string }) => {
    const { body } = await house.call('GET', streamToken, credential)
    const { pathname, search } = new URL(body.sseUrl)
    const response = await fetch(house.url + pathname + search)
    await response.body?.cancel()
    return response
  }
  const first = await open(owner)
  expect([first.status, first.headers.get('x-ratelimit-limit')]).toEqual([200, String(limits.stream)])
  for (let opened = 1; opened < limits.stream; opened++) expect((await open(owner)).status).toBe(200)
  const refused = await open(owner)
  expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toEqual([429, String(limits.stream)])
  // The credential goes on with everything else, and its owner's other credentials with streams.
  const { secret } = await house.newKey(owner)
  expect((await open({ key: secret })).headers.get('x-ratelimit-remaining')).toBe(String(limits.stream - 1))
  const forged = await fetch(`${house.url}/api/v1/executions/${execution.executionId}/stream?token=forged`)
  expect(forged.headers.get('x-ratelimit-limit')).toBe(String(limits.refused))
})

test('whose window is full is refused before the body is read', async () => {
  await exhaust(() => pollFor(randomUUID()))
  const headers = { 'content-type': 'application/json', 'content-length': 100 }
  const sent = request(`${house.url}/api/v1/activate/poll`, { method: 'POST', headers })
  const status = await new Promise((resolve, reject) => {
    sent.on('response', (response) => resolve(response.statusCode)).on('error', reject)
    // Nothing of the hundred bytes ever comes.
    sent.flushHeaders()
  })
  sent.destroy()
  expect(status).toBe(429)
})
