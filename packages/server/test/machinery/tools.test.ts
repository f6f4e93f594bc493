import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { prepareToolInput } from '#machinery/graph/graph.ts'
import { createToolbox, type Toolbox, type ToolCall, ToolFailure } from '#machinery/tools/tools.ts'
import { readConfig } from '#platform/config.ts'
import { openOutbound } from '#platform/outbound.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { longestTurn } from '../support/longest-turn.ts'

const call = (more: Partial<ToolCall> = {}): ToolCall => ({
  workspaceId: '7d9f2c1e-4b1a-4c55-9f0e-3a6b8c2d1e00',
  userId: 'user',
  apiKeyId: null,
  runId: 'run',
  stepId: 'step',
  idempotencyKey: 'run:step:0:0:0',
  signal: new AbortController().signal,
  ...more,
})

const settings = {
  devTools: true,
  httpToolAllow: [] as string[],
  toolsModule: undefined as string | undefined,
  transformTimeoutMs: 1000,
}

const toolboxWith = (more: Partial<typeof settings> = {}, allow: string[] = []): Toolbox =>
  createToolbox({ config: { ...settings, ...more }, outbound: openOutbound(allow, undefined) })

/** As a step does it: the input is checked, then the tool is called. */
async function use(toolbox: Toolbox, toolId: string, input: unknown, more: Partial<ToolCall> = {}) {
  const tool = toolbox.find(toolId)
  if (!tool) throw new Error(`no tool ${toolId}`)
  const prepared = prepareToolInput(tool.inputSchema, input)
  if (prepared.issues.length > 0) throw new Error(JSON.stringify(prepared.issues))
  return tool.run(prepared.input, call(more))
}

describe('the toolbox', () => {
  const builtIn = ['execute-skill', 'ask-human', 'request-approval', 'http-request', 'transform-json']

  test('has the tools of tests only where they are wanted', () => {
    expect(toolboxWith({ devTools: false }).ids()).toEqual(builtIn)
    expect(toolboxWith().ids()).toEqual([...builtIn, 'echo', 'add', 'fail', 'flaky', 'list', 'upper'])
    expect(toolboxWith().inputSchemaOf('add')).toMatchObject({ required: ['a', 'b'] })
    expect(toolboxWith().find('constructor')).toBeUndefined()
  })

  test("has a deployment's own tools, and says what is wrong with them", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'guildhall-tools-'))
    const moduleWith = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return { toolsModule: join(folder, name) }
    }
    const shout = `id: 'shout', description: '', quick: true, inputSchema: { type: 'object' },
      run: async ({ text }) => ({ kind: 'output', output: text + '!' })`
    const own = toolboxWith(moduleWith('good.mjs', `export const tools = [{ ${shout} }]`))
    expect(await use(own, 'shout', { text: 'hey' })).toEqual({ kind: 'output', output: 'hey!' })
    const broken: [string, string, string][] = [
      ['syntax.mjs', 'export const', 'cannot be loaded'],
      ['none.mjs', 'export const things = []', 'no list called tools'],
      ['half.mjs', `export const tools = [{ ${shout} }, { id: 'x' }]`, 'number 2'],
      ['twice.mjs', `export const tools = [{ ${shout.replace('shout', 'echo')} }]`, '"echo" already'],
    ]
    for (const [name, text, problem] of broken) {
      expect(() => toolboxWith(moduleWith(name, text)), name).toThrow(problem)
    }
    expect(() => toolboxWith({ toolsModule: join(folder, 'nowhere.mjs') })).toThrow('cannot be loaded')
    rmSync(folder, { recursive: true })
  })
})

test('settings that would be mistakes are refused by name', () => {
  const refusal = (env: Record<string, string>) => () => readConfig(env)
  expect(refusal({ NODE_ENV: 'production', DEV_TOOLS: '1' })).toThrow(
    'DEV_TOOLS must not be set in production',
  )
  expect(refusal({ NODE_ENV: 'test', DEV_TOOLS: '1' })).not.toThrow('DEV_TOOLS')
  for (const host of ['https://a.example', 'a.example/x', 'a.example:99', 'a@b', '*']) {
    expect(refusal({ HTTP_TOOL_ALLOW: host }), host).toThrow(`"${host}" is not a host name`)
  }
  expect(refusal({ HTTP_TOOL_ALLOW: 'api.example, 127.0.0.1,[::1]' })).not.toThrow('HTTP_TOOL_ALLOW')
})

describe('questions', () => {
  const toolbox = toolboxWith()
  const check = (toolId: string, data: unknown, payload: unknown = {}) =>
    toolbox.find(toolId)?.checkAnswer?.(data, payload).length === 0

  test('ask-human suspends, and gives what the person said', async () => {
    const asked = await use(toolbox, 'ask-human', { question: 'Publish?', choices: ['yes', 'no'] })
    const payload = { kind: 'question', question: 'Publish?', choices: ['yes', 'no'] }
    expect(asked).toEqual({ kind: 'suspend', payload })
    for (const data of ['yes', { answer: 'yes' }]) {
      expect(check('ask-human', data, payload)).toBe(true)
      const answered = await use(toolbox, 'ask-human', { question: 'Publish?' }, { answer: { data, at: 1 } })
      expect(answered).toEqual({ kind: 'output', output: { answer: 'yes' } })
    }
    for (const data of ['maybe', { answer: 'maybe' }]) expect(check('ask-human', data, payload)).toBe(false)
    for (const data of [null, 5, true, {}, [], ['yes'], { answer: 5 }, { answer: null }]) {
      expect(check('ask-human', data), JSON.stringify(data)).toBe(false)
    }
    expect(check('ask-human', '')).toBe(true)
  })

  test('request-approval suspends, and a no is an answer', async () => {
    const input = { action: 'Delete it', details: { rows: 3 } }
    expect(await use(toolbox, 'request-approval', input)).toEqual({
      kind: 'suspend',
      payload: { kind: 'approval', ...input },
    })
    const no = { data: { approved: false, note: 'not today' }, at: 1 }
    expect(await use(toolbox, 'request-approval', input, { answer: no })).toEqual({
      kind: 'output',
      output: { approved: false, note: 'not today' },
    })
    const yes = { data: { approved: true }, at: 1 }
    expect(await use(toolbox, 'request-approval', input, { answer: yes })).toEqual({
      kind: 'output',
      output: { approved: true, note: null },
    })
    for (const data of [{ approved: true }, { approved: false, note: '' }]) {
      expect(check('request-approval', data)).toBe(true)
    }
    for (const data of [null, true, 'yes', [], {}, { approved: 'yes' }, { approved: true, note: 5 }]) {
      expect(check('request-approval', data), JSON.stringify(data)).toBe(false)
    }
  })
})

test('the tools of tests do what the corpus is written for', async () => {
  const toolbox = toolboxWith()
  const output = async (toolId: string, input: unknown, idempotencyKey = 'run:s:0:0:0') =>
    (await use(toolbox, toolId, input, { idempotencyKey })) as { output: unknown }
  expect(await output('echo', [1])).toMatchObject({ output: [1] })
  expect(await output('add', { a: 1, b: 2 })).toMatchObject({ output: { sum: 3 } })
  expect(await output('list', { items: [1] })).toMatchObject({ output: [1] })
  expect(await output('upper', { text: 'hi', more: 1 })).toMatchObject({ output: { text: 'HI' } })
  await expect(output('fail', {})).rejects.toThrow('fail tool always fails')
  await expect(output('flaky', { failures: 2 }, 'run:s:0:0:1')).rejects.toThrow('flaky attempt 2')
  expect(await output('flaky', { failures: 2 }, 'run:s:0:0:2')).toMatchObject({
    output: { failures: 2, ok: true, attempts: 3 },
  })
  expect(await output('flaky', { failures: 2, mode: 'soft' }, 'run:s:0:1:0')).toMatchObject({
    output: { ok: false, attempts: 2 },
  })
})

describe('http-request', () => {
  let server: Server
  let host: string
  let toolbox: Toolbox
  const heard: { request: IncomingMessage; body: string }[] = []

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      heard.push({ request, body })
      if (request.url === '/elsewhere') {
        return response.writeHead(302, { location: 'http://127.0.0.1:1/secret', 'set-cookie': 'a=b' }).end()
      }
      if (request.url === '/large') return response.end('x'.repeat(600_000))
      if (request.url === '/never') return
      response.writeHead(request.url === '/broken' ? 503 : 200, {
        'content-type': 'application/json',
        'x-own': '1',
      })
      response.end(JSON.stringify({ method: request.method, got: body }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    toolbox = toolboxWith({ httpToolAllow: ['127.0.0.1', 'metadata.google.internal', '10.0.0.1'] }, [host])
  })

  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  test('sends what it is told and gives what comes back', async () => {
    const input = { url: `http://${host}/a?b=1`, method: 'POST', headers: { 'X-Mine': 'v' }, body: { n: 1 } }
    const result = await use(toolbox, 'http-request', input, { idempotencyKey: 'run:s:0:0:2' })
    expect(result).toEqual({
      kind: 'output',
      output: {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: { method: 'POST', got: '{"n":1}' },
      },
    })
    const { request } = heard.at(-1) ?? {}
    expect(request?.url).toBe('/a?b=1')
    expect(request?.headers).toMatchObject({
      'x-mine': 'v',
      'content-type': 'application/json',
      'idempotency-key': 'run:s:0:0:2',
    })
  })

  test('any status is an answer, and a redirect is not followed', async () => {
    const broken = await use(toolbox, 'http-request', { url: `http://${host}/broken` })
    expect(broken).toMatchObject({ output: { status: 503 } })
    const before = heard.length
    expect(await use(toolbox, 'http-request', { url: `http://${host}/elsewhere` })).toEqual({
      kind: 'output',
      output: { status: 302, headers: { location: 'http://127.0.0.1:1/secret' }, body: '' },
    })
    expect(heard).toHaveLength(before + 1)
  })

  test('other hosts, private addresses and headers that are not its to set are refused', async () => {
    const before = heard.length
    const { port } = new URL(`http://${host}`)
    const urls = [
      `http://localhost:${port}/`,
      `http://user@${host}/`,
      'https://10.0.0.1/',
      'https://metadata.google.internal/',
      'http://127.0.0.1:1/',
      'file:///etc/passwd',
      'https://example.com/',
      'not an address',
    ]
    for (const url of urls) {
      const refused = use(toolbox, 'http-request', { url })
      await expect(refused, url).rejects.toBeInstanceOf(ToolFailure)
      await expect(refused, url).rejects.toMatchObject({ code: 'STEP_INPUT_INVALID' })
    }
    for (const name of [
      'Host',
      'cookie',
      'Authorization',
      'x-forwarded-for',
      'Idempotency-Key',
      'a b',
      'é',
    ]) {
      const refused = use(toolbox, 'http-request', { url: `http://${host}/`, headers: { [name]: 'x' } })
      await expect(refused, name).rejects.toMatchObject({ code: 'STEP_INPUT_INVALID' })
    }
    const split = use(toolbox, 'http-request', { url: `http://${host}/`, headers: { a: 'b\r\nc: d' } })
    await expect(split).rejects.toMatchObject({ code: 'STEP_INPUT_INVALID' })
    expect(heard).toHaveLength(before)
    const nobody = toolboxWith({}, [host])
    await expect(use(nobody, 'http-request', { url: `http://${host}/` })).rejects.toThrow('HTTP_TOOL_ALLOW')
  })

  test('an answer that is too large fails, and an abort ends the wait', async () => {
    await expect(use(toolbox, 'http-request', { url: `http://${host}/large` })).rejects.toThrow(
      '500000 bytes',
    )
    const leaving = new AbortController()
    const waiting = use(toolbox, 'http-request', { url: `http://${host}/never` }, { signal: leaving.signal })
    setTimeout(() => leaving.abort(new Error('canceled')), 50)
    await expect(waiting).rejects.toThrow('canceled')
  })
})

describe('transform-json', () => {
  const toolbox = toolboxWith()
  const transform = async (expression: string, data?: unknown, signal?: AbortSignal) => {
    const result = await use(toolbox, 'transform-json', { expression, data }, signal ? { signal } : {})
    return (result as { output: unknown }).output
  }

  test('builds new shapes', async () => {
    const data = {
      rows: [
        { name: 'a', price: 2 },
        { name: 'b', price: 3 },
      ],
    }
    const expression = '{ "total": $sum(rows.price), "names": [rows.name], "none": nothing }'
    expect(await transform(expression, data)).toEqual({ total: 5, names: ['a', 'b'] })
    expect(await transform('nothing', data)).toBeNull()
    expect(await transform('$.length', 'x')).toBeNull()
    await expect(transform('$sum(', data)).rejects.toThrow('at character 5')
    await expect(transform('$sum("x")', data)).rejects.toThrow('The expression fails')
  })

  test('sees nothing of the process', async () => {
    for (const expression of [
      '$process',
      'process',
      '$require("fs")',
      'constructor',
      '__proto__',
      'a.constructor',
    ]) {
      expect(await transform(expression, { a: [1] }).catch(() => null), expression).toBeNull()
    }
  })

  test('bombs end within bounds while the event loop goes on', async () => {
    const bombs = [
      '($f := function($x) { $f($x) }; $f(1))',
      '($f := function($x) { $f($x) + 1 }; $f(1))',
      '($s := function($x) { $length($x) > 300000000 ? $x : $s($x & $x) }; $s("abcdefgh"))',
      '$pad("x", 500000000)',
      '[1..10000000]',
      '$map([1..150000], function($x) { $pad("x", 1000) })',
      '('.repeat(5000),
    ]
    const started = performance.now()
    const { longestMs, result: results } = await longestTurn(() =>
      Promise.allSettled(bombs.map((expression) => transform(expression))),
    )
    expect(results.map(({ status }) => status)).toEqual(bombs.map(() => 'rejected'))
    // Some at a time, each for its second.
    expectWithin(performance.now() - started, 25_000)
    expectWithin(longestMs, 50)
    expect(await transform('1 + 1')).toBe(2)
  })

  test('an abort ends it', async () => {
    const leaving = new AbortController()
    const waiting = transform('($f := function($x) { $f($x) }; $f(1))', {}, leaving.signal)
    setTimeout(() => leaving.abort(new Error('canceled')), 50)
    await expect(waiting).rejects.toThrow('canceled')
    expect(await transform('2 * 2')).toBe(4)
  })
})
