import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { atOwnPace } from '#platform/own-pace.ts'
import { SlowReaders } from '#transports/http/slow-readers.ts'
import { progressOf, WatchedResponse } from '#transports/http/watched-response.ts'
import { until } from '../../../../test/support/processes.ts'

const mebibyte = 1024 * 1024
const large = Buffer.alloc(96 * mebibyte, 'x')
const pieces = () => Array.from({ length: 96 }, (_, at) => large.subarray(at * mebibyte, (at + 1) * mebibyte))

/** Four looks are a while, in which so much has to be taken. */
const readersOf = (leastBytes: number) =>
  new SlowReaders({ unreadMs: 4000 }, { lookEveryMs: 1000, bytesPerSecond: leastBytes / 4 })

const ways: Readonly<Record<string, (response: WatchedResponse) => void>> = {
  'in one piece': (response) => void response.end(large),
  'by a stream': (response) => void Readable.from(pieces()).pipe(response),
  'in pieces by hand': (response) => {
    for (const piece of pieces()) response.write(piece)
    response.end()
  },
}

let readers: SlowReaders
const server = createServer({ ServerResponse: WatchedResponse }, (request, response) => {
  const watched = response as WatchedResponse<IncomingMessage>
  watched.onWaiting = () => readers.watch(watched)
  if (request.headers.accept === 'text/event-stream') atOwnPace.add(watched)
  ways[decodeURIComponent(request.url?.slice(1) ?? '')]?.(watched)
})

beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterAll(() => void server.close())

/** A reader who takes something when told to, and the connection as the server has it. */
async function ask(way: string, accept = '*/*'): Promise<{ mine: Socket; theirs: Socket }> {
  const mine = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  onTestFinished(() => void mine.destroy())
  const [theirs] = (await once(server, 'connection')) as [Socket]
  mine.write(`GET /${encodeURIComponent(way)} HTTP/1.1\r\nhost: a\r\naccept: ${accept}\r\n\r\n`)
  await until(() => progressOf(theirs).waiting > 0, 20_000)
  readers.look()
  return { mine, theirs }
}

async function takeSome({ mine, theirs }: { mine: Socket; theirs: Socket }): Promise<void> {
  const before = progressOf(theirs).taken
  while (!theirs.destroyed && progressOf(theirs).taken === before) {
    mine.resume()
    await new Promise((done) => setImmediate(done))
    mine.pause()
  }
}

test.each(Object.keys(ways))('who takes too little in a while is ended, an answer %s', async (way) => {
  readers = readersOf(90 * mebibyte)
  const both = await ask(way)
  for (let looks = 0; looks < 4; looks++) {
    expect(both.theirs.destroyed).toBe(false)
    await takeSome(both)
    readers.look()
  }
  expect(both.theirs.destroyed).toBe(true)
})

test('who takes enough is not, until no more is taken', async () => {
  readers = readersOf(1)
  const both = await ask('in one piece')
  for (let looks = 0; looks < 12; looks++) {
    await takeSome(both)
    readers.look()
  }
  expect(both.theirs.destroyed).toBe(false)
  for (let looks = 0; looks < 4; looks++) readers.look()
  expect(both.theirs.destroyed).toBe(true)
})

test('what is at its own pace is left alone', async () => {
  readers = readersOf(mebibyte)
  const { theirs } = await ask('in pieces by hand', 'text/event-stream')
  for (let looks = 0; looks < 20; looks++) readers.look()
  expect(theirs.destroyed).toBe(false)
})
