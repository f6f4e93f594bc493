import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectWithin } from '../../../../test/support/proof.ts'
import { atSize } from '../../../../test/support/sizes.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let house: House
let key: string
const tries = atSize(500, 100_000)
const slowestMs = 10_000

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase(), LOG_LEVEL: 'error' })
  key = (await house.newKey(await house.newPerson())).secret
})
afterAll(() => house.close())

const modern = '2026-07-28'
const meta = {
  'io.modelcontextprotocol/protocolVersion': modern,
  'io.modelcontextprotocol/clientCapabilities': {},
}
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const named = (method: string, name = '') => ({
  ...json,
  'mcp-protocol-version': modern,
  'mcp-method': method,
  ...(name === '' ? {} : { 'mcp-name': name }),
})
const request = (method: unknown, params?: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) })
const greet = { name: 'whoami', arguments: {}, _meta: meta }

/** What was sent, the status and the code that it gets. */
const cases: [string, Record<string, string>, string, number, number?][] = [
  ['nothing', json, '', 415, -32600],
  ['half a text', json, '{', 400, -32700],
  ['null', json, 'null', 400, -32600],
  ['a text', json, '"x"', 400, -32600],
  ['an empty batch', json, '[]', 400, -32600],
  ['a batch', json, `[${request('ping')}]`, 400, -32600],
  ['a batch of a thousand', json, `[${Array(1000).fill(request('ping')).join(',')}]`, 400, -32600],
  ['another version of JSON-RPC', json, '{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
  ['an object as id', json, request('ping', undefined, {}), 400, -32600],
  ['null as id', json, request('ping', undefined, null), 400, -32600],
  ['a fraction as id', json, request('ping', undefined, 1.5), 400, -32600],
  ['an id of 257 characters', json, request('ping', undefined, 'i'.repeat(257)), 400, -32600],
  [
    'a progress token of 257 characters',
    json,
    request('tools/call', { name: 'whoami', _meta: { progressToken: 't'.repeat(257) } }),
    400,
    -32602,
  ],
  [
    'listening with much to keep',
    named('subscriptions/listen'),
    request('subscriptions/listen', { notifications: { kept: 'x'.repeat(40_000) }, _meta: meta }),
    400,
    -32602,
  ],
  ['a number as method', json, request(5), 400, -32600],
  ['a list as params', json, request('tools/call', []), 400, -32602],
  ['a tool called constructor', json, request('tools/call', { name: 'constructor' }), 200, -32602],
  ['a tool called __proto__', json, request('tools/call', { name: 'hasOwnProperty' }), 200, -32602],
  ['arguments that are a list', json, request('tools/call', { name: 'whoami', arguments: [] }), 200, -32602],
  ['a method called constructor', json, request('constructor'), 200, -32601],
  ['a method called toString', json, request('toString'), 200, -32601],
  ['the method of resuming', json, request('resume'), 200, -32601],
  ['a modern method of a legacy client', json, request('server/discover'), 200, -32601],
  ['a prompt called constructor', json, request('prompts/get', { name: 'constructor' }), 200, -32602],
  ['a resource of a file', json, request('resources/read', { uri: 'file:///etc/passwd' }), 200, -32002],
  ['a path out of a skill', json, request('resources/read', { uri: 'skill://a/../../b' }), 200, -32002],
  ['an escape that is none', json, request('resources/read', { uri: 'guildhall://runs/%zz' }), 200, -32002],
  ['a cursor of words', json, request('resources/list', { cursor: 'x' }), 200, -32602],
  [
    'an unknown version',
    { ...json, 'mcp-protocol-version': '2020-01-01' },
    request('tools/list'),
    400,
    -32602,
  ],
  ['an old version', { ...json, 'mcp-protocol-version': '2024-11-05' }, request('tools/list'), 400, -32022],
  ['no name in the headers', named('tools/call'), request('tools/call', greet), 400, -32020],
  ['another name', named('tools/call', 'run_skill'), request('tools/call', greet), 400, -32020],
  [
    'a name that is no base64',
    named('tools/call', '=?base64?!!!?='),
    request('tools/call', greet),
    400,
    -32020,
  ],
  ['another method', named('tools/list', 'whoami'), request('tools/call', greet), 400, -32020],
  [
    'no capabilities',
    named('tools/list'),
    request('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': modern } }),
    400,
    -32602,
  ],
  ['a legacy method of a modern client', named('ping'), request('ping', { _meta: meta }), 404, -32601],
  [
    'a state of nobody',
    named('tools/call', 'whoami'),
    request('tools/call', { ...greet, requestState: 'a.1.b' }),
    200,
    -32602,
  ],
  [
    'a state that is a number',
    named('tools/call', 'whoami'),
    request('tools/call', { ...greet, requestState: 7 }),
    200,
    -32602,
  ],
  [
    'a task without the capability',
    named('tasks/get', 'x'),
    request('tasks/get', { taskId: 'x', _meta: meta }),
    400,
    -32021,
  ],
  [
    'listening to nothing',
    named('subscriptions/listen'),
    request('subscriptions/listen', { _meta: meta }),
    400,
    -32602,
  ],
  ['a form', { ...json, 'content-type': 'application/x-www-form-urlencoded' }, 'a=b', 415, -32600],
  ['a text file', { ...json, 'content-type': 'text/plain' }, request('ping'), 415, -32600],
  ['a foreign page', { ...json, origin: 'https://evil.example' }, request('ping'), 403, -32600],
  ['a page of nowhere', { ...json, origin: 'null' }, request('ping'), 403, -32600],
  ['depth', json, `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, 400, -32700],
  ['a prototype', json, '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{"x":1}}', 400, -32700],
  ['NUL', json, '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\u0000"}}', 400, -32700],
]

test.each(cases)('%s is refused in the words of the protocol', async (_name, headers, body, status, code) => {
  const answer = await send(headers, body)
  expect([answer.status, JSON.parse(answer.text).error?.code], answer.text).toEqual([status, code])
})

test('a name that was made to point here is no name of this service', async () => {
  const { request: ask } = await import('node:http')
  const { port } = new URL(house.url)
  const status = await new Promise((resolve, reject) => {
    const headers = { ...json, 'x-api-key': key, host: 'evil.example' }
    const sent = ask({ port, host: '127.0.0.1', path: '/mcp/', method: 'POST', headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    sent.on('error', reject)
    sent.end(request('ping'))
  })
  expect(status).toBe(403)
})

test('guessed replies and cancellations change nothing', async () => {
  expect((await send(json, '{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept"}}')).status).toBe(202)
  expect((await send(json, '{"jsonrpc":"2.0","id":"ask-1","error":{"code":1,"message":"x"}}')).status).toBe(
    202,
  )
  const cancel = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 1 },
  })
  expect((await send({ ...json, 'mcp-session-id': 'x'.repeat(4000) }, cancel)).status).toBe(202)
})

function send(headers: Record<string, string>, body: string) {
  return house.call('POST', '/mcp/', { key, headers, body })
}

const methods = fc.constantFrom(
  'tools/call',
  'tools/list',
  'initialize',
  'ping',
  'resources/read',
  'resources/list',
  'prompts/get',
  'prompts/list',
  'completion/complete',
  'server/discover',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'skills/list',
  'skills/get',
  'notifications/cancelled',
  'constructor',
  '__proto__',
  'toString',
  '',
)
const names = fc.oneof(
  fc.constantFrom(
    'whoami',
    'search_skills',
    'get_skill',
    'get_execution',
    'list_workflows',
    'constructor',
    '__proto__',
  ),
  fc.string({ maxLength: 40 }),
)
const messages = fc.record(
  {
    jsonrpc: fc.constantFrom('2.0', '1.0', 2, null),
    id: fc.oneof(fc.integer(), fc.string({ maxLength: 20 }), fc.constantFrom(null, {}, [], 1.5)),
    method: fc.oneof({ weight: 5, arbitrary: methods }, { weight: 1, arbitrary: fc.jsonValue() }),
    params: fc.oneof(
      fc.record(
        {
          name: names,
          uri: fc.oneof(fc.webUrl(), names),
          taskId: names,
          arguments: fc.oneof(
            fc.dictionary(fc.string({ maxLength: 10 }), fc.jsonValue({ maxDepth: 3 })),
            fc.jsonValue(),
          ),
          cursor: fc.jsonValue({ maxDepth: 1 }),
          requestState: fc.oneof(fc.string(), fc.integer()),
          inputResponses: fc.jsonValue({ maxDepth: 2 }),
          argument: fc.jsonValue({ maxDepth: 2 }),
          _meta: fc.oneof(fc.constant(meta), fc.jsonValue({ maxDepth: 2 })),
        },
        { requiredKeys: [] },
      ),
      fc.jsonValue({ maxDepth: 3 }),
    ),
  },
  { requiredKeys: [] },
)
const headerText = fc.stringMatching(/^[\x21-\x7e]{0,40}$/)
const headerSets = fc.record(
  {
    'mcp-protocol-version': fc.constantFrom(modern, '2025-11-25', '2025-03-26', 'x'),
    'mcp-method': fc.oneof(
      methods.filter((name) => name !== ''),
      headerText,
    ),
    'mcp-name': fc.oneof(fc.constantFrom('whoami', '=?base64?d2hvYW1p?='), headerText),
    'mcp-session-id': headerText,
  },
  { requiredKeys: [] },
)

test(`of ${tries} made-up messages none brings out a fault or anything inner`, {
  timeout: 1_800_000,
}, async () => {
  const tried = fc.asyncProperty(
    fc.oneof(messages, fc.array(messages, { maxLength: 3 })),
    headerSets,
    async (body, headers) => {
      const began = performance.now()
      const answer = await send({ ...json, ...headers }, JSON.stringify(body))
      // None of these waits for anything, so that only something that runs away takes long.
      expectWithin(performance.now() - began, slowestMs)
      expect(answer.status, answer.text).toBeLessThan(500)
      expect(answer.text).not.toMatch(/node_modules|\.ts:|TypeError|Cannot read|native code|-32603/)
    },
  )
  await fc.assert(tried, { numRuns: tries, seed: 15 })
})
