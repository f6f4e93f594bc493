import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { must, newKey, newPerson } from './support/actors.ts'
import type { Caller } from './support/client.ts'
import {
  bash,
  list,
  message,
  mustRun,
  newRunner,
  only,
  post,
  quick,
  readLog,
  script,
  seen,
} from './support/executions.ts'
import { bearer, newApp, newProviderPerson, newTokens } from './support/oauth.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import {
  append,
  continuationOf,
  listTraces,
  newIdleTrace,
  newTrace,
  said,
  type Turn,
  traceIdOf,
  traceOf,
  turnsOf,
} from './support/traces.ts'
import { verifies } from './verifies.ts'

const types = ['user.message', 'agent.text', 'agent.thinking', 'tool.call', 'tool.result', 'error']

function expectRising(turns: readonly Turn[]): void {
  const seqs = turns.map(({ seq }) => seq)
  expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b))
}

describe('the turns of a run', () => {
  test('are read from its log: what was said, done and answered', async () => {
    verifies(
      'traces:turns:resolved-from-producer',
      'traces:events:list-answer',
      'traces:turn:fields',
      'traces:turn:type-enum',
      'traces:turn:origin-enum',
    )
    const person = await newRunner()
    const input = script({ say: 'Writing.', tools: [bash('echo hello > note.txt')] }, { say: 'Written.' })
    const { id, executionId } = await newTrace(person, input)
    const log = await readLog(person, executionId)
    const { items } = await turnsOf(person, id)
    for (const turn of items) {
      expect(turn).toEqual({
        seq: expect.any(Number),
        type: expect.stringMatching(/./),
        payload: expect.any(Object),
        actorAgentSlug: null,
        at: expect.stringMatching(isoPattern),
        origin: 'producer',
      })
      expect(types).toContain(turn.type)
    }
    expectRising(items)
    expect(items.map(({ type }) => type)).toEqual([
      'user.message',
      'agent.text',
      'tool.call',
      'tool.result',
      'agent.text',
      'agent.text',
    ])
    const [asked, , called, answered, , file] = items
    expect(asked?.payload).toEqual(only(log, 'user.message')[0]?.payload)
    expect(called?.payload).toMatchObject({ name: 'bash', input: expect.stringContaining('note.txt') })
    expect(answered?.payload).toMatchObject({ isError: false, output: expect.any(String) })
    expect(file?.payload).toMatchObject({
      content: [{ type: 'file', name: 'note.txt', artifactId: expect.any(String) }],
    })
  })

  test('end with an error where the run did', async () => {
    verifies('traces:turn:type-enum')
    const person = await newRunner()
    const executionId = await mustRun(person, script({ tools: [bash('sleep 100')] }))
    await seen(person, executionId, 'agent.tool_use')
    must(await post(person, executionId, { type: 'user.interrupt' }), 200)
    const { items } = await turnsOf(person, await traceIdOf(person, executionId))
    expect(items.at(-1)).toMatchObject({ type: 'error', payload: { stopReason: 'interrupt' } })
  })

  test('are paged and tailed by their numbers', async () => {
    verifies('traces:events:after-seq', 'traces:events:limit')
    const person = await newRunner()
    const { id } = await newTrace(person, script({ say: 'One.', tools: [bash('true')] }, { say: 'Two.' }))
    const { items, lastSeq } = await turnsOf(person, id)
    const walked: Turn[] = []
    for (;;) {
      const page = await turnsOf(person, id, `?limit=1&afterSeq=${walked.at(-1)?.seq ?? 0}`)
      if (page.items.length === 0) break
      expect(page.items).toHaveLength(1)
      walked.push(...page.items)
    }
    expect(walked).toEqual(items)
    const middle = items[1]?.seq ?? 0
    expect((await turnsOf(person, id, `?afterSeq=${middle}`)).items).toEqual(items.slice(2))
    expect((await turnsOf(person, id, `?afterSeq=${lastSeq}`)).items).toEqual([])
    expect((await turnsOf(person, id, '?limit=0')).items).toHaveLength(1)
    expectRefusal(await person.get(`/traces/${id}/events?afterSeq=x`), 400, 'INVALID_INPUT')
    expectRefusal(await person.get(`/traces/${id}/events?wait=26`), 400, 'INVALID_INPUT')
  })
})

describe('an append', () => {
  test('by another key is told from what the run produced', async () => {
    verifies(
      'traces:handover:other-agent-may-append',
      'traces:append:answer',
      'traces:append:agent-slug-header',
      'traces:append:seq-above-producer',
      'traces:turn:seq-monotonic',
      'traces:turn:origin-enum',
    )
    const person = await newRunner()
    const [a, b] = [await newKey(person), await newKey(person)]
    const { id } = await newTrace(person, quick, a)
    const produced = (await turnsOf(b, id)).items
    const events = [said('I take over.'), { type: 'tool.call', payload: { name: 'look' } }]
    const options = { headers: { 'x-agent-slug': 'second-agent' } }
    const answer = await append(b, id, events, options)
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({ appended: 2, lastSeq: expect.any(Number) })
    const { items } = await turnsOf(a, id)
    expectRising(items)
    expect(items.slice(0, produced.length)).toEqual(produced)
    expect(items.slice(produced.length)).toMatchObject(
      events.map((event) => ({ ...event, origin: 'appended', actorAgentSlug: 'second-agent' })),
    )
    expect(items.at(-1)?.seq).toBe(answer.body.lastSeq)
  })

  test('holds any of the six types and gives it back as it was', async () => {
    verifies('traces:turn:type-enum')
    const person = await newRunner()
    const id = await newIdleTrace(person)
    const events = types.map((type, index) => ({
      type,
      payload: { deep: [{ index, text: 'ä\n"' }], none: null },
    }))
    must(await append(person, id, events), 201)
    const { items } = await turnsOf(person, id)
    expect(items.map(({ type, payload }) => ({ type, payload }))).toEqual(events)
    expect(items.map(({ actorAgentSlug }) => actorAgentSlug)).toEqual(types.map(() => null))
  })

  test.each([
    {},
    { events: [] },
    { events: {} },
    { events: [said('One.'), { type: 'agent.message', payload: {} }] },
    { events: [{ type: 'agent.text' }] },
    { events: [said('One.', { seq: 0 })] },
    { events: [said('One.', { seq: 1.5 })] },
    { events: [said('One.', { seq: 5 }), said('Two.', { seq: 5 })] },
    { events: [said('One.', { seq: 5 }), said('Two.', { seq: 4 })] },
    { events: [said('One.', { seq: 1_000_001 })] },
  ])('of %j is refused and adds nothing', async (body) => {
    verifies('traces:append:events-non-empty', 'traces:append:type-known', 'errors:code:invalid-input-trace')
    const person = await newRunner()
    const id = await newIdleTrace(person)
    expectRefusal(await person.post(`/traces/${id}/events`, body), 400, 'INVALID_INPUT')
    expect((await turnsOf(person, id)).items).toEqual([])
  })

  test('with a number of its own is stored once, and a repeat is told so', async () => {
    verifies('traces:append:same-seq-409', 'traces:append:batch-all-or-nothing', 'errors:code:conflict-trace')
    const person = await newRunner()
    const { id } = await newTrace(person)
    const { lastSeq } = await turnsOf(person, id)
    const seq = lastSeq + 3
    expect(must(await append(person, id, [said('Mine.', { seq })]), 201)).toEqual({
      appended: 1,
      lastSeq: seq,
    })
    const again = expectRefusal(await append(person, id, [said('Mine.', { seq })]), 409, 'CONFLICT')
    expect(again.details).toEqual({ lastSeq: seq, conflicts: [{ seq, same: true, actorAgentSlug: null }] })
    const other = await append(person, id, [said('Yours.', { seq }), said('More.', { seq: seq + 5 })])
    expect(expectRefusal(other, 409, 'CONFLICT').details).toEqual({
      lastSeq: seq,
      conflicts: [{ seq, same: false, actorAgentSlug: null }],
    })
    const passed = await append(person, id, [said('Late.', { seq: lastSeq + 1 })])
    expect(expectRefusal(passed, 400, 'INVALID_INPUT').details).toEqual({
      reason: 'SEQ_NOT_ABOVE_LAST',
      lastSeq: seq,
    })
    const produced = await append(person, id, [said('Under.', { seq: 1 })])
    expect(expectRefusal(produced, 400, 'INVALID_INPUT').details).toMatchObject({
      reason: 'SEQ_NOT_ABOVE_LAST',
    })
    const { items } = await turnsOf(person, id, `?afterSeq=${lastSeq}`)
    expect(items.map((turn) => [turn.seq, turn.payload])).toEqual([[seq, said('Mine.').payload]])
  })

  test('with the same number as nineteen others is the one that is stored, or is told that one is', async () => {
    verifies('traces:append:same-seq-race')
    const person = await newRunner()
    const { id } = await newTrace(person)
    const seq = (await turnsOf(person, id)).lastSeq + 1
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => append(person, id, [said(`By ${index}.`, { seq })])),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([
      201,
      ...Array.from({ length: 19 }, () => 409),
    ])
    const { items } = await turnsOf(person, id, `?afterSeq=${seq - 1}`)
    const winner = answers.findIndex(({ status }) => status === 201)
    expect(items.map(({ payload }) => payload)).toEqual([said(`By ${winner}.`).payload])
  })

  test('without a number gets one of its own, also among twenty', async () => {
    verifies('traces:append:concurrent-without-seq')
    const person = await newRunner()
    const id = await newIdleTrace(person)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => append(person, id, [said(`By ${index}.`)])),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(({ body }) => body.lastSeq)).size).toBe(20)
    const { items } = await turnsOf(person, id)
    expectRising(items)
    expect(new Set(items.map(({ payload }) => JSON.stringify(payload))).size).toBe(20)
  })

  test('gets nothing by the name it gives itself', async () => {
    verifies('traces:append:slug-attribution-only')
    const person = await newRunner()
    const { id } = await newTrace(person)
    const options = { headers: { 'x-agent-slug': 'owner-of-it' } }
    must(await append(person, id, [said('Here.')], options), 201)
    const stranger = await newKey(await newPerson())
    const without = await append(stranger, id, [said('Let me in.')])
    const named = await append(stranger, id, [said('Let me in.')], options)
    expectRefusal(without, 404, 'NOT_FOUND')
    expect([named.status, named.text]).toEqual([without.status, without.text])
  })
})

describe('a continuation', () => {
  test('is told how, and starts nothing', async () => {
    verifies(
      'traces:continue:answer',
      'traces:continue:append-path',
      'traces:continue:starts-nothing',
      'executions:create:session-id-of-continue',
    )
    const person = await newRunner()
    const { id } = await newTrace(person)
    const [before, executions] = [await traceOf(person, id), await list(person)]
    const answer = await continuationOf(person, id)
    expect(answer).toEqual({
      status: 'continuation_required',
      traceId: id,
      kind: 'execution',
      traceKey: before.traceKey,
      continueWith: { method: 'POST', path: '/api/v1/executions', body: { sessionId: expect.any(String) } },
      appendEventsTo: `/api/v1/traces/${id}/events`,
    })
    expect(await list(person)).toEqual(executions)
    expect(await traceOf(person, id)).toEqual(before)
    const path = answer.appendEventsTo.replace('/api/v1', '')
    expect((await person.post(path, { events: [said('On it.')] })).status).toBe(201)
    expect((await person.post('/executions', answer.continueWith.body)).status).toBe(200)
  })

  test('lands on the trace', async () => {
    verifies('traces:continue:lands-on-trace')
    const person = await newRunner()
    const { id } = await newTrace(person)
    const before = await turnsOf(person, id)
    const { continueWith, traceKey } = await continuationOf(person, id)
    const next = must(await person.post<{ id: string }>('/executions', continueWith.body), 200).id
    must(await post(person, next, message(quick)), 200)
    await readLog(person, next)
    const { items } = await turnsOf(person, id)
    expectRising(items)
    expect(items.slice(0, before.items.length)).toEqual(before.items)
    expect(items.slice(before.items.length).map(({ type, origin }) => [type, origin])).toEqual([
      ['user.message', 'producer'],
      ['agent.text', 'producer'],
    ])
    const all = (await listTraces(person)).items
    expect(all.map((trace) => [trace.id, trace.traceKey])).toEqual([[id, traceKey]])
  })
})

const calls: Readonly<Record<string, (caller: Caller, id: string) => ReturnType<Caller['get']>>> = {
  get: (caller, id) => caller.get(`/traces/${id}`),
  events: (caller, id) => caller.get(`/traces/${id}/events`),
  append: (caller, id) => caller.post(`/traces/${id}/events`, { events: [said('Hello.')] }),
  continue: (caller, id) => caller.post(`/traces/${id}/continue`),
}

test('a trace of another workspace is not there', async () => {
  verifies(
    'traces:get:non-member-404',
    'errors:code:not-found-trace',
    'errors:code:not-found-byte-equal-trace',
  )
  const [owner, stranger] = [await newRunner(), await newPerson()]
  const id = await newIdleTrace(owner)
  for (const [name, call] of Object.entries(calls)) {
    const missing = await call(stranger, `trace_${randomUUID()}`)
    expectRefusal(missing, 404, 'NOT_FOUND')
    const foreign = await call(stranger, id)
    expect([foreign.status, foreign.text], name).toEqual([404, missing.text])
  }
  expect((await turnsOf(owner, id)).items).toEqual([])
})

test('a trace cannot be changed', async () => {
  verifies('traces:update:no-patch')
  const person = await newRunner()
  const id = await newIdleTrace(person)
  for (const method of ['PATCH', 'PUT']) {
    for (const path of [`/traces/${id}`, `/traces/${id}/events`]) {
      const answer = await person.send(method, path, { body: { title: 'Other', events: [said('No.')] } })
      expect([404, 405]).toContain(answer.status)
    }
  }
})

test('keys need no scope of traces', async () => {
  verifies('oauth:scope:trace-not-for-keys', 'keys:scopes:wildcard-full-access-traces')
  const person = await newRunner()
  const id = await newIdleTrace(person)
  const narrow = await newKey(person, { scopes: ['profile:read'] })
  expect((await narrow.get('/traces')).status).toBe(200)
  expect((await append(narrow, id, [said('Here.')])).status).toBe(201)
  const full = await newKey(person)
  expect((await full.get('/traces')).status).toBe(200)
  for (const [name, call] of Object.entries(calls)) {
    expect((await call(full, id)).status, name).toBeLessThan(300)
    expect((await call(full, `trace_${randomUUID()}`)).status, name).toBe(404)
  }
})

stackOnly('apps need the scopes of traces, whatever else they have', async () => {
  verifies('oauth:scope:trace-read-enforced', 'oauth:scope:trace-write-enforced')
  const person = await newProviderPerson()
  const app = await newApp(person)
  const withScopes = async (scope: string) =>
    bearer((await newTokens(app, { login: person.email, query: { scope } })).access_token)
  const none = await withScopes('read write admin')
  for (const path of ['/traces', `/traces/trace_${randomUUID()}`, `/traces/trace_${randomUUID()}/events`]) {
    const refused = expectRefusal(await none.get(path), 403, 'FORBIDDEN')
    expect(refused.details).toMatchObject({ missing_scopes: ['trace:read'] })
  }
  const reader = await withScopes('read write admin trace:read')
  expect((await reader.get('/traces')).status).toBe(200)
  const id = `trace_${randomUUID()}`
  for (const path of [`/traces/${id}/events`, `/traces/${id}/continue`]) {
    const refused = expectRefusal(await reader.post(path, { events: [said('No.')] }), 403, 'FORBIDDEN')
    expect(refused.details).toMatchObject({ missing_scopes: ['trace:write'] })
  }
  const writer = await withScopes('read write trace:write')
  expect((await append(writer, id, [said('Nowhere.')])).status).toBe(404)
})
