import { beforeAll, describe, expect, test } from 'vitest'
import {
  type Key,
  modes,
  newKey,
  newPerson,
  newVisitor,
  type Person,
  startPairing,
} from './support/actors.ts'
import { type Answer, type Caller, ownAddresses } from './support/client.ts'
import { letWindowsPass } from './support/rate-windows.ts'
import {
  type ErrorBody,
  expectRateHeaders,
  expectRefusal,
  remaining,
  resetSeconds,
} from './support/shapes.ts'
import { verifies } from './verifies.ts'

const windowMax = 100

function burst(caller: Caller, count: number): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, () => caller.get('/workspaces')))
}

describe('a credential whose window is spent', () => {
  let person: Person
  let spent: Key
  let served: Answer[]
  let refused: Answer

  beforeAll(async () => {
    person = await newPerson()
    spent = await newKey(person)
    served = await burst(spent, windowMax)
    refused = await spent.get('/workspaces')
  })

  test('got a hundred requests and not one more', () => {
    verifies('rate-limit:rest:100-per-minute')
    expect(served.map(({ status }) => status)).toEqual(Array(windowMax).fill(200))
    expect(refused.status).toBe(429)
  })

  test('saw its remaining requests fall one by one to zero', async () => {
    verifies('rate-limit:header:remaining')
    const seen = served.map(remaining).sort((a, b) => b - a)
    expect(seen).toEqual(Array.from({ length: windowMax }, (_, index) => windowMax - 1 - index))
    expect(remaining(refused)).toBe(0)
    expect(remaining(await spent.get('/workspaces'))).toBe(0)
  })

  test('is told so in the body, and when to come back', () => {
    verifies('rate-limit:exceeded:body')
    expect(refused.headers['content-type']).toMatch(/^application\/json/)
    expect(refused.headers['retry-after']).toMatch(/^\d+$/)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
    expect(refused.body).toEqual({
      error: { type: 'rate_limit_error', code: 'RATE_LIMITED', message: expect.stringMatching(/\S/) },
    })
  })

  test('does not spend that of another key or of the session', async () => {
    verifies('rate-limit:identity:per-credential')
    const machine = newVisitor()
    const by = (header: string, secret: string) =>
      machine.get('/workspaces', { headers: { [header]: secret } })
    const { secret } = await newKey(person)
    expect((await by('x-api-key', spent.secret)).status).toBe(429)
    const first = await by('x-api-key', secret)
    expect([first.status, remaining(first)]).toEqual([200, 99])
    const [before, after] = [await by('x-auth-token', person.token), await by('x-auth-token', person.token)]
    expect([before.status, after.status]).toEqual([200, 200])
    expect(remaining(before) - remaining(after)).toBe(1)
    expect(remaining(await by('x-api-key', secret))).toBe(98)
  })

  test('cannot get round it by another address', async () => {
    verifies('rate-limit:identity:per-credential')
    const elsewhere = newVisitor()
    const answer = await elsewhere.get('/workspaces', { headers: { 'x-api-key': spent.secret } })
    expectRefusal(answer, 429, 'RATE_LIMITED')
  })
})

test.each(modes)('the limit is a hundred for a key of %s', async (mode) => {
  verifies('rate-limit:rest:100-per-minute')
  const key = await newKey(await newPerson({ mode }))
  expect((await key.get('/workspaces')).headers['x-ratelimit-limit']).toBe('100')
})

test('remaining falls with every request of a credential, refused ones too', async () => {
  verifies('rate-limit:header:remaining')
  const person = await newPerson()
  const answers = [
    await person.get('/workspaces'),
    await person.post('/workspaces', {}),
    await person.patch('/keys/999999999', { label: 'None' }),
    await person.get('/workspaces'),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 400, 404, 200])
  expect(answers.map(remaining)).toEqual([99, 98, 97, 96])
})

test('remaining falls also when a session is refused a workspace', async () => {
  verifies('rate-limit:header:remaining')
  const [person, other] = [await newPerson(), await newPerson()]
  const answers = [
    await person.get('/workspaces'),
    await person.get('/workspaces', { headers: { 'x-workspace-id': other.workspaceId } }),
    await person.get('/workspaces'),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 403, 200])
  expect(answers.map(remaining)).toEqual([99, 98, 97])
})

test('reset is the seconds left and falls', async () => {
  verifies('rate-limit:header:reset-seconds')
  const key = await newKey(await newPerson())
  const first = resetSeconds(await key.get('/workspaces'))
  await letWindowsPass(20_000)
  const later = resetSeconds(await key.get('/workspaces'))
  for (const seconds of [first, later]) {
    expect(Number.isInteger(seconds)).toBe(true)
    expect(seconds).toBeGreaterThanOrEqual(0)
    expect(seconds).toBeLessThanOrEqual(60)
  }
  expect(first).toBeGreaterThanOrEqual(59)
  // And as much as the machine took beside it.
  expect(first - later).toBeGreaterThanOrEqual(20)
  expect(first - later).toBeLessThanOrEqual(30)
})

test('the window slides: each request leaves it 60 s after it was made', async () => {
  verifies('rate-limit:window:sliding', 'rate-limit:exceeded:recovers')
  const key = await newKey(await newPerson())
  expect((await key.get('/workspaces')).status).toBe(200)
  await letWindowsPass(20_000)
  expect((await burst(key, windowMax - 1)).map(({ status }) => status)).toEqual(Array(99).fill(200))
  const refused = await key.get('/workspaces')
  expect(refused.status).toBe(429)
  expect(resetSeconds(refused)).toBeLessThanOrEqual(41)
  await letWindowsPass(resetSeconds(refused) * 1000)
  expect((await key.get('/workspaces')).status).toBe(200)
  // Only the lone first request has left; a window that started anew would have room for 99 more.
  const next = await key.get('/workspaces')
  expectRefusal(next, 429, 'RATE_LIMITED')
  expect(resetSeconds(next)).toBeLessThanOrEqual(35)
}, 150_000)

describe('calls without a credential', () => {
  test('share a window per address, apart from that of any credential', async () => {
    verifies('rate-limit:identity:public-per-ip')
    const person = await newPerson()
    const key = await newKey(person)
    const visitor = newVisitor()
    const withKey = { headers: { 'x-api-key': key.secret } }
    const first = remaining(await visitor.get('/meta'))
    const answers = [
      await visitor.get('/auth/providers'),
      await visitor.post('/keys/report-leak', { key: 'junk' }),
    ]
    expect(answers.map(remaining)).toEqual([first - 1, first - 2])
    expect(remaining(await visitor.get('/workspaces', withKey))).toBe(99)
    expect(remaining(await visitor.get('/meta'))).toBe(first - 3)
    if (ownAddresses) {
      expect(first).toBe(99)
      expect(remaining(await newVisitor().get('/meta'))).toBe(99)
    }
  })

  test('that are refused, poll or ask for tokens leave that window alone', async () => {
    verifies('rate-limit:identity:public-per-ip')
    const visitor = newVisitor()
    const first = remaining(await visitor.get('/meta'))
    const others = [
      await visitor.get('/workspaces'),
      await visitor.get('/workspaces', { headers: { 'x-api-key': 'junk' } }),
      await visitor.post('/activate/poll', { device_code: 'never-issued' }),
    ]
    for (const answer of others) expectRateHeaders(answer)
    expect(remaining(await visitor.get('/meta'))).toBe(first - 1)
  })

  test('are not believed what they say of their address', async () => {
    verifies('rate-limit:identity:forwarded-for')
    const visitor = newVisitor()
    const claiming = (address: string) => ({ headers: { 'x-forwarded-for': address }, impatient: true })
    const before = remaining(await visitor.get('/meta', claiming('203.0.113.1')))
    const after = remaining(await visitor.get('/meta', claiming('203.0.113.2')))
    expect(before - after).toBe(1)
    await startPairing(claiming('203.0.113.3').headers, visitor)
    const second = await visitor.post('/activate', undefined, claiming('203.0.113.4'))
    expectRefusal(second, 429, 'RATE_LIMITED')
  })
})

describe('the three headers', () => {
  test('are on answers of every status', async () => {
    verifies('rate-limit:header:rest-responses')
    const person = await newPerson()
    const key = await newKey(person)
    const visitor = newVisitor()
    const { client } = await startPairing()
    const tooSoon = await client.post('/activate', undefined, { impatient: true })
    const answers: [status: number, answer: Answer][] = [
      [200, await person.get('/workspaces')],
      [200, await key.get('/workspaces')],
      [201, await person.post('/workspaces', { name: 'Team' })],
      [400, await person.post('/workspaces', {})],
      [
        400,
        await person.send('POST', '/keys', { rawBody: '{', headers: { 'content-type': 'application/json' } }),
      ],
      [
        400,
        await person.send('POST', '/keys', { rawBody: 'a=b', headers: { 'content-type': 'text/plain' } }),
      ],
      [401, await visitor.get('/workspaces')],
      [401, await visitor.get('/workspaces', { headers: { 'x-api-key': 'junk' } })],
      [403, await key.get('/keys')],
      [404, await person.patch('/keys/999999999', { label: 'None' })],
      [404, await visitor.get('/nope')],
      [404, await person.get('/nope')],
      [404, await visitor.put('/meta', {})],
      [409, await key.put('/workspaces/current', { workspaceId: 'another' })],
      [429, tooSoon],
      [200, await visitor.get('/meta')],
      [302, await visitor.get('/auth/start')],
    ]
    for (const [status, answer] of answers) {
      expect([answer.status, answer.text]).toEqual([status, answer.text])
      expectRateHeaders(answer)
    }
  })

  test('are on the refusal of a path that cannot be read', async () => {
    verifies('rate-limit:header:rest-responses')
    const answer = await newVisitor().get<ErrorBody>('/keys/%zz')
    expect(answer.status).toBe(400)
    expectRateHeaders(answer)
  })
})
