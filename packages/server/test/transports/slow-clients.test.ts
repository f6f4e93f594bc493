import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endSlowClients } from '#transports/http/slow-clients.ts'
import { WatchedResponse } from '#transports/http/watched-response.ts'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

const mebibyte = 1024 * 1024
const waitMs = 30_000
let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    BODY_MS: '1000',
    HELD_BYTES_PER_CREDENTIAL: String(3 * mebibyte),
  })
  person = await house.newPerson()
})

afterAll(() => house.close())

/** A connection of one's own, and everything that came over it until the other side closed it. */
function dial(url: string): { socket: Socket; said(): string; closed: Promise<string> } {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let said = ''
  socket.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  socket.on('error', () => {})
  return { socket, said: () => said, closed: once(socket, 'close').then(() => said) }
}

const head = (path: string, ...headers: string[]) =>
  [`POST /api/v1${path} HTTP/1.1`, 'host: a', `x-auth-token: ${person.token}`, ...headers, '', ''].join(
    '\r\n',
  )

describe('who does not go on sending is told so, and the connection is closed', () => {
  test('after nothing at all, or half of the headers', async () => {
    const impatient = await openHouse({ DATABASE_URL: await createDatabase(), HEADERS_MS: '500' })
    for (const begun of ['', 'GET /api/v1/meta HTTP/1.1\r\nhost: a\r\n']) {
      const { socket, closed } = dial(impatient.url)
      socket.write(begun)
      expect(await closed).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"INVALID_INPUT"/)
    }
    await impatient.close()
  })

  test.each([
    ['a body of a known size', '/agents', ['content-type: application/json', 'content-length: 100'], '{'],
    [
      'a body of unknown size',
      '/agents',
      ['content-type: application/json', 'transfer-encoding: chunked'],
      '1\r\n{\r\n',
    ],
    [
      'a form',
      '/artifacts',
      ['content-type: multipart/form-data; boundary=x', 'content-length: 1000'],
      '--x\r\n',
    ],
    [
      'a form of an app',
      '/../../oauth/token',
      ['content-type: application/x-www-form-urlencoded', 'content-length: 1000'],
      'a=',
    ],
  ])('within %s', async (_what, path, headers, begun) => {
    const { socket, closed } = dial(house.url)
    socket.write(head(path, ...headers).replace('/api/v1/../..', '') + begun)
    const answer = await closed
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer.toLowerCase()).toContain('connection: close')
  })

  test('also while a refusal has been answered already, and the rest is only thrown away', async () => {
    const { socket, said, closed } = dial(house.url)
    socket.write(head('/agents', 'content-type: application/json', 'content-length: 900000000'))
    await until(() => said() !== '', waitMs)
    expect(said()).toMatch(/^HTTP\/1\.1 400 [\s\S]*"limit":/)
    await closed
  })

  test('also when it was refused for what has come of it', async () => {
    const { socket, said, closed } = dial(house.url)
    const many = `[${'1,'.repeat(9000)}`
    socket.write(head('/agents', 'content-type: application/json', 'content-length: 50000') + many)
    await until(() => said() !== '', waitMs)
    expect(said()).toMatch(/^HTTP\/1\.1 400 [\s\S]*"limit":5000/)
    await closed
  })
})

const long = 'x'.repeat(250_000)

test.each([
  ['is of no type that is read', '/agents', 'text/plain', long],
  ['is a form where none is read', '/agents', 'multipart/form-data', long],
  ['is a form that is none', '/artifacts', 'multipart/form-data', long],
  ['is a form of no parts', '/artifacts', 'multipart/form-data; boundary=x', long],
  ['is no JSON', '/agents', 'application/json', long],
  ['has too many values', '/agents', 'application/json', `[${'1,'.repeat(100_000)}1]`],
  ['is for nobody', '/nothing', 'application/json', long],
])('whose body %s is served on over the same connection', async (_what, path, type, body) => {
  // Whether the rest of it is there before the refusal is written, chance decides.
  const connections = Array.from({ length: 8 }, () => dial(house.url))
  await Promise.all(
    connections.map(async ({ socket, said }) => {
      socket.write(head(path, `content-type: ${type}`, `content-length: ${body.length}`) + body)
      await until(() => said() !== '', waitMs)
      socket.write('GET /api/v1/meta HTTP/1.1\r\nhost: a\r\n\r\n')
      await until(() => /^HTTP\/1\.1 4[\s\S]*HTTP\/1\.1 200 /.test(said()), waitMs)
      socket.destroy()
    }),
  )
})

test('whose body is too long is told that nothing more is taken over this connection', async () => {
  const body = JSON.stringify(long.repeat(10))
  const { socket, closed } = dial(house.url)
  socket.write(head('/agents', 'content-type: application/json', `content-length: ${body.length}`) + body)
  expect((await closed).toLowerCase()).toMatch(/^http\/1\.1 400 [\s\S]*connection: close/)
})

test('who keeps sending has the time that it takes', async () => {
  const { socket, said } = dial(house.url)
  const content = 'x'.repeat(mebibyte)
  const body = JSON.stringify({ type: 'file', files: [{ path: 'a.txt', content }] })
  socket.write(head('/artifacts', 'content-type: application/json', `content-length: ${body.length}`))
  // A mebibyte is worth sixteen seconds more.
  socket.write(body.slice(0, -10))
  await new Promise((resolve) => setTimeout(resolve, 2500))
  socket.write(body.slice(-10))
  await until(() => said() !== '', waitMs)
  expect(said()).toMatch(/^HTTP\/1\.1 201 /)
  socket.destroy()
})

test('more than a credential may have under way is refused, and again taken when the rest is through', async () => {
  const length = 3 * mebibyte
  const begun = `{"type":"file","files":[{"path":"a.txt","content":"${'x'.repeat(2 * mebibyte)}`
  const sendHalf = async () => {
    const { socket } = dial(house.url)
    const headers = ['content-type: application/json', `content-length: ${length}`]
    socket.write(head('/artifacts', ...headers) + begun)
    await new Promise((resolve) => setTimeout(resolve, 300))
    return socket
  }
  const upload = async (who: Person) => {
    const content = `${Math.random()}${'y'.repeat(2 * mebibyte)}`
    const body = { type: 'file', files: [{ path: 'b.txt', content }] }
    return house.call('POST', '/api/v1/artifacts', { token: who.token, body })
  }
  let half = await sendHalf()
  let refused: Answer | undefined
  // Of two that are on their way it may be the other one that is too much.
  await until(async () => {
    if (half.bytesRead > 0) half = await sendHalf()
    refused = await upload(person)
    return refused.status === 503
  }, waitMs)
  expect(refused?.headers.get('retry-after')).toBe('1')
  expect((await upload(await house.newPerson())).status).toBe(201)
  half.destroy()
  await until(async () => (await upload(person)).status === 201, waitMs)
})

describe('an answer that nobody takes', () => {
  const some = 400 * mebibyte
  const held = { perCredential: 1, perPerson: 1, perAddress: some, inAll: some }
  const settings = { headersMs: 10_000, bodyMs: 10_000, unreadMs: 2000, held }
  const large = 'x'.repeat(64 * mebibyte)
  const app = Fastify({ http: { ServerResponse: WatchedResponse } })
  let url = ''

  beforeAll(async () => {
    endSlowClients(app as never, settings)
    app.get('/large', async () => large)
    app.get('/late', async () => {
      await new Promise((resolve) => setTimeout(resolve, 2 * settings.unreadMs))
      return 'late'
    })
    await app.listen({ host: '127.0.0.1', port: 0 })
    url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  })

  afterAll(() => app.close())

  const ask = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`

  test('is ended', async () => {
    const { socket, closed } = dial(url)
    socket.pause()
    socket.write(ask('/large'))
    const [taken] = (await once(app.server, 'connection')) as [Socket]
    await once(taken, 'close')
    socket.resume()
    expect((await closed).length).toBeLessThan(large.length)
  })

  test('is not one that is slow to come, nor one that is taken slowly', async () => {
    const late = dial(url)
    late.socket.write(ask('/late'))
    await until(() => late.said().endsWith('late'), waitMs)
    late.socket.destroy()
    const slow = dial(url)
    slow.socket.write(ask('/large'))
    // Each rest is short beside what is allowed, however busy the machine is, and all together are long.
    let rests = 0
    slow.socket.on('data', () => {
      if (slow.said().length < rests * 2 * mebibyte) return
      rests++
      slow.socket.pause()
      setTimeout(() => slow.socket.resume(), 100)
    })
    await until(() => slow.said().length > large.length, waitMs)
    expect(rests * 100).toBeGreaterThan(settings.unreadMs)
    slow.socket.destroy()
  })
})
