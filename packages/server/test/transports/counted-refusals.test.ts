import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, type House, openHouse } from '../support/house.ts'

const origin = 'https://app.test'
let house: House

beforeAll(async () => {
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    LIMITS: 'rest=1000/60,refused=3/60,preflight=2/60',
    TRUSTED_PROXIES: '127.0.0.1',
    CORS_ORIGINS: origin,
  })
})

afterAll(() => house.close())

interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** What comes back for a request that no client would send. */
async function raw(...lines: string[]): Promise<RawAnswer> {
  const socket = connect(Number(new URL(house.url).port), '127.0.0.1')
  let said = ''
  socket.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  socket.on('error', () => {})
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  await once(socket, 'close')
  const [head = '', body = ''] = said.split('\r\n\r\n', 2)
  const [first = '', ...headers] = head.split('\r\n')
  return {
    status: Number(first.split(' ')[1]),
    headers: Object.fromEntries(headers.map((line) => line.split(': ', 2))),
    body: JSON.parse(body),
  }
}

const upgrade = (from: string, ...more: string[]) =>
  raw(
    'GET /api/v1/events/socket?token=none HTTP/1.1',
    'host: a',
    'connection: upgrade',
    'upgrade: websocket',
    `x-forwarded-for: ${from}`,
    ...more,
  )
const handshake = ['sec-websocket-version: 13', 'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==']

const windowOf = ({ headers }: RawAnswer) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]))
const seconds = expect.toSatisfy((value: number) => value > 0 && value <= 60)

describe('what is refused before the framework sees it is counted, and told its window', () => {
  test('a socket, by the address of the client and not of the proxy', async () => {
    for (const remaining of [2, 1, 0]) {
      const answer = await upgrade('10.0.0.1', ...handshake)
      expect(answer).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } })
      expect(windowOf(answer)).toEqual([3, remaining, seconds])
    }
    const late = await upgrade('10.0.0.1', ...handshake)
    expect(late).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMITED' } } })
    expect(windowOf(late)).toEqual([3, 0, seconds])
    expect(late.headers['retry-after']).toMatch(/^\d+$/)
    // The same window as that of any other credential that is none, and of nobody else.
    const visit = (from: string) =>
      house.call('GET', '/api/v1/keys', { headers: { 'x-forwarded-for': from } })
    expect((await visit('10.0.0.1')).status).toBe(429)
    expect((await visit('10.0.0.2')).status).toBe(401)
  })

  test('headers that are too large, and what is no request', async () => {
    for (const lines of [
      ['GET /api/v1/meta HTTP/1.1', 'host: a', `x-large: ${'x'.repeat(20_000)}`],
      ['NONSENSE'],
    ]) {
      const answer = await raw(...lines)
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INVALID_INPUT' } } })
      expect(windowOf(answer)).toEqual([3, expect.any(Number), seconds])
    }
    await raw('NONSENSE')
    expect(await raw('NONSENSE')).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMITED' } } })
  })
})

test('a preflight has a window of its own', async () => {
  const preflight = () =>
    house.call('OPTIONS', '/api/v1/keys', {
      headers: { origin, 'access-control-request-method': 'GET', 'x-forwarded-for': '10.0.0.9' },
    })
  for (const remaining of ['1', '0']) {
    const { status, headers } = await preflight()
    expect(status).toBe(204)
    expect(headers.get('x-ratelimit-remaining')).toBe(remaining)
    expect(headers.get('x-ratelimit-reset')).toMatch(/^\d+$/)
  }
  expect((await preflight()).status).toBe(429)
})

test('too many requests that wait for a person are a window too', async () => {
  const person = await house.newPerson()
  const { secret } = await house.newKey(person, { scopes: ['agent:list'] })
  const scopes = ['profile:read', 'memory:read', 'billing:read', 'profile:search', 'workspace:files:read']
  const ask = (scope: string, reason: string) =>
    house.call('POST', '/api/v1/agents/request-permission', { key: secret, body: { scope, reason } })
  for (const scope of scopes) expect((await ask(scope, 'Once')).status).toBe(202)
  const { status, headers } = await ask('profile:read', 'Once more')
  expect(status).toBe(429)
  expect(headers.get('x-ratelimit-limit')).toBe('5')
  expect(headers.get('x-ratelimit-remaining')).toBe('0')
  const reset = Number(headers.get('x-ratelimit-reset'))
  expect(reset).toBeGreaterThan(500)
  expect(reset).toBeLessThanOrEqual(600)
})
