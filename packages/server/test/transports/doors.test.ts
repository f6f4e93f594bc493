import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { openDoors } from '../../src/transports/http/doors.ts'

const host = '127.0.0.1'
const backlog = 100
const together = 60

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function serve(port = 0) {
  const app = Fastify()
  app.get('/', async () => 'here')
  let asked = 0
  app.get('/later', async () => {
    asked++
    await new Promise((resolve) => setTimeout(resolve, 1000))
    return 'late'
  })
  const close = await openDoors(app as never, { host, port, backlog })
  ends.push(close)
  return { app, close, asked: () => asked, port: (app.server.address() as AddressInfo).port }
}

function read(port: number, path = '/', agent?: Agent): Promise<string> {
  return new Promise((done, failed) => {
    get({ host, port, path, agent: agent ?? false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('end', () => done(text))
    }).on('error', failed)
  })
}

test('many who came while the process was busy are let in within a few turns', async () => {
  const { app, port } = await serve()
  const child = fork(fileURLToPath(new URL('doors-clients.ts', import.meta.url)), [
    String(port),
    String(together),
  ])
  await once(child, 'message')
  let turns = 0
  let came = 0
  const cameIn: number[] = []
  app.server.on('connection', () => {
    came++
    cameIn.push(turns)
  })
  child.send('connect')
  // Busy until all of them are at the door.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  while (came < together) {
    await new Promise((resolve) => setImmediate(resolve))
    turns++
  }
  child.kill()
  expect((cameIn.at(-1) ?? 0) - (cameIn[0] ?? 0)).toBeLessThan(together * 0.7)
})

test('a second server at the same port is refused', async () => {
  const { port } = await serve()
  await expect(serve(port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  expect(await read(port)).toBe('here')
})

test('closing ends what is idle, lets finish what is under way, and takes nobody more', async () => {
  const { close, asked, port } = await serve()
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  await Promise.all(Array.from({ length: 20 }, () => read(port, '/', agent)))
  // Half of them would go on using their connections, which are not idle when the closing begins.
  const kept = new Agent({ keepAlive: true, maxSockets: 10 })
  const late = Array.from({ length: 20 }, (_, nth) => read(port, '/later', nth % 2 ? kept : undefined))
  await until(() => asked() === late.length, 10_000)
  ends.length = 0
  const began = performance.now()
  await close()
  expectWithin(performance.now() - began, 2000)
  expect(new Set(await Promise.all(late))).toEqual(new Set(['late']))
  const [error] = await once(connect(port, host), 'error')
  expect(error).toMatchObject({ code: 'ECONNREFUSED' })
  for (const one of [agent, kept]) one.destroy()
})

test('closing does not wait for a connection on which nothing was ever said', async () => {
  const { close, port } = await serve()
  const silent = connect(port, host).resume()
  await once(silent, 'connect')
  expect(await read(port)).toBe('here')
  ends.length = 0
  const closed = once(silent, 'close')
  await close()
  await closed
})
