import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../test/support/processes.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** Clients that do not wait for what they asked for. */
let house: House
let key: string

beforeAll(async () => {
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    BODY_MS: '500',
    REQUESTS_AT_A_TIME: '2',
    // Nothing comes back by time here: only what is given back is there.
    TURN_MS: '600000',
  })
  key = (await house.newKey(await house.newPerson())).secret
})

afterAll(() => house.close())

async function dial(): Promise<{ socket: Socket; said(): string; closed: Promise<void> }> {
  const socket = connect(Number(new URL(house.url).port), '127.0.0.1')
  let said = ''
  socket.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  socket.on('error', () => {})
  // Not `once`, which takes it for a failure that the other side ended it.
  const closed = new Promise<void>((done) => socket.once('close', () => done()))
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return { socket, said: () => said, closed }
}

const read = () => `GET /api/v1/agents/me HTTP/1.1\r\nhost: a\r\nx-api-key: ${key}\r\n\r\n`
const answers = (said: string) => said.split('HTTP/1.1 200 ').length - 1

test('the places of who has gone are there again, also when it went before it had one', async () => {
  for (let times = 0; times < 20; times++) {
    const { socket } = await dial()
    socket.write(read().repeat(1 + (times % 3)))
    await new Promise((done) => setImmediate(done))
    if (times % 2 === 0) socket.resetAndDestroy()
    else socket.destroy()
  }
  const all = await Promise.all(
    Array.from({ length: 6 }, () =>
      house.call('GET', '/api/v1/agents/me', { headers: { 'x-api-key': key } }),
    ),
  )
  expect(all.map(({ status }) => status)).toEqual(Array(6).fill(200))
})

test('some requests may be sent before the first is answered, and many end the connection', async () => {
  const patient = await dial()
  patient.socket.write(read().repeat(16))
  await until(async () => answers(patient.said()) === 16, 20_000)
  patient.socket.write(read())
  await until(async () => answers(patient.said()) === 17, 20_000)
  const flood = await dial()
  flood.socket.write(read().repeat(600))
  await flood.closed
  expect(answers(flood.said())).toBeLessThanOrEqual(16)
  expect((await house.call('GET', '/api/v1/agents/me', { headers: { 'x-api-key': key } })).status).toBe(200)
})

test.each([
  ['that is refused by its credential', '/api/v1/agents', 'x-api-key: none'],
  ['to an address that is none', '/nowhere', 'x-api-key: none'],
])('a body %s has its time too', async (_what, path, header) => {
  const { socket, said, closed } = await dial()
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: a\r\n${header}\r\ncontent-type: application/json\r\ncontent-length: 1000000000000\r\n\r\n`,
  )
  const dribbling = setInterval(() => socket.write('x'), 100)
  await closed
  clearInterval(dribbling)
  expect(said()).toMatch(/^HTTP\/1\.1 4\d\d /)
})
