import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { describe, expect, inject, test } from 'vitest'
import { modernMessage } from '../support/mcp.ts'
import { type Key, newKey, newPerson, newVisitor } from './support/actors.ts'
import type { Answer, Caller, SendOptions } from './support/client.ts'
import { errand, list, newRunner, quick } from './support/executions.ts'
import { expectRateHeaders, expectRefusal, remaining } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const windowMax = 60
const accept = 'application/json, text/event-stream'

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
const listTools = { jsonrpc: '2.0', id: 2, method: 'tools/list' }

function say(caller: Caller, body: unknown, path = 'root:/mcp/'): Promise<Answer<Record<string, unknown>>> {
  return caller.send('POST', path, { body, headers: { accept } })
}

async function connect(key: Key): Promise<Client> {
  const client = new Client({ name: 'Conformance Editor', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL('/mcp/', inject('baseUrl')), {
    requestInit: { headers: { 'x-api-key': key.secret } },
  })
  await client.connect(transport as Transport)
  return client
}

describe('the MCP transport', () => {
  test('is opened by the key that works on REST, and by none without', async () => {
    verifies('mcp:transport:same-api-key', 'versioning:path:mcp')
    const key = await newKey(await newPerson())
    expect((await key.get('/workspaces')).status).toBe(200)
    const opened = await say(key, initialize)
    expect(opened.status).toBe(200)
    expect(opened.body['result']).toMatchObject({ protocolVersion: '2025-11-25' })
    expectRefusal(await say(newVisitor(), initialize), 401, 'UNAUTHORIZED')
    expectRefusal(await say(key, initialize, '/mcp/'), 404, 'NOT_FOUND')
  })

  test('serves an unmodified client, whose list of tools keeps its order', async () => {
    verifies('mcp:transport:streamable-http', 'mcp:tools:list')
    const client = await connect(await newKey(await newPerson()))
    const first = await client.listTools()
    const second = await client.listTools()
    expect(first.tools.length).toBeGreaterThan(0)
    expect(first.tools.length).toBeLessThanOrEqual(15)
    expect(second.tools.map(({ name }) => name)).toEqual(first.tools.map(({ name }) => name))
    await client.close()
  })

  test('is for basedmode alone', async () => {
    verifies('mcp:access:basedmode-only')
    for (const mode of ['byokmode', 'paygmode'] as const) {
      const answer = await say(await newKey(await newPerson({ mode })), initialize)
      expectRefusal(answer, 403, 'FORBIDDEN')
      expect(answer.body).toMatchObject({ error: { details: { tier: mode } } })
    }
    expect((await say(await newKey(await newPerson({ mode: 'basedmode' })), initialize)).status).toBe(200)
  })

  test('leaves its name on what is started through it', async () => {
    verifies('executions:record:interface-mcp')
    const person = await newRunner()
    const client = await connect(await newKey(person))
    const result = await client.callTool({ name: 'run_skill', arguments: { slug: errand, input: quick } })
    expect(result.structuredContent).toMatchObject({ status: 'completed', text: 'Done at once.' })
    const { items } = await list(person)
    expect(items.map((item) => item.interface)).toEqual(['mcp-conformance-editor'])
    await client.close()
  })
})

describe('the window of the MCP transport', () => {
  test('has sixty requests a minute, apart from those of REST', async () => {
    verifies('rate-limit:mcp:60-per-minute')
    const key = await newKey(await newPerson())
    const served = await Promise.all(Array.from({ length: windowMax }, () => say(key, listTools)))
    expect(served.map(({ status }) => status)).toEqual(Array(windowMax).fill(200))
    expect(served.map(({ headers }) => headers['x-ratelimit-limit'])).toEqual(Array(windowMax).fill('60'))
    const refused = await say(key, listTools)
    expect(refused.status).toBe(429)
    expect(refused.headers['retry-after']).toMatch(/^\d+$/)
    expectRateHeaders(refused)
    expect(refused.body).toEqual({
      error: { type: 'rate_limit_error', code: 'RATE_LIMITED', message: expect.stringMatching(/\S/) },
    })
    const rest = await key.get('/workspaces')
    expect([rest.status, remaining(rest)]).toEqual([200, 99])
  })

  test('is described by every answer', async () => {
    verifies('rate-limit:header:every-response-mcp')
    const person = await newPerson()
    const key = await newKey(person)
    const send = (options: SendOptions) => key.send<unknown>('POST', 'root:/mcp/', options)
    const json = { 'content-type': 'application/json', accept }
    const answers: [number, Answer][] = [
      [200, await say(key, listTools)],
      [202, await say(key, { jsonrpc: '2.0', method: 'notifications/initialized' })],
      [400, await send({ rawBody: '{', headers: json })],
      [400, await say(key, [listTools])],
      [401, await say(newVisitor(), listTools)],
      [403, await say(await newKey(await newPerson({ mode: 'paygmode' })), listTools)],
      [403, await say(await newKey(person, { access: 'declared' }), listTools)],
      [403, await send({ body: listTools, headers: { origin: 'https://elsewhere.example' } })],
      [405, await key.send('GET', 'root:/mcp/')],
      [405, await key.send('DELETE', 'root:/mcp/')],
      [413, await send({ rawBody: JSON.stringify({ a: 'x'.repeat(1_100_000) }), headers: json })],
      [415, await send({ rawBody: 'a=b', headers: { 'content-type': 'text/plain' } })],
    ]
    const streamed = await say(key, {
      ...listTools,
      method: 'tools/call',
      params: {
        name: 'ask_person',
        arguments: { question: 'Now?', wait_seconds: 1 },
        _meta: { progressToken: 'p' },
      },
    })
    expect(streamed.headers['content-type']).toContain('text/event-stream')
    answers.push([200, streamed])
    const modern = modernMessage('no/such', {})
    answers.push([404, await send(modern)])
    for (const [status, answer] of answers) {
      expect(answer.status, answer.text).toBe(status)
      expectRateHeaders(answer)
    }
  })
})
