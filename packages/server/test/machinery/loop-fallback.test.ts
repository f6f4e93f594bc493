import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  conversationAbout,
  type Loop,
  type LoopEvent,
  runLoop,
  standardLimits,
} from '#machinery/loop/loop.ts'
import { createModels, findFallbackKey, type Models } from '#machinery/models/models.ts'
import { parseModels } from '#platform/model-settings.ts'
import { type ModelEndpoint, openModelEndpoint } from '../../../../stack/model-endpoint/server.ts'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

const retries = { attempts: 3, firstDelayMs: 5, maxDelayMs: 20 }

/** A provider that answers every request alike: with a status, or by hanging up. */
let broken: Server
let how: number | 'drop' = 529
let refused = 0
let endpoint: ModelEndpoint
let models: Models

beforeAll(async () => {
  endpoint = await openModelEndpoint({ port: 0 })
  broken = createServer((request, response) => {
    refused++
    request.resume()
    if (how === 'drop') return void response.destroy()
    response.writeHead(how, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
  })
  await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve))
  models = createModels(parseModels(settings()), { retries })
})

afterAll(async () => {
  broken.close()
  broken.closeAllConnections()
  await endpoint.close()
})

function settings(): string {
  const brokenUrl = `http://127.0.0.1:${(broken.address() as AddressInfo).port}/v1`
  const price = (ds: number) => ({ apiKey: 'k', inputPricePerMillion: ds, outputPricePerMillion: ds })
  return JSON.stringify([
    { id: 'near', provider: 'anthropic', baseUrl: brokenUrl, ...price(100), fallback: 'far' },
    { id: 'far', provider: 'openai-compatible', baseUrl: endpoint.url, ...price(1000) },
    { id: 'one', provider: 'anthropic', baseUrl: endpoint.url, ...price(100), fallback: 'two' },
    { id: 'two', provider: 'anthropic', baseUrl: brokenUrl, ...price(100), fallback: 'far' },
  ])
}

function asking(steps: Step[], more: Partial<Loop> = {}) {
  const told: LoopEvent[] = []
  const script = JSON.stringify({ steps })
  const prompt = `Please ${randomBytes(6).toString('hex')}.\n\`\`\`script\n${script}\n\`\`\``
  const loop: Loop = {
    models,
    model: 'near',
    providerKey: undefined,
    fallbackKey: async () => ({ key: undefined }),
    system: '',
    conversation: conversationAbout(prompt),
    budget: async () => ({ amountMilliDs: 1_000_000, limitedBy: 'max_cost' }),
    spend: () => {},
    tell: (event) => void told.push(event),
    limits: standardLimits,
    signal: new AbortController().signal,
    ...more,
  }
  const fallbacks = () => told.flatMap((event) => (event.type === 'fallback' ? event.fallback : []))
  const before = { refused, asked: endpoint.stats().requests }
  const counts = () => [refused - before.refused, endpoint.stats().requests - before.asked]
  return { loop, told, fallbacks, counts }
}

const usage = { input: 1000, output: 1000 }

test.each([
  [529, 'overloaded'],
  [429, 'rate_limited'],
  [500, 'provider_error'],
  ['drop', 'network'],
] as const)(
  'when all retries met %s, the fallback is asked and paid as what it is',
  async (status, reason) => {
    how = status
    const { loop, told, fallbacks, counts } = asking([{ say: 'Here.', usage }])
    const outcome = await runLoop(loop)
    // A thousand tokens each way, at a milli-Ds per token.
    expect(outcome).toMatchObject({ end: 'answered', reply: { model: 'far', text: 'Here.' } })
    expect(outcome.usage.costMilliDs).toBe(2000)
    expect(counts()).toEqual([retries.attempts, 1])
    expect(fallbacks()).toEqual([{ from: 'near', to: 'far', reason, voidsText: false }])
    const kinds = told.map(({ type }) => type).filter((type) => type !== 'text')
    expect(kinds).toEqual(['retry', 'retry', 'fallback', 'reply'])
  },
)

test('each step begins with the model itself', async () => {
  how = 500
  const toolset = {
    schemas: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }],
    use: async () => ({ output: 'x', isError: false }),
  }
  const { loop, counts } = asking([{ tools: [{ name: 'look', input: {} }] }, { say: 'Here.' }], { toolset })
  expect(await runLoop(loop)).toMatchObject({ end: 'answered' })
  expect(counts()).toEqual([2 * retries.attempts, 2])
})

test('a fallback that fails too is asked once, then the next; what was heard of a broken reply is void', async () => {
  how = 503
  // Half of the reply is heard from the first one each time; the second is away, and the last one breaks off as well.
  const broken = { say: 'A text of several words.', fail: { status: 'drop', times: 9 } } as const
  const { loop, fallbacks, counts } = asking([broken], { model: 'one' })
  await expect(runLoop(loop)).rejects.toMatchObject({ kind: 'network' })
  expect(fallbacks()).toEqual([
    { from: 'one', to: 'two', reason: 'network', voidsText: true },
    { from: 'two', to: 'far', reason: 'overloaded', voidsText: false },
  ])
  expect(counts()).toEqual([1, retries.attempts + 1])
})

test.each([
  ['a refused key', 401, {}, 1],
  ['a bad request', 400, {}, 1],
  ['nobody who asks for it', 529, { fallbackKey: undefined }, retries.attempts],
  ['a person without a key there', 529, { fallbackKey: async () => undefined }, retries.attempts],
  [
    'too little money for it',
    529,
    { budget: async () => ({ amountMilliDs: 60, limitedBy: 'max_cost' }) as const },
    retries.attempts,
  ],
])('there is no fallback for %s', async (_, status, more, attempts) => {
  how = status
  const { loop, fallbacks, counts } = asking([{ say: 'Here.' }], more)
  await expect(runLoop(loop)).rejects.toMatchObject({ name: 'ModelError' })
  expect(fallbacks()).toEqual([])
  expect(counts()).toEqual([attempts, 0])
})

test('whoever brings keys is brought only to providers they gave a key for, and pays nothing there', async () => {
  how = 529
  const house: House = await openHouse({ DATABASE_URL: await createDatabase(), MODELS: settings() })
  const { db } = house.deps.database
  const { encryptionKeys } = house.deps.config
  const person = await house.newPerson({ mode: 'byokmode' })
  const payer = await house.newPerson({ mode: 'paygmode' })
  const ask = async (userId: string) => {
    const asked = asking([{ say: 'Here.', usage }], {
      fallbackKey: (model) => findFallbackKey(db, encryptionKeys, userId, model),
    })
    const outcome = await runLoop(asked.loop).catch((error: unknown) => error)
    return { outcome, counts: asked.counts() }
  }
  const path = '/api/v1/profile/provider-keys'
  const body = { apiKey: 'sk-own-0123456789' }
  expect(
    (
      await house.call('PUT', `${path}/anthropic`, {
        token: person.token,
        body: { ...body, baseUrl: endpoint.url },
      })
    ).status,
  ).toBe(200)
  expect(await ask(person.userId)).toMatchObject({ outcome: { kind: 'overloaded' }, counts: [3, 0] })
  expect((await house.call('PUT', `${path}/openai-compatible`, { token: person.token, body })).status).toBe(
    200,
  )
  expect(await ask(person.userId)).toMatchObject({
    outcome: { end: 'answered', usage: { costMilliDs: 0 } },
    counts: [3, 1],
  })
  expect(await ask(payer.userId)).toMatchObject({
    outcome: { end: 'answered', usage: { costMilliDs: 2000 } },
    counts: [3, 1],
  })
  await house.close()
})
