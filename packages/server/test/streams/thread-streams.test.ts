import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

let house: ChatHouse
let person: Person

beforeAll(async () => {
  house = await openChatHouse({ STREAMS_PER_CREDENTIAL: '3' })
})

afterAll(() => house?.close())

beforeEach(async () => {
  house.serve(true)
  person = await house.newPerson()
})

interface Read {
  readonly text: () => string
  readonly frames: () => { type: string; sequence?: number; payload: Record<string, unknown> }[]
  readonly ended: Promise<void>
  close(): void
}

/** On a connection of its own, which ends with it. */
async function read(path: string, body: object): Promise<Read> {
  const asking = request(`${house.url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'x-auth-token': person.token, 'content-type': 'application/json' },
    agent: false,
  })
  asking.on('error', () => {}).end(JSON.stringify(body))
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(200)
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  response.on('error', () => {})
  return {
    text: () => text,
    frames: () => [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? '')),
    ended: new Promise((resolve) => response.once('close', () => resolve())),
    close: () => response.destroy(),
  }
}

const subscribe = (threadId: string, more: object = {}) =>
  read('/agents/assistant/subscribe-thread', { resourceId: person.workspaceId, threadId, ...more })
const typesOf = ({ frames }: Read) => frames().map(({ type }) => type)
const has = (reading: Read, type: string) => until(() => typesOf(reading).includes(type), 5000)

test('what is read live and what is replayed is the same to the byte', async () => {
  const live = await subscribe('same')
  await has(live, 'thread.ready')
  await house.send(person, 'same', scripted({ say: 'A line.\n\nAnd "another".', think: 'Hm.' }))
  await has(live, 'run.finished')
  const replayed = await subscribe('same', { lastSeq: 0 })
  await has(replayed, 'run.finished')
  const framesOf = ({ text }: Read) => text().match(/^id: [1-9]\d*\ndata: .*"sequence".*$/gm)
  expect(framesOf(replayed)).toEqual(framesOf(live))
  expect(framesOf(live)).toHaveLength(6)
  // Who claims to have seen more than there is hears what comes next.
  const ahead = await subscribe('same', { lastSeq: 1000 })
  await has(ahead, 'thread.ready')
  expect(ahead.text()).toContain('"type":"thread.ready","sequence":6')
  for (const reading of [live, replayed, ahead]) reading.close()
})

test('words come as they are said, to who asked for them, and a chat has its own run alone', async () => {
  const plain = await subscribe('words')
  const eager = await subscribe('words', { deltas: true })
  await has(eager, 'thread.ready')
  const chat = await read('/chat/assistant', {
    // Words are not repeated to who comes after them.
    message: scripted({ say: 'One two three.', delayMs: 500 }),
    threadId: 'words',
    stream: true,
    deltas: true,
  })
  await chat.ended
  await has(plain, 'run.finished')
  const deltasOf = (reading: Read) => typesOf(reading).filter((type) => type === 'agent.message_delta')
  expect(deltasOf(plain)).toEqual([])
  expect(deltasOf(eager).length).toBeGreaterThan(0)
  const said = chat.frames().filter(({ type }) => type === 'agent.message_delta')
  expect(said.map(({ payload }) => payload['text']).join('')).toBe('One two three.')
  expect(typesOf(chat)[0]).toBe('user.message')
  expect(typesOf(chat).at(-1)).toBe('run.finished')
  for (const reading of [plain, eager]) reading.close()
})

test('a deleted thread ends its streams, and one too many ends the oldest with a word', async () => {
  const gone = await subscribe('gone')
  await has(gone, 'thread.ready')
  await house.call('DELETE', '/api/v1/threads/gone', { token: person.token })
  await gone.ended
  const many = []
  for (let at = 0; at < 4; at++) {
    const one = await subscribe(`many-${at}`)
    await has(one, 'thread.ready')
    many.push(one)
  }
  const [oldest, ...others] = many
  await oldest?.ended
  expect(oldest?.frames().at(-1)).toMatchObject({ type: 'error', payload: { code: 'TOO_MANY_STREAMS' } })
  for (const other of others) expect(typesOf(other)).toEqual(['thread.ready'])
  for (const other of others) other.close()
})

test('that somebody listens is known as long as they do, unless they asked to be left alone', async () => {
  const listening = async () =>
    (
      await house.deps.database.db
        .selectFrom('thread_subscriptions as s')
        .innerJoin('threads as t', 't.id', 's.thread_row_id')
        .select('t.thread_id')
        .where('t.workspace_id', '=', person.workspaceId)
        .execute()
    ).map(({ thread_id }) => thread_id)
  const quiet = await subscribe('quiet', { background: false })
  const loud = await subscribe('loud')
  await has(loud, 'thread.ready')
  expect(await listening()).toEqual(['loud'])
  loud.close()
  await until(async () => (await listening()).length === 0, 5000)
  quiet.close()
})
