import { describe, expect, test } from 'vitest'
import { newPerson, type Person } from './support/actors.ts'
import {
  ask,
  echo,
  flow,
  install,
  issuesOf,
  mapping,
  mustInstall,
  nap,
  primaryAgent,
  resultOf,
  runThrough,
  tool,
  verdictOf,
  verdictOn,
  type WorkflowRecord,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

const holds = { op: 'truthy', value: { literal: true } }
const prompt = mapping({ prompt: { value: 'Say hello' } }, 'prompt')
const text = mapping({ text: { value: 'a' } }, 'text')

function without(definition: Record<string, unknown>, key: string): Record<string, unknown> {
  const { [key]: _left, ...rest } = definition
  return rest
}

/** The verdict on a whole definition. */
async function judge(person: Person, definition: unknown): Promise<number | string[]> {
  return verdictOf(await install(person, definition, 'trial'))
}

describe('the record', () => {
  test('its keys are known, and the required ones are there', async () => {
    verifies(
      'definition:top:unknown-key',
      'definition:top:graph-required',
      'definition:top:graph-non-empty',
      'definition:top:input-schema-required',
    )
    const person = await newPerson()
    const good = flow([echo])
    expect(await judge(person, good)).toBe(201)
    expect(await judge(person, { ...good, foo: 1 })).toEqual(['unknown-field foo'])
    expect(await judge(person, without(good, 'graph'))).not.toBe(201)
    expect(verdictOf(await install(person, { ...good, graph: {} }))).toEqual(expect.any(Array))
    expect(await judge(person, flow([]))).toEqual(['empty-graph graph'])
    for (const key of ['inputSchema', 'outputSchema']) {
      expect(await judge(person, without(good, key))).toEqual([`missing-field ${key}`])
    }
  })

  test('the id is kebab-case', async () => {
    verifies('definition:top:id-kebab-case')
    const person = await newPerson()
    expect(await judge(person, flow([echo], { id: 'my-flow' }))).toBe(201)
    expect(await judge(person, flow([echo], { id: 'My_Flow' }))).toEqual(['invalid-workflow-id id'])
    expect(await judge(person, without(flow([echo]), 'id'))).toEqual(['missing-field id'])
  })

  test('description and stateSchema may be there', async () => {
    verifies('definition:top:description-optional', 'definition:top:state-schema-optional')
    const person = await newPerson()
    expect(await verdictOn(person, [echo], { description: 'Echoes.' })).toBe(201)
    expect(await verdictOn(person, [echo], { description: 5 })).toEqual(['wrong-type description'])
    const stateSchema = { type: 'object', properties: { n: { type: 'number', default: 1 } } }
    const { definition } = await mustInstall(person, flow([echo], { stateSchema }))
    expect(JSON.parse(definition).stateSchema).toEqual(stateSchema)
    expect(await verdictOn(person, [echo], { stateSchema: 'state' })).toEqual(['wrong-type stateSchema'])
  })

  test('metadata is shown, kept to the letter, and means nothing to the engine', async () => {
    verifies(
      'definition:top:metadata-optional',
      'definition:metadata:ignored-by-engine',
      'definition:metadata:round-trips-verbatim',
    )
    const person = await newPerson()
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a marker of the workflow language
    const x = { y: [1, '${workspaceId}'] }
    const shown = {
      name: 'Echoer',
      category: 'tests',
      requiresConnector: 'mail',
      triggers: [{ type: 'daily' }],
    }
    const metadata = { ...shown, integrationTrigger: 'mail.received', x }
    const { triggers, ...inRecord } = shown
    const record = await mustInstall(person, flow([echo], { metadata }))
    expect(record).toMatchObject(inRecord)
    expect(JSON.parse(record.definition).metadata).toEqual(metadata)
    const listed = await person.get<{ workflows: unknown[] }>('/workflows/definitions')
    expect(listed.body.workflows).toEqual([expect.objectContaining({ ...inRecord, triggers })])
    const plain = await runThrough(person, [echo, text, tool('upper')], { a: 1 })
    const dressed = await runThrough(person, [echo, text, tool('upper')], { a: 1 }, { metadata })
    expect(dressed.run.snapshot.result).toEqual({ text: 'A' })
    expect(dressed.steps).toEqual(plain.steps)
    expect(dressed.run.snapshot.result).toEqual(plain.run.snapshot.result)
  })
})

describe('entries', () => {
  test('there are nine types', async () => {
    verifies('definition:entry:nine-types')
    const person = await newPerson()
    const { id: agentId } = await primaryAgent(person)
    const graphs = [
      [prompt, { type: 'agent', id: 'say', agentId }],
      [echo],
      [text],
      [nap],
      [{ type: 'sleepUntil', id: 'until', date: '2020-01-01T00:00:00Z' }],
      [{ type: 'parallel', steps: [echo] }],
      [{ type: 'conditional', steps: [echo], predicates: [holds] }],
      [{ type: 'loop', loopType: 'dountil', step: echo, predicate: holds }],
      [{ type: 'foreach', step: echo }],
    ]
    for (const graph of graphs) expect(await verdictOn(person, graph), JSON.stringify(graph)).toBe(201)
    for (const type of ['step', 'workflow']) {
      expect(await verdictOn(person, [{ ...echo, type }])).toEqual(['unknown-entry-type graph.0.type'])
    }
  })

  test('sleep takes milliseconds', async () => {
    verifies('definition:entry:sleep-shape')
    const person = await newPerson()
    const sleep = (duration: unknown) => [{ type: 'sleep', id: 'nap', duration }]
    expect(await verdictOn(person, sleep(10))).toBe(201)
    for (const bad of [-1, '10']) {
      expect(await verdictOn(person, sleep(bad))).toEqual([expect.stringMatching(/ graph\.0\.duration$/)])
    }
  })

  test('sleepUntil takes a date, and one that is past is no wait', async () => {
    verifies('definition:entry:sleep-until-shape')
    const person = await newPerson()
    const until = (date: string) => [echo, { type: 'sleepUntil', id: 'until', date }]
    const { run } = await runThrough(person, until('2020-01-01T00:00:00Z'), { a: 1 })
    expect(run).toMatchObject({ status: 'success', snapshot: { result: { a: 1 } } })
    expect(await verdictOn(person, until('soon'))).toEqual(['invalid-date graph.1.date'])
  })

  test('parallel gives a member per child', async () => {
    verifies('definition:entry:parallel-shape')
    const person = await newPerson()
    const parallel = { type: 'parallel', steps: [tool('upper'), tool('echo', 'same')] }
    const { run } = await runThrough(person, [text, parallel, echo])
    expect(run.snapshot.result).toEqual({ upper: { text: 'A' }, same: { text: 'a' } })
    const many = (count: number) => [
      { type: 'parallel', steps: Array.from({ length: count }, (_, index) => tool('echo', `e${index}`)) },
    ]
    expect(await verdictOn(person, many(50))).toBe(201)
    expect(await verdictOn(person, many(51))).toEqual(['container-too-large graph.0.steps'])
    expect(await verdictOn(person, many(0))).toEqual(['empty-container graph.0.steps'])
    expect(await verdictOn(person, [{ ...parallel, id: 'both' }])).toEqual(['unknown-field graph.0.id'])
  })

  test('conditional runs every branch that holds', async () => {
    verifies('definition:entry:conditional-shape')
    const person = await newPerson()
    const is = (value: string) => ({ op: 'eq', left: { path: 'initData.a' }, right: { literal: value } })
    const conditional = {
      type: 'conditional',
      steps: [tool('echo', 'x'), tool('echo', 'y'), tool('echo', 'z')],
      predicates: [is('1'), is('1'), is('2')],
    }
    const one = await runThrough(person, [conditional], { a: '1' })
    expect(one.run.snapshot.result).toEqual({ x: { a: '1' }, y: { a: '1' } })
    expect(Object.keys(one.steps)).toEqual(['x', 'y'])
    const none = await runThrough(person, [conditional], { a: '3' })
    expect(none.run).toMatchObject({ status: 'success', snapshot: { result: {} } })
    const fewer = [{ ...conditional, predicates: [is('1')] }]
    expect(await verdictOn(person, fewer)).toEqual(['predicate-count-mismatch graph.0.predicates'])
  })

  test('a loop repeats until its predicate holds', async () => {
    verifies('definition:entry:loop-shape')
    const person = await newPerson()
    const ok = { op: 'truthy', value: { path: 'stepResults.flaky.ok' } }
    const loop = { type: 'loop', loopType: 'dountil', step: tool('flaky'), predicate: ok }
    const { run } = await runThrough(person, [
      mapping({ failures: { value: 2 }, mode: { value: 'soft' } }),
      loop,
    ])
    expect(run.snapshot.result).toMatchObject({ ok: true, attempts: 3 })
    expect(await verdictOn(person, [{ ...loop, loopType: 'dowhile' }])).toBe(201)
    expect(await verdictOn(person, [{ ...loop, loopType: 'for' }])).toEqual([
      'invalid-loop-type graph.0.loopType',
    ])
  })

  test('foreach gives a list in the order of its input', async () => {
    verifies('definition:entry:foreach-shape')
    const person = await newPerson()
    const foreach = { type: 'foreach', step: tool('upper'), opts: { concurrency: 2 } }
    const items = mapping({ items: { value: [{ text: 'a' }, { text: 'b' }] } })
    const { run } = await runThrough(person, [items, tool('list'), foreach])
    expect(run.snapshot.result).toEqual([{ text: 'A' }, { text: 'B' }])
    const none = [items, tool('list'), { ...foreach, opts: { concurrency: 0 } }]
    expect(await verdictOn(person, none)).toEqual(['invalid-concurrency graph.2.opts.concurrency'])
  })

  test('step ids are names, and no two are alike', async () => {
    verifies('definition:entry:step-ids-unique')
    const person = await newPerson()
    const named = (id: string) => [tool('echo', id)]
    expect(await verdictOn(person, named('a'.repeat(128)))).toBe(201)
    expect(await verdictOn(person, named('9_a-B'))).toBe(201)
    const bad = ['a.b', '', '-a', 'a'.repeat(129), 'input', '__proto__', 'prototype', 'constructor']
    for (const id of bad) {
      expect(await verdictOn(person, named(id)), id).toEqual([
        expect.stringMatching(/-step-id graph\.0\.id$/),
      ])
    }
    expect(await verdictOn(person, [without(echo, 'id')])).toEqual(['missing-step-id graph.0.id'])
    const child = [echo, { type: 'parallel', steps: [echo] }]
    expect(await verdictOn(person, child)).toEqual(['duplicate-step-id graph.1.steps.0.id'])
  })

  test('an agent entry names an agent, a tool entry a tool', async () => {
    verifies('definition:entry:agent-shape', 'definition:entry:tool-shape')
    const person = await newPerson()
    const { slug } = await primaryAgent(person)
    const agent = { type: 'agent', id: 'say', agentId: slug, description: 'Says it.', outputSchema: {} }
    expect(await verdictOn(person, [prompt, agent])).toBe(201)
    for (const key of ['type', 'id', 'agentId']) {
      const verdict = await verdictOn(person, [prompt, without(agent, key)])
      expect(verdict, key).toEqual([expect.stringMatching(` graph\\.1\\.${key}$`)])
    }
    const described = tool('echo', 'echo', { description: 'Says it again.', options: { retries: 1 } })
    expect(await verdictOn(person, [described])).toBe(201)
    expect(await verdictOn(person, [without(echo, 'toolId')])).toEqual(['missing-field graph.0.toolId'])
  })

  test('the options of a tool are retries and metadata', async () => {
    verifies('definition:entry:tool-options-keys')
    const person = await newPerson()
    const withOptions = (options: unknown) => [tool('echo', 'echo', { options })]
    expect(await verdictOn(person, withOptions({ retries: 2, metadata: {} }))).toBe(201)
    expect(await verdictOn(person, withOptions({ timeout: 5 }))).toEqual([
      'unknown-field graph.0.options.timeout',
    ])
  })

  test('a tool is tried once more than its retries', async () => {
    verifies('definition:entry:retries-behaviour')
    const person = await newPerson()
    const trying = (retries: unknown) => [
      mapping({ failures: { value: 2 } }),
      tool('flaky', 'flaky', { options: { retries } }),
    ]
    const enough = await runThrough(person, trying(2))
    expect(enough.run.snapshot.result).toMatchObject({ ok: true, attempts: 3 })
    const few = await runThrough(person, trying(1))
    expect(few.run).toMatchObject({
      status: 'failed',
      snapshot: { error: { code: 'TOOL_FAILED', message: 'flaky attempt 2', stepId: 'flaky' } },
    })
    for (const bad of [-1, 11, 1.5]) {
      expect(await verdictOn(person, trying(bad))).toEqual(['invalid-retries graph.1.options.retries'])
    }
  })

  test('mapConfig is a text of JSON', async () => {
    verifies('definition:entry:mapconfig-is-string')
    const person = await newPerson()
    const configured = (mapConfig: unknown) => [{ type: 'mapping', id: 'map', mapConfig }]
    expect(await verdictOn(person, configured('{"a":{"value":1}}'))).toBe(201)
    for (const bad of [undefined, { a: { value: 1 } }, '{"a":']) {
      expect(await verdictOn(person, configured(bad))).toEqual([
        expect.stringMatching(/ graph\.0\.mapConfig$/),
      ])
    }
  })

  test('a tool entry has no args', async () => {
    verifies('definition:tool:no-args-field')
    const person = await newPerson()
    for (const args of [{}, { a: 1 }]) {
      expect(await verdictOn(person, [tool('echo', 'echo', { args })])).toEqual([
        'args-not-allowed graph.0.args',
      ])
    }
  })
})

describe('containers', () => {
  const containers = {
    parallel: (child: unknown) => ({ type: 'parallel', steps: [child] }),
    loop: (child: unknown) => ({ type: 'loop', loopType: 'dountil', step: child, predicate: holds }),
    foreach: (child: unknown) => ({ type: 'foreach', step: child }),
    conditional: (child: unknown) => ({ type: 'conditional', steps: [child], predicates: [holds] }),
  }

  test('hold no mapping', async () => {
    verifies('definition:placement:mapping-top-only', 'definition:placement:mapping-in-conditional')
    const person = await newPerson()
    for (const hold of Object.values(containers)) {
      expect(await verdictOn(person, [hold(text)])).toEqual([
        expect.stringMatching(/^invalid-map-placement graph\.0\.step/),
      ])
    }
  })

  test('hold single steps', async () => {
    verifies('definition:container:single-step-children')
    const person = await newPerson()
    const { slug } = await primaryAgent(person)
    const until = { type: 'sleepUntil', id: 'until', date: '2020-01-01' }
    const children = [{ type: 'agent', id: 'say', agentId: slug }, echo, nap, until]
    for (const child of children) {
      for (const hold of [containers.parallel, containers.loop, containers.foreach]) {
        expect(await verdictOn(person, [hold(child)])).toBe(201)
      }
    }
  })

  test('hold no containers', async () => {
    verifies('definition:container:nested-refused', 'definition:container:conditional-same-rule')
    const person = await newPerson()
    const { parallel, loop, foreach, conditional } = containers
    const nested = [
      parallel(foreach(echo)),
      loop(parallel(echo)),
      foreach(loop(echo)),
      conditional(parallel(echo)),
      parallel(conditional(echo)),
    ]
    for (const entry of nested) {
      expect(await verdictOn(person, [entry])).toEqual([
        expect.stringMatching(/^nested-container graph\.0\.step/),
      ])
    }
  })
})

test('whatever breaks a rule is not stored', async () => {
  verifies('definition:rules:checked-at-install')
  const person = await newPerson()
  const broken = [
    [tool('echo', 'echo', { args: {} })],
    [mapping({ a: { value: 1, template: 'x' } })],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a marker of the workflow language
    [mapping({ a: { template: '${env.HOME}' } })],
    [{ type: 'parallel', steps: [text] }],
    [{ type: 'conditional', steps: [echo], predicates: ['initData.a > 1'] }],
    [{ ...echo, state: { a: 1 } }],
    [{ type: 'parallel', steps: [{ type: 'parallel', steps: [ask] }] }],
  ]
  for (const graph of broken) {
    expect(await verdictOn(person, graph), JSON.stringify(graph)).toEqual(expect.any(Array))
    expect((await person.get('/workflows/trial')).status).toBe(404)
  }
  const kept = await mustInstall(person, flow([echo]), 'trial')
  for (const graph of broken) {
    expect(await verdictOn(person, graph)).toEqual(expect.any(Array))
    expect((await person.get<WorkflowRecord>('/workflows/trial')).body).toEqual(kept)
  }
})

test('all that is wrong is told, in the order of the document, up to a hundred', async () => {
  verifies('definition:rules:all-issues-reported')
  const person = await newPerson()
  const graph = [tool('no-such-tool', 'a'), { ...echo, args: {} }, { type: 'sleep', id: 'b', duration: -1 }]
  const issues = issuesOf(await install(person, flow(graph, { foo: 1 })))
  expect(issues.map(({ code, path }) => `${code} ${path}`)).toEqual([
    'unknown-field foo',
    'unresolved-tool graph.0.toolId',
    'args-not-allowed graph.1.args',
    'invalid-duration graph.2.duration',
  ])
  for (const issue of issues) expect(issue.message).toMatch(/\S/)
  const many = Array.from({ length: 150 }, (_, index) => tool('no-such-tool', `s${index}`))
  expect(issuesOf(await install(person, flow(many)))).toHaveLength(100)
})

test('a stub tool gives what it says', async () => {
  verifies('definition:flow:result-is-last-output')
  expect(await resultOf([mapping({ a: { value: 1 }, b: { value: 2 } }), tool('add')])).toEqual({ sum: 3 })
})
