import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleOf } from './sample.ts'
import { type ModelEndpoint, openModelEndpoint } from './server.ts'

let endpoint: ModelEndpoint

beforeAll(async () => {
  endpoint = await openModelEndpoint({ port: 0 })
})

afterAll(() => endpoint.close())

const user = { role: 'user', content: 'Hi' }

async function post(path: string, headers: Record<string, string>, body: unknown) {
  const sent = { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
  const response = await fetch(`${endpoint.url}/${path}`, sent)
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
}

function scripted(...steps: object[]) {
  return { role: 'user', content: `\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\`` }
}

describe('anthropic', () => {
  const headers = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' }
  const ask = (more: object) =>
    post('messages', headers, { model: 'm', max_tokens: 99, messages: [user], ...more })
  const use = (id: string) => ({
    role: 'assistant',
    content: [{ type: 'tool_use', id, name: 'bash', input: {} }],
  })
  const result = (id: string) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }],
  })
  const tools = [{ name: 'bash', input_schema: { type: 'object' } }]

  test('answers in one piece', async () => {
    const uses = [{ name: 'bash', input: { command: 'ls' } }]
    const messages = [scripted({ think: 'Hm', say: 'Looking', tools: uses, usage: { input: 7, output: 3 } })]
    const { status, body } = await ask({ messages })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      type: 'message',
      role: 'assistant',
      stop_reason: 'tool_use',
      usage: { input_tokens: 7, output_tokens: 3 },
      content: [
        { type: 'thinking', thinking: 'Hm' },
        { type: 'text', text: 'Looking' },
        { type: 'tool_use', name: 'bash', input: { command: 'ls' } },
      ],
    })
  })

  test.each([
    ['no limit of length', { max_tokens: undefined }, 'max_tokens'],
    ['no model', { model: undefined }, 'model'],
    ['no messages', { messages: [] }, 'messages'],
    ['an assistant first', { messages: [{ role: 'assistant', content: 'Hi' }, user] }, 'first message'],
    ['a system role', { messages: [{ role: 'system', content: 'x' }] }, 'role'],
    ['an assistant last', { messages: [user, { role: 'assistant', content: 'Hi' }] }, 'prefill'],
    ['an empty text', { messages: [{ role: 'user', content: '' }] }, 'non-empty'],
    ['a use without tools', { messages: [user, use('a'), result('a')] }, 'tools'],
    ['a result without its use', { tools, messages: [user, result('a')] }, 'unexpected `tool_use_id`'],
    ['a use without its result', { tools, messages: [user, use('a'), user] }, 'without `tool_result`'],
    [
      'two results of one use',
      {
        tools,
        messages: [
          user,
          use('a'),
          { role: 'user', content: [...result('a').content, ...result('a').content] },
        ],
      },
      'unexpected',
    ],
    ['a tool without a schema', { tools: [{ name: 'bash' }] }, 'input_schema'],
    [
      'two tools of one name',
      { tools: Array(2).fill({ name: 'b', input_schema: { type: 'object' } }) },
      'unique',
    ],
    ['a broken script', { messages: [{ role: 'user', content: '```script\n{\n```' }] }, 'not JSON'],
  ])('refuses %s', async (_, more, problem) => {
    const { status, body } = await ask(more)
    expect(status).toBe(400)
    expect(body).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
    expect(body.error.message).toContain(problem)
  })

  test('wants its headers', async () => {
    const without = await post('messages', {}, {})
    expect([without.status, without.body.error.type]).toEqual([401, 'authentication_error'])
    expect((await post('messages', { 'x-api-key': 'k' }, {})).status).toBe(400)
    expect((await post('messages', headers, '{')).status).toBe(400)
  })

  test('fails as often as it was told to, again and again', async () => {
    const messages = [scripted({ say: 'Yes', fail: { status: 529, times: 2, retryAfterSeconds: 4 } })]
    const statuses: number[] = []
    for (let attempt = 0; attempt < 6; attempt++) {
      const { status, headers: told, body } = await ask({ messages })
      statuses.push(status)
      if (status === 529)
        expect([told.get('retry-after'), body.error.type]).toEqual(['4', 'overloaded_error'])
    }
    expect(statuses).toEqual([529, 529, 200, 529, 529, 200])
  })
})

describe('openai', () => {
  const headers = { authorization: 'Bearer k' }
  const ask = (more: object) => post('chat/completions', headers, { model: 'm', messages: [user], ...more })
  const calls = [{ id: 'a', type: 'function', function: { name: 'bash', arguments: '{}' } }]
  const use = { role: 'assistant', content: null, tool_calls: calls }
  const result = { role: 'tool', tool_call_id: 'a', content: 'ok' }

  test('answers in one piece', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const format = { type: 'json_schema', json_schema: { name: 'r', schema } }
    const { status, body } = await ask({ response_format: format })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { role: 'assistant', content: '{"n":1}' }, finish_reason: 'stop' }],
      usage: { total_tokens: expect.any(Number) },
    })
    const done = await ask({
      messages: [scripted({ tools: [{ name: 'bash', input: {} }] }, { say: 'Two' }), use, result],
    })
    expect(done.body.choices[0].message.content).toBe('Two')
  })

  test.each([
    ['no model', { model: undefined }, 'model'],
    ['no messages', { messages: [] }, 'messages'],
    ['an unknown role', { messages: [{ role: 'robot', content: 'x' }] }, 'robot'],
    ['a result without its call', { messages: [user, result] }, 'tool_calls'],
    ['a call without its result', { messages: [user, use, user] }, 'tool_call_id'],
    ['a call without its result at the end', { messages: [user, use] }, 'tool_call_id'],
    ['an assistant that says nothing', { messages: [user, { role: 'assistant', content: null }] }, 'content'],
    ['a tool without a name', { tools: [{ type: 'function', function: {} }] }, 'name'],
    ['an unknown format', { response_format: { type: 'xml' } }, 'response_format'],
  ])('refuses %s', async (_, more, problem) => {
    const { status, body } = await ask(more)
    expect(status).toBe(400)
    expect(body.error).toMatchObject({ type: 'invalid_request_error' })
    expect(body.error.message).toContain(problem)
  })

  test('wants a key', async () => {
    const { status, body } = await post('chat/completions', {}, {})
    expect([status, body.error.code]).toEqual([401, 'invalid_api_key'])
  })
})

test('a sample has what a schema requires', () => {
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['next'] }
  const properties = {
    id: { type: 'string', format: 'uuid' },
    code: { type: 'string', minLength: 6 },
    size: { type: 'number', minimum: 10 },
    kind: { anyOf: [{ const: 'a' }, { const: 'b' }] },
    list: { type: 'array', items: { type: ['boolean', 'null'] }, minItems: 2 },
    left: { type: 'string' },
  }
  const required = ['id', 'code', 'size', 'kind', 'list']
  expect(sampleOf({ type: 'object', properties, required })).toEqual({
    id: '00000000-0000-4000-8000-000000000000',
    code: 'text..',
    size: 10,
    kind: 'a',
    list: [true, true],
  })
  // A schema that can only be met by something endless is given up at some depth.
  expect(JSON.stringify(sampleOf({ ...node, $defs: { node } }))).toContain('null')
})
