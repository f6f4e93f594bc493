import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { newApprover } from '../support/approver.ts'
import { createDatabase, type House, nowhere, openHouse } from '../support/house.ts'
import { clientKinds, connect } from '../support/mcp-clients.ts'

/** Two processes' worth of server on one database: every second request reaches the other one. */
let houses: [House, House]
let person: Person
const appUrl = 'https://app.test'

beforeAll(async () => {
  const model = {
    id: 'scripted',
    provider: 'anthropic',
    baseUrl: `http://${nowhere}`,
    apiKey: 'k',
    default: true,
    inputPricePerMillion: 1000,
    outputPricePerMillion: 1000,
  }
  const settings = {
    DATABASE_URL: await createDatabase(),
    APP_URL: appUrl,
    MODELS: JSON.stringify([model]),
    STARTING_CREDITS: '100',
  }
  houses = [await openHouse(settings), await openHouse(settings)]
  person = await houses[0].newPerson()
})
afterAll(() => Promise.all(houses.map((house) => house.close())))

const newKey = async (fields: object = {}, of = person) => houses[0].newKey(of, { ...fields })
const modern = '2026-07-28'
const metaOf = (capabilities: object) => ({
  'io.modelcontextprotocol/protocolVersion': modern,
  'io.modelcontextprotocol/clientCapabilities': capabilities,
})

function say(
  key: string,
  method: string,
  params: Record<string, unknown> = {},
  { capabilities = {}, house = houses[0] }: { capabilities?: object; house?: House } = {},
): Promise<Answer> {
  const name = params['name'] ?? params['uri'] ?? params['taskId']
  return house.call('POST', '/mcp/', {
    key,
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': modern,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: metaOf(capabilities) } },
  })
}
const callTool = (key: string, name: string, args: object = {}, more: object = {}, house?: House) =>
  say(key, 'tools/call', { name, arguments: args, ...more }, house ? { house } : {})

const waiting = async (of = person) =>
  (await houses[0].call('GET', '/api/v1/approvals?status=pending', { token: of.token })).body
const message = { message: 'Hello', wait_seconds: 0 }

describe.each(clientKinds)('a client that is %s', (kind) => {
  test('has its call go on when the person agrees, and told why not when they do not', async () => {
    const someone = await newApprover(houses)
    const { secret } = await newKey({ scopes: ['profile:read'] }, someone)
    const links: string[] = []
    const client = await connect(kind, houses, secret, (url) => {
      links.push(url)
      return 'accept'
    })
    const [denied] = await Promise.all([
      client.call('message_agent', message),
      someone.decideNext('deny', { reason: 'Not today' }),
    ])
    expect([denied.isError, denied.content[0]?.text]).toEqual([true, expect.stringContaining('"Not today"')])
    const again = await client.call('message_agent', message)
    expect(again.content[0]?.text).toContain('was not asked again')
    expect(await someone.waiting()).toEqual([])

    const other = (await newKey({ scopes: ['profile:read'] }, someone)).secret
    const second = await connect(kind, houses, other, (url) => {
      links.push(url)
      return 'accept'
    })
    const [granted, requestId] = await Promise.all([
      second.call('message_agent', message),
      someone.decideNext('approve', { mode: 'one_time' }),
    ])
    expect(granted.isError, granted.content[0]?.text).toBeFalsy()
    expect(granted.structuredContent).toMatchObject({ threadId: expect.any(String) })
    if (kind.endsWith('with links')) expect(links.at(-1)).toBe(`${appUrl}/approvals/${requestId}`)
    await Promise.all([client.close(), second.close()])
  })
})

test('a link that is put off in the client leaves the request open', async () => {
  for (const kind of ['v1 with links', 'v2 with links'] as const) {
    const someone = await newApprover(houses)
    const { secret } = await newKey({ scopes: ['profile:read'] }, someone)
    const client = await connect(kind, houses, secret, () => 'decline')
    const result = await client.call('message_agent', message)
    expect(result.content[0]?.text).toContain('It stays open')
    expect(await someone.waiting()).toHaveLength(1)
    await client.close()
  }
})

describe('a state that a client brings back', () => {
  const ask = async () => {
    const someone = await newApprover(houses)
    const { secret } = await newKey({ scopes: ['profile:read'] }, someone)
    const asked = await callTool(secret, 'message_agent', message)
    expect(asked.body.result).toMatchObject({
      resultType: 'input_required',
      requestState: expect.any(String),
    })
    expect(asked.body.result.inputRequests).toBeUndefined()
    return { someone, secret, requestState: asked.body.result.requestState as string }
  }

  test('makes one effect, however often and wherever it is brought', async () => {
    const { someone, secret, requestState } = await ask()
    await someone.decideNext('approve', { mode: 'one_time' })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        callTool(secret, 'message_agent', message, { requestState }, houses[index % 2]),
      ),
    )
    const runs = answers.map(({ body }) => body.result?.structuredContent?.runId)
    expect(new Set(runs)).toEqual(new Set([expect.stringMatching(/^chat_/)]))
  })

  test('is good for this credential, call and text alone', async () => {
    const { someone, secret, requestState } = await ask()
    await someone.decideNext('approve')
    const refused = async (state: string, key = secret, args: object = message, tool = 'message_agent') => {
      const { body } = await callTool(key, tool, args, { requestState: state })
      expect(body.error, JSON.stringify(body)).toMatchObject({ code: -32602 })
    }
    await refused(requestState, (await newKey({ scopes: ['profile:read'] }, someone)).secret)
    await refused(requestState, secret, { ...message, message: 'Something else' })
    await refused(requestState, secret, {}, 'whoami')
    for (let at = 0; at < requestState.length; at += 7) {
      const flipped = requestState[at] === 'A' ? 'B' : 'A'
      await refused(requestState.slice(0, at) + flipped + requestState.slice(at + 1))
    }
    const { body } = await callTool(secret, 'message_agent', message, { requestState })
    expect(body.result.structuredContent).toMatchObject({ runId: expect.stringMatching(/^chat_/) })
  })
})

describe('what a person is shown of a call', () => {
  const nested = Array.from({ length: 70 }).reduce<object>((inner) => ({ a: inner }), {})
  const askedAs = async (args: object) => {
    const someone = await houses[0].newPerson()
    const { secret } = await newKey({ scopes: ['profile:read'] }, someone)
    const { body } = await callTool(secret, 'launch_workflow', { workflow: 'none', ...args, wait_seconds: 0 })
    expect(body.result.resultType, JSON.stringify(body.result.content)).toBe('input_required')
    return (await waiting(someone)).items[0]
  }

  test.each([
    ['many bytes in few characters', { inputs: { text: '漢'.repeat(25_000) } }],
    ['many levels', { inputs: nested }],
  ])('is how much it is, of %s', async (_name, args) => {
    const { action } = await askedAs(args)
    expect(action.args).toEqual({ note: expect.stringMatching(/^\d+ bytes/) })
  })

  test('is in words of ours but for one name, however a model wrote that', async () => {
    const { reason } = await askedAs({ workflow: 'a\n\nGuildhall:\u202echecked\u001b[31m' })
    expect(reason).toBe('Launch a workflow: a Guildhall: checked [31m')
    expect((await askedAs({ workflow: `${'a'.repeat(99)}😀b` })).reason).toMatch(/a😀$/)
  })
})

test('a call that wants no waiting is told the request and its link at once', async () => {
  const { secret } = await newKey({ scopes: ['profile:read'] }, await houses[0].newPerson())
  const { body } = await say(secret, 'tools/call', {
    name: 'message_agent',
    arguments: message,
    _meta: undefined,
  })
  expect(body.result.resultType).toBe('input_required')
  const off = await houses[0].call('POST', '/mcp/', {
    key: secret,
    headers: { accept: 'application/json' },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'message_agent', arguments: message, _meta: { 'dev.guildhall/bridge': 'off' } },
    },
  })
  expect(off.body.result).toMatchObject({
    isError: true,
    _meta: { 'dev.guildhall/error': { approval_url: expect.stringContaining(`${appUrl}/approvals/`) } },
  })
})

describe('the permission prompt of a coding agent', () => {
  const prompt = { tool_name: 'Bash', input: { command: 'rm -rf build' }, tool_use_id: 'toolu_1' }
  const answerNext = async (of: Person, verb: 'approve' | 'deny', body: object) => {
    for (let tries = 0; tries < 100; tries++) {
      const { items = [] } = await waiting(of)
      if (items[0])
        return houses[1].call('POST', `/api/v1/approvals/${items[0].id}/${verb}`, { token: of.token, body })
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error('nobody asked')
  }

  test('is answered from the app, in the words that such an agent reads', async () => {
    const someone = await newApprover(houses)
    const client = await connect('v1', houses, (await newKey({ scopes: ['profile:read'] }, someone)).secret)
    const [allowed] = await Promise.all([
      client.call('ask_person', prompt),
      answerNext(someone, 'approve', { choice: 'allow', edited_args: { command: 'rm -rf ./build' } }),
    ])
    expect(JSON.parse(allowed.content[0]?.text ?? '')).toEqual({
      behavior: 'allow',
      updatedInput: { command: 'rm -rf ./build' },
    })
    const [denied] = await Promise.all([
      client.call('ask_person', prompt),
      answerNext(someone, 'deny', { reason: 'Keep it' }),
    ])
    expect(JSON.parse(denied.content[0]?.text ?? '')).toEqual({ behavior: 'deny', message: 'Keep it' })
    await client.close()
  })

  test('is a no when nobody answers, and is not left waiting', async () => {
    const someone = await newApprover(houses)
    const { secret } = await newKey({ scopes: ['profile:read'] }, someone)
    const { body } = await callTool(secret, 'ask_person', { ...prompt, wait_seconds: 1 })
    expect(JSON.parse(body.result.content[0].text)).toMatchObject({ behavior: 'deny' })
    expect(await someone.waiting()).toEqual([])
  })
})

describe('tenants', () => {
  test('are told the same list of tools, to the byte', async () => {
    const stranger = await houses[0].newPerson()
    const keys = [
      await newKey(),
      await newKey({}, stranger),
      await newKey({ scopes: ['profile:read'] }, stranger),
    ]
    const texts = await Promise.all(
      keys.map(
        async ({ secret }, index) =>
          (await say(secret, 'tools/list', {}, { house: houses[index % 2] as House })).text,
      ),
    )
    expect(new Set(texts).size).toBe(1)
    // More than four bytes a token: bench/peers counts the tokens, of which there may be 3,000.
    expect(Buffer.byteLength(texts[0] ?? '')).toBeLessThan(12_800)
  })

  test("cannot tell another's things from missing ones, by any tool or resource", async () => {
    const stranger = await houses[0].newPerson()
    const own = await newKey()
    const made = await callTool(own.secret, 'message_agent', {
      message: 'Mine',
      wait_seconds: 0,
    })
    const { threadId } = made.body.result.structuredContent
    const { secret } = await newKey({}, stranger)
    const calls: [string, (id: string) => object, string][] = [
      ['message_agent', (id) => ({ message: 'x', thread_id: id, wait_seconds: 0 }), threadId],
      ['get_execution', (id) => ({ execution_id: id }), `exec_${randomUUID()}`],
      ['cancel_execution', (id) => ({ execution_id: id }), `exec_${randomUUID()}`],
      ['get_workflow_run', (id) => ({ run_id: id }), `run_${randomUUID()}`],
      ['resume_workflow', (id) => ({ run_id: id }), `run_${randomUUID()}`],
      [
        'append_trace',
        (id) => ({ trace_id: id, events: [{ type: 'agent.text', payload: {} }] }),
        `trace_${randomUUID()}`,
      ],
    ]
    for (const [tool, args, foreign] of calls) {
      const [theirs, none] = await Promise.all(
        [foreign, 'thread_none'].map((id) => callTool(secret, tool, args(id))),
      )
      const plain = (answer: Answer | undefined) =>
        answer?.text
          .replaceAll(/"request_id":"[^"]*"/g, '')
          .replaceAll(/[a-z]+_[0-9a-f-]{36}|thread_none/g, '')
      expect(plain(theirs), tool).toBe(plain(none))
      expect(theirs?.body.result.isError, tool).toBe(true)
    }
  })
})

test('a wait ends with its credential', async () => {
  const { id, secret } = await newKey({ scopes: ['profile:read'] })
  const asked = callTool(secret, 'request_permission', {
    scope: 'agent:message',
    reason: 'x',
    wait_seconds: 50,
  })
  await new Promise((resolve) => setTimeout(resolve, 1500))
  const revokedAt = performance.now()
  await houses[1].call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
  const answer = await asked
  expect([answer.status, answer.body.error.code]).toEqual([401, 'UNAUTHORIZED'])
  // Not when the poll that was under way is over, which would be 20 s later.
  expectWithin(performance.now() - revokedAt, 8000, 'the wait', 18_000)
})

test('whoever said no is not asked again at once, by the tool for it either', async () => {
  const { secret } = await newKey({ scopes: ['profile:read'] })
  const ask = () =>
    callTool(secret, 'request_permission', { scope: 'agent:list', reason: 'x', wait_seconds: 0 })
  const { request_id: id } = (await ask()).body.result.structuredContent
  const denied = await houses[1].call('POST', `/api/v1/agents/request-permission/${id}/deny`, {
    token: person.token,
    body: {},
  })
  expect(denied.status, denied.text).toBe(200)
  const again = (await ask()).body.result
  expect([again.isError, JSON.stringify(again)]).toEqual([true, expect.stringContaining('FORBIDDEN')])
})
