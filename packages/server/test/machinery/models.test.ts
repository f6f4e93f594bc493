import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  createModels,
  findProviderKey,
  type ModelCall,
  ModelError,
  type ModelMessage,
  type ModelRetry,
  type Models,
} from '#machinery/models/models.ts'
import { parseModels } from '#platform/model-settings.ts'
import { parseKeyRing } from '#platform/secrets.ts'
import { type ModelEndpoint, openModelEndpoint } from '../../../../stack/model-endpoint/server.ts'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { patienceFor } from '../../../../test/support/sizes.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

const quick = { attempts: 4, firstDelayMs: 10, maxDelayMs: 2000 }
const bash = {
  name: 'bash',
  description: 'Runs a command',
  inputSchema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
}
const answerSchema = {
  type: 'object',
  properties: {
    title: { type: 'string', pattern: '^t' },
    score: { type: 'integer', minimum: 3 },
    kind: { enum: ['good', 'bad'] },
    tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
    note: { type: 'string' },
  },
  required: ['title', 'score', 'kind', 'tags'],
  additionalProperties: false,
}

let endpoint: ModelEndpoint
let models: Models

beforeAll(async () => {
  endpoint = await openModelEndpoint({ port: 0 })
  models = createModels(parseModels(settings(endpoint.url)), { retries: quick })
})

afterAll(() => endpoint.close())

function settings(baseUrl: string): string {
  const shared = { baseUrl, apiKey: 'k-deployment', inputPricePerMillion: 300, outputPricePerMillion: 1500 }
  return JSON.stringify([
    { id: 'scripted', provider: 'anthropic', ...shared },
    { id: 'claude-sonnet-4-5', provider: 'anthropic', ...shared },
    { id: 'compatible', provider: 'openai-compatible', ...shared, default: true },
  ])
}

function script(...steps: Step[]): ModelMessage {
  return { role: 'user', text: `Please.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\`` }
}

function callOf(model: string, messages: ModelMessage[], more: Partial<ModelCall> = {}): ModelCall {
  const signal = new AbortController().signal
  return { model, system: 'You help.', messages, tools: [], maxOutputTokens: 1000, signal, ...more }
}

describe.each(['scripted', 'compatible'])('%s', (model) => {
  test('streams text and thinking, and tells what was used', async () => {
    const heard: string[] = []
    const onThinking = vi.fn()
    const say = 'A text that is long enough to come in several pieces, with ünïcödé 🎉.'
    const messages = [script({ think: 'Hm.', say, usage: { input: 123, output: 45 } })]
    const reply = await models.call(
      callOf(model, messages, { onText: (delta) => void heard.push(delta), onThinking }),
    )
    expect(reply).toEqual({
      model,
      text: say,
      reasoning: 'Hm.',
      toolCalls: [],
      usage: { inputTokens: 123, outputTokens: 45 },
      stop: 'end',
    })
    expect(heard.length).toBeGreaterThan(1)
    expect(heard.join('')).toBe(say)
    expect(onThinking).toHaveBeenCalledTimes(1)
  })

  test('calls tools, takes their results and goes on from there', async () => {
    const tools = [
      { name: 'bash', input: { command: 'echo "a\nb"' } },
      { name: 'bash', input: { command: 'false' } },
    ]
    const asked = script({ say: 'Looking.', tools }, { say: 'Seen.' })
    const first = await models.call(callOf(model, [asked], { tools: [bash] }))
    expect(first).toMatchObject({ text: 'Looking.', stop: 'tools', toolCalls: tools })
    const results = first.toolCalls.map(({ id, name }, index) => ({
      toolCallId: id,
      name,
      output: index === 0 ? 'a\nb' : '',
      isError: index === 1,
    }))
    const history: ModelMessage[] = [asked, { role: 'assistant', ...first }, { role: 'tool', results }]
    const second = await models.call(callOf(model, history, { tools: [bash] }))
    expect(second).toMatchObject({ text: 'Seen.', stop: 'end', toolCalls: [] })
  })

  test('stops at the limit of its length', async () => {
    const messages = [script({ say: 'word ', repeatText: 100 })]
    const reply = await models.call(callOf(model, messages, { maxOutputTokens: 10 }))
    expect(reply).toMatchObject({ stop: 'length', text: 'word '.repeat(8) })
  })

  test.each([
    [429, 'rate_limited', false],
    [529, 'overloaded', false],
    [500, 'provider_error', false],
    ['drop', 'network', true],
    ['cut', 'network', true],
    [429, 'rate_limited', true],
    [500, 'provider_error', true],
  ] as const)('waits out %s (%s, after text: %s) and says so', async (status, reason, midStream) => {
    const retries: ModelRetry[] = []
    const heard: string[] = []
    const messages = [
      script({ say: 'A sentence that breaks off half-way.', fail: { status, times: 2, midStream } }),
    ]
    const reply = await models.call(
      callOf(model, messages, {
        onText: (delta) => void heard.push(delta),
        onRetry: (retry) => {
          retries.push(retry)
          if (retry.voidsText) heard.length = 0
        },
      }),
    )
    expect(retries).toMatchObject([
      { reason, attempt: 1, voidsText: midStream },
      { reason, attempt: 2 },
    ])
    expect(heard.join('')).toBe(reply.text)
    expect(reply.text).toBe('A sentence that breaks off half-way.')
  })

  test('does not say a broken reply twice to a caller that cannot be told', async () => {
    const heard: string[] = []
    const messages = [script({ say: 'Half of this is heard.', fail: { status: 'drop' } })]
    const call = models.call(callOf(model, messages, { onText: (delta) => void heard.push(delta) }))
    await expect(call).rejects.toMatchObject({ kind: 'network', retryable: true })
    expect('Half of this is heard.').toContain(heard.join(''))
  })

  test('gives up after its attempts, and at once when the provider asks for too much patience', async () => {
    const before = endpoint.stats().requests
    const often = models.call(callOf(model, [script({ fail: { status: 500, times: 99 } })]))
    await expect(often).rejects.toMatchObject({ name: 'ModelError', kind: 'provider_error' })
    expect(endpoint.stats().requests - before).toBe(quick.attempts)
    const late = models.call(callOf(model, [script({ fail: { status: 429, retryAfterSeconds: 3 } })]))
    await expect(late).rejects.toMatchObject({ kind: 'rate_limited', retryAfterMs: 3000 })
  })

  test('honours retry-after', async () => {
    const retries: ModelRetry[] = []
    const messages = [script({ say: 'Now.', fail: { status: 429, retryAfterSeconds: 1 } })]
    const began = performance.now()
    await models.call(callOf(model, messages, { onRetry: (retry) => void retries.push(retry) }))
    expect(retries).toMatchObject([{ retryInMs: 1000 }])
    expect(performance.now() - began).toBeGreaterThanOrEqual(990)
  })

  test.each([
    ['before a reply', { say: 'late', delayMs: 20_000 }, 1],
    ['within a reply', { say: 'tick ', repeatText: 500, chunkDelayMs: 20 }, 1],
    ['between two attempts', { fail: { status: 429, retryAfterSeconds: 2 } }, 0],
  ])('ends within 100 ms of an abort %s', async (when, step: Step, closes) => {
    const { requests, abandoned } = endpoint.stats()
    const aborter = new AbortController()
    const begun = Promise.withResolvers<void>()
    const call = callOf(model, [script(step)], { signal: aborter.signal, onText: () => begun.resolve() })
    const ended = models.call({ ...call, onRetry: () => begun.resolve() }).catch((error: unknown) => error)
    if (when === 'before a reply') await expect.poll(() => endpoint.stats().requests).toBe(requests + 1)
    else await begun.promise
    const abortedAt = performance.now()
    aborter.abort(new Error('canceled by the person'))
    expect(await ended).toMatchObject({ message: 'canceled by the person' })
    expectWithin(performance.now() - abortedAt, 100)
    const look = { timeout: patienceFor(500) }
    await expect.poll(() => endpoint.stats().abandoned, look).toBe(abandoned + closes)
  })

  test('ends with an object that fits the schema', async () => {
    const object = { title: 'two', score: 4, kind: 'bad', tags: ['x'] }
    const scripted = await models.call(callOf(model, [script({ object })], { outputSchema: answerSchema }))
    expect(scripted).toMatchObject({ object, stop: 'end' })
    const sampled = await models.call(
      callOf(model, [{ role: 'user', text: 'An object.' }], { outputSchema: answerSchema }),
    )
    expect(sampled.object).toEqual({ title: 'text', score: 3, kind: 'good', tags: ['text'] })
  })

  test.each([
    ['{"title":"x"}', 'does not fit the schema'],
    ['no object', 'not JSON'],
  ])('tells why %s is no object', async (say, problem) => {
    const reply = await models.call(callOf(model, [script({ say })], { outputSchema: answerSchema }))
    expect(reply).not.toHaveProperty('object')
    expect(reply.objectProblem).toContain(problem)
    expect(reply.usage.outputTokens).toBeGreaterThan(0)
  })

  test('without a script makes a small run that uses a shell', async () => {
    const history: ModelMessage[] = [{ role: 'user', text: 'Count to 3; mind the $HOME `x`' }]
    const commands: string[] = []
    for (let turn = 0; turn < 5; turn++) {
      const reply = await models.call(callOf(model, history, { tools: [bash] }))
      history.push({ role: 'assistant', ...reply })
      if (reply.stop === 'end') break
      commands.push(...reply.toolCalls.map(({ input }) => (input as { command: string }).command))
      const results = reply.toolCalls.map(({ id, name }) => ({
        toolCallId: id,
        name,
        output: '/skill:\nSKILL.md',
        isError: false,
      }))
      history.push({ role: 'tool', results })
    }
    expect(commands).toHaveLength(2)
    expect(commands[0]).toContain('/skill/SKILL.md')
    expect(commands[1]).toContain('/workspace/report.md')
    expect(commands[1]).toContain('Count to 3; mind the $HOME `x`')
    expect(history.at(-1)).toMatchObject({ role: 'assistant', stop: 'end' })
  })

  test('a refused request is not tried again', async () => {
    const before = endpoint.stats().requests
    const orphan: ModelMessage = {
      role: 'tool',
      results: [{ toolCallId: 'x', name: 'bash', output: '', isError: false }],
    }
    const call = models.call(callOf(model, [{ role: 'user', text: 'Hi' }, orphan], { tools: [bash] }))
    await expect(call).rejects.toMatchObject({ kind: 'bad_request', retryable: false })
    expect(endpoint.stats().requests - before).toBe(1)
  })
})

test('a model with a native output format is asked in it', async () => {
  const outputSchema = { type: 'object', properties: { kind: { enum: ['good'] } }, required: ['kind'] }
  const messages: ModelMessage[] = [{ role: 'user', text: 'An object.' }]
  const reply = await models.call(callOf('claude-sonnet-4-5', messages, { outputSchema }))
  expect(reply.object).toEqual({ kind: 'good' })
})

test('the default model is used where none is named, and an unknown one refused', async () => {
  expect(models.find(undefined)).toMatchObject({ id: 'compatible', default: true })
  await expect(models.call(callOf('nobody', []))).rejects.toMatchObject({ kind: 'unknown_model' })
  await expect(createModels([]).call({ ...callOf('x', []), model: undefined })).rejects.toThrow('set MODELS')
})

test('a provider that falls silent or away is a network failure', async () => {
  const [config] = parseModels(settings(endpoint.url))
  if (!config) throw new Error('no model')
  const impatient = createModels([config], { retries: { ...quick, attempts: 1 }, silenceMs: 100 })
  const silent = impatient.call(callOf(config.id, [script({ say: 'late', delayMs: 5000 })]))
  await expect(silent).rejects.toMatchObject({ kind: 'network', retryable: true })
  const away = createModels([{ ...config, baseUrl: 'http://127.0.0.1:9/v1' }], {
    retries: { ...quick, attempts: 2 },
  })
  await expect(away.call(callOf(config.id, [script({})]))).rejects.toMatchObject({ kind: 'network' })
})

test("a person's own key goes to its provider, not along with a redirect, nor into an error", async () => {
  const seen: unknown[] = []
  const server = createServer(({ url, headers }, response) => {
    seen.push([url, headers['x-api-key'] ?? headers.authorization])
    if (url === '/v1/messages') response.writeHead(307, { location: '/stolen' }).end()
    else response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"no: own-secret"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const there = createModels(parseModels(settings(baseUrl)), { retries: { ...quick, attempts: 1 } })
  const key = { provider: 'anthropic', baseUrl, apiKey: 'own-secret' } as const
  await expect(there.call(callOf('scripted', [script({})]), key)).rejects.toMatchObject({ kind: 'network' })
  const own = { ...key, provider: 'openai-compatible' } as const
  const refused = await there.call(callOf('compatible', [script({})]), own).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(ModelError)
  expect(refused).toMatchObject({ kind: 'key_refused' })
  expect(inspect(refused, { depth: 9, showHidden: true })).not.toContain('own-secret')
  await expect(there.call(callOf('compatible', [script({})]), key)).rejects.toMatchObject({
    kind: 'key_refused',
  })
  expect(seen).toEqual([
    ['/v1/messages', 'own-secret'],
    ['/v1/chat/completions', 'Bearer own-secret'],
    ['/v1/chat/completions', 'Bearer k-deployment'],
  ])
  server.close()
  server.closeAllConnections()
})

describe('own keys', () => {
  const apiKey = `sk-own-${randomBytes(12).toString('hex')}`
  const oldRing = `1:${randomBytes(40).toString('base64url')}`
  const path = '/api/v1/profile/provider-keys'
  let databaseUrl: string
  let house: House

  beforeAll(async () => {
    databaseUrl = await createDatabase()
    house = await openHouse({
      DATABASE_URL: databaseUrl,
      MODELS: settings(endpoint.url),
      ENCRYPTION_KEYS: oldRing,
      LOG_LEVEL: 'trace',
    })
  })

  afterAll(() => house.close())

  const put = (token: string, body: unknown, provider = 'anthropic') =>
    house.call('PUT', `${path}/${provider}`, { token, body })

  test('are stored, listed without their secret, replaced and removed', async () => {
    const { token } = await house.newPerson({ mode: 'byokmode' })
    const stored = await put(token, { apiKey })
    const shown = { provider: 'anthropic', baseUrl: endpoint.url, hint: apiKey.slice(-4) }
    expect(stored.status).toBe(200)
    expect(stored.body).toEqual({ ...shown, createdAt: expect.any(String) })
    await put(token, { apiKey: 'another-key', baseUrl: `${endpoint.url}/` }, 'openai-compatible')
    await put(token, { apiKey: 'third-key-1234' }, 'openai-compatible')
    const list = await house.call('GET', path, { token })
    expect(list.body).toMatchObject([shown, { provider: 'openai-compatible', hint: '1234' }])
    expect((await house.call('DELETE', `${path}/anthropic`, { token })).body).toEqual({ success: true })
    expect((await house.call('DELETE', `${path}/anthropic`, { token })).status).toBe(404)
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const { rows } = await client.query('select provider_keys::text as line from provider_keys')
    const activity = await client.query('select activity::text as line from activity')
    await client.end()
    const kept = JSON.stringify([rows, activity.rows])
    for (const secret of [apiKey, 'another-key', 'third-key-1234']) {
      const hex = Buffer.from(secret).toString('hex')
      for (const text of [kept, house.log(), JSON.stringify([stored.body, list.body])]) {
        expect(text).not.toContain(secret)
        expect(text).not.toContain(hex)
      }
    }
    expect(kept).toContain('provider_key.stored')
  })

  test('are for byokmode, of known providers, and for addresses of the deployment', async () => {
    const payg = await house.newPerson({ mode: 'paygmode' })
    const refused = await put(payg.token, { apiKey })
    expect(refused.status).toBe(403)
    expect(refused.body.error.details).toEqual({ mode: 'paygmode' })
    const { token } = await house.newPerson({ mode: 'byokmode' })
    for (const baseUrl of ['https://evil.example/v1', 'http://169.254.169.254', 'x']) {
      const answer = await put(token, { apiKey, baseUrl }, 'openai-compatible')
      expect(answer.status).toBe(400)
      expect(answer.body.error.details).toEqual({ baseUrls: [endpoint.url] })
    }
    for (const body of [{ apiKey: 'short' }, { apiKey: 'with\r\nheader: x' }, {}]) {
      expect((await put(token, body)).status).toBe(400)
    }
    expect((await put(token, { apiKey }, 'nobody')).status).toBe(400)
  })

  test('are read by a rotated ring, and by no row but their own', async () => {
    const { db } = house.deps.database
    const [owner, other] = [
      await house.newPerson({ mode: 'byokmode' }),
      await house.newPerson({ mode: 'byokmode' }),
    ]
    await put(owner.token, { apiKey })
    const rotated = parseKeyRing(`2:${randomBytes(32).toString('base64url')},${oldRing}`)
    const expected = { provider: 'anthropic', baseUrl: endpoint.url, apiKey }
    expect(await findProviderKey(db, rotated, owner.userId, 'anthropic')).toEqual(expected)
    expect(await findProviderKey(db, rotated, owner.userId, 'openai-compatible')).toBeUndefined()
    const without = parseKeyRing(`2:${randomBytes(32).toString('base64url')}`)
    await expect(findProviderKey(db, without, owner.userId, 'anthropic')).rejects.toThrow('store it again')
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    await client.query(
      `insert into provider_keys (user_id, provider, base_url, hint, key_version, sealed)
       select $1, provider, base_url, hint, key_version, sealed from provider_keys where user_id = $2`,
      [other.userId, owner.userId],
    )
    await expect(findProviderKey(db, rotated, other.userId, 'anthropic')).rejects.toThrow('store it again')
    await client.query(`update provider_keys set base_url = 'https://evil.example' where user_id = $1`, [
      owner.userId,
    ])
    await expect(findProviderKey(db, rotated, owner.userId, 'anthropic')).rejects.toThrow('store it again')
    await client.query(`update users set mode = 'paygmode' where id = $1`, [owner.userId])
    await client.end()
    expect(await findProviderKey(db, rotated, owner.userId, 'anthropic')).toBeUndefined()
  })
})
