import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { must } from './support/actors.ts'
import {
  bash,
  cancel,
  type ExecutionEvent,
  interrupt,
  itemOf,
  lasting,
  message,
  newRunner,
  only,
  post,
  prepare,
  quick,
  readLog,
  runThrough,
  script,
  typesOf,
} from './support/executions.ts'
import { expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const anEvent = {
  id: expect.stringMatching(/./),
  type: expect.stringMatching(/./),
  sequence: expect.any(Number),
  payload: expect.any(Object),
}

function expectEvents(events: readonly ExecutionEvent[]): void {
  for (const event of events) {
    expect(event).toEqual(anEvent)
    expect(Number.isInteger(event.sequence)).toBe(true)
    expect(Array.isArray(event.payload)).toBe(false)
  }
}

describe('posting events', () => {
  test('answers the message and the start, as the stream shows them', async () => {
    verifies(
      'events:post:answer',
      'events:post:answer-message-and-running',
      'events:record:fields',
      'events:type:status-running',
      'events:type:user-message-echo',
    )
    const person = await newRunner()
    const content = [
      { type: 'text', text: 'Two blocks,' },
      { type: 'text', text: quick },
    ]
    const executionId = await prepare(person, { input: 'A start.' })
    const { status, body } = await post(person, executionId, { type: 'user.message', content })
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['data'])
    expectEvents(body.data)
    expect(typesOf(body.data)).toEqual(['user.message', 'session.status_running'])
    expect(body.data[1]?.payload).toEqual({})
    const log = await readLog(person, executionId)
    expectEvents(log)
    expect(log.slice(0, 2)).toEqual(body.data)
    expect(log[0]?.payload).toEqual({ content })
  })

  test('takes a message or an interrupt and nothing else', async () => {
    verifies('events:post:shape', 'events:type:server-types-not-postable')
    const person = await newRunner()
    const executionId = await prepare(person)
    const path = `/executions/${executionId}/events`
    const malformed = [
      {},
      { events: 'user.interrupt' },
      { events: [] },
      { events: [{ type: 'user.message' }] },
      { events: [{ type: 'user.message', content: 'text' }] },
      { events: [{ type: 'user.message', content: [{ type: 'image', text: 'x' }] }] },
      { events: [{ type: 'user.shout' }] },
    ]
    for (const body of malformed) expectRefusal(await person.post(path, body), 400, 'INVALID_INPUT')
    const ofServer = [
      'session.status_running',
      'session.status_idle',
      'agent.message',
      'agent.tool_use',
      'agent.thinking',
      'agent.info',
      'execution.result',
      'span.model_request_end',
    ]
    for (const type of ofServer) {
      const content = [{ type: 'text', text: 'I am the agent.' }]
      expectRefusal(await post(person, executionId, { type, content }), 400, 'INVALID_INPUT')
    }
    expect((await post(person, executionId, message(quick))).status).toBe(200)
    const log = await readLog(person, executionId)
    expect(typesOf(log.slice(0, 2))).toEqual(['user.message', 'session.status_running'])
    expect(JSON.stringify(log)).not.toContain('I am the agent.')
    const other = await prepare(person)
    expect((await post(person, other, interrupt)).status).toBe(200)
  })

  test('takes several in order, and one run starts', async () => {
    verifies('events:post:shape', 'events:post:several')
    const person = await newRunner()
    const executionId = await prepare(person, { input: 'First of all.' })
    const path = `/executions/${executionId}/events`
    const events = [message('Then this.'), message(quick)]
    const { data } = must(await person.post<{ data: ExecutionEvent[] }>(path, { events }), 200)
    expect(typesOf(data)).toEqual(['user.message', 'user.message', 'session.status_running'])
    expect(data.slice(0, 2).map(({ payload }) => payload)).toEqual(events.map(({ content }) => ({ content })))
    const log = await readLog(person, executionId)
    expect(log.slice(0, 3)).toEqual(data)
    expect(only(log, 'session.status_running')).toHaveLength(1)
    expect((await itemOf(person, executionId)).inputText).toBe(`First of all.\n\nThen this.\n${quick}`)
  })

  test('takes a message and the interrupt behind it together, and nothing behind an interrupt', async () => {
    verifies('events:post:several')
    const person = await newRunner()
    const executionId = await prepare(person)
    const path = `/executions/${executionId}/events`
    for (const events of [
      [interrupt, message(quick)],
      [message(quick), interrupt, message(quick)],
      [interrupt, interrupt],
    ]) {
      expectRefusal(await person.post(path, { events }), 409, 'CONFLICT')
      expect((await itemOf(person, executionId)).status).toBe('idle')
    }
    const events = [message(lasting), interrupt]
    const { data } = must(await person.post<{ data: ExecutionEvent[] }>(path, { events }), 200)
    expect(typesOf(data)).toEqual([
      'user.message',
      'session.status_running',
      'user.interrupt',
      'session.status_idle',
    ])
    expect(await readLog(person, executionId)).toEqual(data)
    expect(await itemOf(person, executionId)).toMatchObject({ status: 'failed', cost: 0 })
    await runThrough(person, quick)
  })

  test('is refused for an id that is unknown', async () => {
    verifies('events:post:unknown-404')
    const person = await newRunner()
    for (const event of [interrupt, message('x')]) {
      expectRefusal(await post(person, `exec_${randomUUID()}`, event), 404, 'NOT_FOUND')
    }
  })
})

describe('the log of a run', () => {
  test('is numbered from one, without gaps, in the order of a run', async () => {
    verifies(
      'events:sequence:increasing',
      'events:sequence:per-execution',
      'events:order:running-agent-idle',
      'events:record:fields',
    )
    const person = await newRunner()
    const tools = Array.from({ length: 4 }, (_, index) => bash(`echo ${index}`))
    for (const input of [quick, script({ tools }, { tools }, { say: 'Done.' })]) {
      const { log } = await runThrough(person, input)
      expectEvents(log)
      expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1))
      const types = typesOf(log)
      expect(types.slice(0, 2)).toEqual(['user.message', 'session.status_running'])
      expect(types.at(-1)).toBe('session.status_idle')
      expect(types.slice(2, -1).every((type) => /^(agent|span|execution)\./.test(type))).toBe(true)
      expect(types.filter((type) => type === 'agent.message')).toHaveLength(1)
    }
  })

  test('tells what the agent says, does and uses', async () => {
    verifies(
      'events:type:agent-message',
      'events:type:agent-tool-use',
      'events:type:agent-info',
      'events:type:model-request-end',
      'events:type:execution-result',
      'events:type:status-idle',
    )
    const person = await newRunner()
    const { executionId, log } = await runThrough(
      person,
      script(
        {
          say: 'Writing.',
          tools: [bash('echo hello > note.txt')],
          usage: { input: 1000, output: 200 },
        },
        { say: 'Written.', usage: { input: 2000, output: 100 } },
      ),
    )
    expect(only(log, 'agent.message').map(({ payload }) => payload)).toEqual([
      { content: [{ type: 'text', text: 'Writing.' }] },
      { content: [{ type: 'text', text: 'Written.' }] },
    ])
    expect(only(log, 'agent.tool_use').map(({ payload }) => payload)).toEqual([
      expect.objectContaining({ name: 'bash', tool: 'bash', label: expect.stringContaining('note.txt') }),
    ])
    expect(only(log, 'agent.tool_use')[0]?.payload['input']).toBe(
      JSON.stringify({ command: 'echo hello > note.txt' }),
    )
    expect(only(log, 'span.model_request_end').map(({ payload }) => payload)).toEqual([
      {
        usage: { input_tokens: 1000, output_tokens: 200 },
        model: expect.stringMatching(/./),
        durationMs: expect.any(Number),
      },
      {
        usage: { input_tokens: 2000, output_tokens: 100 },
        model: expect.stringMatching(/./),
        durationMs: expect.any(Number),
      },
    ])
    const infos = only(log, 'agent.info')
    expect(infos).toHaveLength(1)
    expectEvents(infos)
    const [result, ...more] = only(log, 'execution.result')
    expect(more).toEqual([])
    expect(result?.payload).toEqual({
      summary: 'Written.',
      tokenUsage: { inputTokens: 3000, outputTokens: 300 },
      cost: (await itemOf(person, executionId)).cost,
    })
    expect(result?.payload['cost']).toBeGreaterThan(0)
    expect(only(log, 'session.status_idle').map(({ payload }) => payload)).toEqual([
      { stop_reason: { type: 'end_turn' } },
    ])
  })

  test('keeps thoughts to itself', async () => {
    verifies('events:type:agent-thinking')
    const person = await newRunner()
    const executionId = await prepare(person, { input: script({ think: 'My secret plan.', say: 'Done.' }) })
    await post(person, executionId, message('Go.'))
    const log = await readLog(person, executionId)
    expect(only(log, 'agent.thinking').map(({ payload }) => payload)).toEqual([{}])
    expect(JSON.stringify(log.slice(1))).not.toContain('secret plan')
    const { text } = await person.get(`/executions/${executionId}/status`)
    expect(text).not.toContain('secret plan')
  })

  test('of an interrupted run says so', async () => {
    verifies('events:type:status-idle', 'events:type:user-interrupt-echo')
    const person = await newRunner()
    const executionId = await prepare(person, { input: lasting })
    await post(person, executionId, message(lasting))
    const { status, body } = await post(person, executionId, interrupt)
    expect(status).toBe(200)
    expect(typesOf(body.data)).toEqual(['user.interrupt', 'session.status_idle'])
    const log = await readLog(person, executionId)
    expect(log.slice(-2)).toEqual(body.data)
    expect(log.at(-2)?.payload).toEqual({})
    expect(log.at(-1)?.payload).toEqual({ stop_reason: { type: 'interrupt' } })
    expect((await cancel(person, executionId)).success).toBe(false)
  })
})
