import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sealEvent } from '#transports/mcp/sealed.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { modernMessage } from '../../../../test/support/mcp.ts'
import { expectWithin, tell } from '../../../../test/support/proof.ts'
import { atSize, patienceFor } from '../../../../test/support/sizes.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { models, newExecution, stageIn } from '../support/writing-stage.ts'

const listenersOfA = atSize(100, 1000)
const eventsOfB = atSize(500, 10_000)
const listenersPerKey = 20
/** Every bit, or a few of each word. */
const bitStep = atSize(61, 1)

/** Two processes' worth of server on one database. */
let houses: [House, House]
let database: pg.Client

beforeAll(async () => {
  const url = await createDatabase()
  const settings = { DATABASE_URL: url, MODELS: JSON.stringify(models), STARTING_CREDITS: '1000' }
  houses = [await openHouse(settings), await openHouse(settings)]
  database = new pg.Client({ connectionString: url })
  await database.connect()
})
afterAll(async () => {
  await database?.end()
  await Promise.all(houses.map((house) => house.close()))
})

interface Opened {
  readonly frames: { method?: string }[]
  endedAt: number | undefined
  stop(): void
}

/** A stream on a connection of its own, once its first word has come. */
async function open(house: House, key: string, message: ReturnType<typeof modernMessage>): Promise<Opened> {
  const sent = request(`${house.url}/mcp/`, {
    method: 'POST',
    agent: false,
    headers: { ...message.headers, 'content-type': 'application/json', 'x-api-key': key },
  })
  const opened: Opened = { frames: [], endedAt: undefined, stop: () => sent.destroy() }
  const first = Promise.withResolvers<void>()
  sent.on('error', () => undefined)
  sent.on('response', (response) => {
    response.setEncoding('utf8')
    response.on('error', () => undefined)
    response.on('data', (text: string) => {
      for (const line of text.split('\n'))
        if (line.startsWith('data: {')) opened.frames.push(JSON.parse(line.slice(6)))
      if (opened.frames.length > 0) first.resolve()
    })
    response.on('close', () => {
      opened.endedAt = performance.now()
    })
  })
  sent.end(JSON.stringify(message.body))
  await first.promise
  return opened
}

const listening = (notifications: object) => modernMessage('subscriptions/listen', { notifications })
const isOver = ({ endedAt }: Opened) => endedAt !== undefined

test(`of ${eventsOfB} events of one workspace ${listenersOfA} listeners of another see none`, {
  timeout: 300_000,
}, async () => {
  const [a, b] = [await houses[0].newPerson(), await houses[0].newPerson()]
  const executionOfB = await newExecution(stageIn(houses[0], 'b', 'b'), b)
  // All that can be listened to, and what is the other's by its name: that is left out as if it were not there.
  const wanted = {
    resourcesListChanged: true,
    resourceSubscriptions: [`guildhall://executions/${executionOfB}`],
    taskIds: [`execution.${executionOfB}`],
  }
  const heard: Opened[] = []
  while (heard.length < listenersOfA) {
    const { secret } = await houses[0].newKey(a)
    const asked = Array.from({ length: listenersPerKey }, (_, at) =>
      open(houses[at % 2] as House, secret, listening(wanted)),
    )
    heard.push(...(await Promise.all(asked)))
  }
  const own = await open(houses[0], (await houses[0].newKey(b)).secret, listening(wanted))
  for (let told = 0; told < eventsOfB; told++) {
    publishTo(b, executionOfB, told)
    if (told % 50 === 0) await sleep(5)
  }
  // Whoever they were for has heard of them, so that the others had their time.
  await expect
    .poll(() => own.frames.map(({ method }) => method), { timeout: 20_000 })
    .toEqual(
      expect.arrayContaining(['notifications/resources/list_changed', 'notifications/resources/updated']),
    )
  await sleep(1000)
  const seen = heard.map(({ frames }) => frames.map(({ method }) => method))
  for (const { stop } of [...heard, own]) stop()
  expect(seen).toEqual(heard.map(() => ['notifications/subscriptions/acknowledged']))
})

function publishTo({ workspaceId }: Person, executionId: string, told: number): void {
  const { bus } = houses[told % 2] as House
  bus.publish(
    told % 4 < 2
      ? { type: 'cache-invalidate', workspaceId, keys: ['skills'], ids: ['x'] }
      : { type: 'execution-progress', workspaceId, executionId, skillSlug: 'writer', cost: told },
  )
}

test('a key that is revoked with a hundred streams open has none of them two seconds later', async () => {
  const person = await houses[0].newPerson()
  const { id, secret } = await houses[0].newKey(person, { scopes: ['profile:read'] })
  const { headers, body } = modernMessage('tools/call', {
    name: 'ask_person',
    arguments: { question: 'May I?', wait_seconds: 50 },
  }) as { headers: Record<string, string>; body: { params: { _meta: object } } }
  Object.assign(body.params._meta, { progressToken: 'p' })
  const streams = await Promise.all(
    Array.from({ length: 100 }, (_, at) => {
      const message = at < 40 ? listening({ resourcesListChanged: true }) : { headers, body }
      return open(houses[at % 2] as House, secret, message)
    }),
  )
  expect(streams.filter(isOver)).toEqual([])
  const revokedAt = performance.now()
  const answer = await houses[1].call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
  expect(answer.status).toBe(200)
  await expect.poll(() => streams.every(isOver), { timeout: 10_000, interval: 20 }).toBe(true)
  const lastMs = Math.max(...streams.map(({ endedAt = 0 }) => endedAt)) - revokedAt
  tell(`${streams.length} streams ended within ${Math.round(lastMs)} ms`)
  expectWithin(lastMs, 2000)
})

test('who listens is sent away when the plan that lets them has ended', async () => {
  const person = await houses[0].newPerson()
  const { id, secret } = await houses[0].newKey(person)
  const stream = await open(houses[0], secret, listening({ resourcesListChanged: true }))
  houses[0].sockets.recheckCredential(`key:${id}`)
  await sleep(500)
  expect(isOver(stream)).toBe(false)
  await database.query(`update users set mode = 'paygmode' where email = $1`, [person.email])
  houses[0].sockets.recheckCredential(`key:${id}`)
  await expect.poll(() => isOver(stream), { timeout: patienceFor(5000) }).toBe(true)
})

/** What it is with one bit the other way round; some of these are no characters that a header has. */
function* flipped(word: string): Generator<string> {
  const bytes = Buffer.from(word)
  for (let bit = 0; bit < bytes.length * 8; bit += bitStep) {
    const other = Buffer.from(bytes)
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    const text = other.toString('latin1')
    if (/^[\x21-\x7e]+$/.test(text)) yield text
  }
}

async function inFours(words: Iterable<string>, tried: (word: string, at: number) => Promise<void>) {
  let count = 0
  const each = words[Symbol.iterator]()
  const work = async () => {
    for (let next = each.next(); !next.done; next = each.next()) await tried(next.value, count++)
  }
  await Promise.all([work(), work(), work(), work()])
  return count
}

test('a sealed word with any bit the other way round is refused or ignored, and is no fault', {
  timeout: 500_000,
}, async () => {
  const person = await houses[0].newPerson()
  const executionId = await newExecution(stageIn(houses[0], 'bits', 'bits'), person)
  const { id: keyId, secret: key } = await houses[0].newKey(person, { scopes: ['profile:read'] })
  const at = (turn: number) => houses[turn % 2] as House
  const messaged = { name: 'message_agent', arguments: { message: 'Hello', wait_seconds: 0 } }
  const asked = await houses[0].call('POST', '/mcp/', { key, ...modernMessage('tools/call', messaged, {}) })
  const state: string = asked.body.result.requestState
  const states = await inFours(flipped(state), async (requestState, turn) => {
    const message = modernMessage('tools/call', { ...messaged, requestState }, {})
    const { status, body, text } = await at(turn).call('POST', '/mcp/', { key, ...message })
    expect([status, body.error?.code], text).toEqual([200, -32602])
  })

  const legacy = (method: string, params: object, session?: string) => ({
    headers: {
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
    },
    body: { jsonrpc: '2.0', id: 7, method, params },
  })
  const initialize = {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: { url: {} } },
    clientInfo: { name: 'bits', version: '1' },
  }
  const opened = await houses[0].call('POST', '/mcp/', { key, ...legacy('initialize', initialize) })
  const session = opened.headers.get('mcp-session-id') ?? ''
  const sessions = await inFours(flipped(session), async (word, turn) => {
    const whoami = legacy('tools/call', { name: 'whoami', arguments: {} }, word)
    const { status, body, text } = await at(turn).call('POST', '/mcp/', { key, ...whoami })
    expect([status, body.result?.isError ?? false], text).toEqual([200, false])
  })

  const event = sealEvent(houses[0].deps.config.signingKeys, `key:${keyId}`, {
    kind: 'execution',
    target: executionId,
    progress: 0,
    after: 0,
    until: Date.now(),
    id: 7,
    token: 'p',
  })
  const accept = { accept: 'text/event-stream' }
  const good = await houses[1].call('GET', '/mcp/', { key, headers: { ...accept, 'last-event-id': event } })
  expect([good.status, good.text]).toEqual([200, expect.stringContaining('"result"')])
  const events = await inFours(flipped(event), async (word, turn) => {
    const answer = await at(turn).call('GET', '/mcp/', { key, headers: { ...accept, 'last-event-id': word } })
    expect(answer.status, answer.text).toBe(405)
  })
  tell(`${states} states, ${sessions} sessions, ${events} events with a bit the other way round`)
  expect(Math.min(states, sessions, events)).toBeGreaterThan(10)
})
