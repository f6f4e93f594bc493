import { expect, test } from 'vitest'
import {
  type Answer,
  compileDefinition,
  defaultRunLimits,
  findSuspension,
  type Launch,
  listingOf,
  planRerun,
  type Reuse,
  recordAfter,
  runGraph,
  type StepCall,
  type StepOutcome,
  type StepRecord,
  suspensionsOf,
  type Workflow,
} from '#machinery/graph/graph.ts'
import { Journal, memoryDurable, Stuck } from './memory-durable.ts'

const launch: Launch = {
  runId: 'run',
  inputs: { n: 1 },
  launchedAt: 1000,
  limits: defaultRunLimits,
  requestContext: {
    workspaceId: 'workspace',
    userId: 'user',
    runId: 'run',
    workflowId: 'workflow',
    definitionId: 'x',
    workflowSlug: 'x',
    apiKeyId: null,
    agentSlug: null,
    conversationId: null,
    source: 'api',
    launchedAt: '1970-01-01T00:00:01.000Z',
  },
}

function compile(...graph: object[]): Workflow {
  const source = { id: 'x', inputSchema: {}, outputSchema: {}, graph }
  const { workflow, report } = compileDefinition(source, { workspaceId: 'workspace' })
  if (!workflow) throw new Error(JSON.stringify(report))
  return workflow
}

const tool = (id: string, toolId = 'echo', options?: object) => ({
  type: 'tool',
  id,
  toolId,
  ...(options && { options }),
})
const succeed = (output: unknown): StepOutcome => ({ kind: 'success', output, at: 2000 })
const fail = (code: 'TOOL_FAILED' | 'STEP_INPUT_INVALID'): StepOutcome => ({
  kind: 'failed',
  error: { code, message: 'no' },
  at: 2000,
})

/** Runs on a journal as far as it goes; undefined when only an answer helps. */
async function run(
  workflow: Workflow,
  perform: (call: StepCall) => StepOutcome,
  {
    journal = new Journal(),
    answers = new Map<string, Answer>(),
    reuse = undefined as Reuse | undefined,
  } = {},
) {
  const world = { perform, answer: ({ key }: { key: string }) => answers.get(key) }
  try {
    return await runGraph(workflow, memoryDurable(journal, world), launch, reuse)
  } catch (error) {
    if (error instanceof Stuck) return undefined
    throw error
  }
}

const latest = (journal: Journal) => new Map(journal.changes.map(({ stepId, record }) => [stepId, record]))

test('retries back off, double, and carry their number in the key', async () => {
  const journal = new Journal()
  const keys: string[] = []
  const end = await run(
    compile(tool('a', 'flaky', { retries: 3 })),
    (call) => {
      keys.push(call.idempotencyKey)
      return fail('TOOL_FAILED')
    },
    { journal },
  )
  expect(keys).toEqual([0, 1, 2, 3].map((attempt) => `run:a:0:0:${attempt}`))
  expect(end).toMatchObject({
    status: 'failed',
    error: { code: 'TOOL_FAILED', stepId: 'a', details: { attempts: 4 } },
  })
  const waits = journal.commands.flatMap((command) => (command.kind === 'sleep' ? [command.durationMs] : []))
  for (const [index, base] of [250, 500, 1000].entries()) {
    expect(waits[index]).toBeGreaterThanOrEqual(base * 0.8)
    expect(waits[index]).toBeLessThanOrEqual(base * 1.2)
  }
})

test('what cannot get better is not tried again', async () => {
  let calls = 0
  await run(compile(tool('a', 'x', { retries: 5 })), () => {
    calls++
    return fail('STEP_INPUT_INVALID')
  })
  expect(calls).toBe(1)
})

test('only a step beside nothing else is alone', async () => {
  const alone: Record<string, boolean> = {}
  const workflow = compile(
    tool('top'),
    { type: 'parallel', steps: [tool('p1'), tool('p2')] },
    {
      type: 'loop',
      loopType: 'dountil',
      step: tool('body'),
      predicate: { op: 'truthy', value: { literal: 1 } },
    },
    tool('list'),
    { type: 'foreach', step: tool('each') },
  )
  await run(workflow, (call) => {
    alone[call.stepId] = call.alone
    return succeed(call.stepId === 'list' ? [1] : {})
  })
  expect(alone).toEqual({ top: true, p1: false, p2: false, body: true, list: true, each: false })
})

test('a failure beats a suspension, and nobody is asked any more', async () => {
  const journal = new Journal()
  const workflow = compile({ type: 'parallel', steps: [tool('asks'), tool('fails')] })
  const end = await run(
    workflow,
    ({ stepId }) => (stepId === 'asks' ? { kind: 'suspended', payload: 1, at: 2000 } : fail('TOOL_FAILED')),
    { journal },
  )
  expect(end?.status).toBe('failed')
  expect(end?.records.get('asks')?.status).toBe('canceled')
  expect(suspensionsOf(workflow, latest(journal))).toEqual([])
})

test('items of a foreach are answered one by one, the lowest first unless one is named', async () => {
  const journal = new Journal()
  const answers = new Map<string, Answer>()
  const workflow = compile(tool('list'), { type: 'foreach', step: tool('each'), opts: { concurrency: 3 } })
  const perform = (call: StepCall): StepOutcome => {
    if (call.stepId === 'list') return succeed(['a', 'b', 'c'])
    return call.answer
      ? succeed([call.input, call.answer.data])
      : { kind: 'suspended', payload: call.input, at: 2000 }
  }
  expect(await run(workflow, perform, { journal, answers })).toBeUndefined()
  for (const [address, key] of [
    ['each.1', 'each:1:0'],
    ['each', 'each:0:0'],
    [undefined, 'each:2:0'],
  ] as const) {
    const open = suspensionsOf(workflow, latest(journal))
    const found = findSuspension(open, address)
    expect(found?.key).toBe(key)
    expect(latest(journal).get('each')).toMatchObject({
      status: 'suspended',
      suspendPayload: open[0]?.payload,
    })
    answers.set(key, { data: address ?? null, at: 3000 })
    await run(workflow, perform, { journal, answers })
  }
  const end = await run(workflow, perform, { journal, answers })
  expect(end).toMatchObject({
    status: 'success',
    result: [
      ['a', 'each'],
      ['b', 'each.1'],
      ['c', null],
    ],
  })
})

test('a step may ask again, under another key', async () => {
  const journal = new Journal()
  const answers = new Map<string, Answer>([['a:0:0', { data: 'more', at: 1 }]])
  const workflow = compile(tool('a'))
  const perform = (call: StepCall): StepOutcome =>
    call.answer?.data === 'done' ? succeed('ok') : { kind: 'suspended', payload: 1, at: 2000 }
  expect(await run(workflow, perform, { journal, answers })).toBeUndefined()
  expect(suspensionsOf(workflow, latest(journal)).map(({ key }) => key)).toEqual(['a:0:0:1'])
  answers.set('a:0:0:1', { data: 'done', at: 2 })
  expect(await run(workflow, perform, { journal, answers })).toMatchObject({
    status: 'success',
    result: 'ok',
  })
})

test('the record that a lone step writes is the one that the run notes', async () => {
  const journal = new Journal()
  const written: StepRecord[] = []
  const end = await run(
    compile(tool('a', 'x', { retries: 1 })),
    (call) => {
      const outcome = call.attempt === 0 ? fail('TOOL_FAILED') : succeed({ ok: true })
      const open = latest(journal).get('a')
      const record = open && recordAfter(open, call, outcome)
      if (record) written.push(record)
      return outcome
    },
    { journal },
  )
  expect(written).toEqual([end?.records.get('a')])
})

test('a rerun from a step keeps what came before it', async () => {
  const workflow = compile(
    tool('a'),
    {
      type: 'conditional',
      steps: [tool('b'), tool('c')],
      predicates: [
        { op: 'truthy', value: { literal: 1 } },
        { op: 'falsy', value: { literal: 1 } },
      ],
    },
    tool('d'),
    tool('e'),
  )
  const first = await run(workflow, (call) =>
    call.stepId === 'd' ? fail('TOOL_FAILED') : succeed({ by: call.stepId }),
  )
  if (!first) throw new Error('did not end')
  expect(planRerun(workflow, launch.inputs, first.records, 'e')).toBeUndefined()
  expect(planRerun(workflow, launch.inputs, first.records, 'nowhere')).toBeUndefined()
  const reuse = planRerun(workflow, launch.inputs, first.records, 'd')
  expect(reuse).toMatchObject({ from: 2, input: { b: { by: 'b' } } })
  const performed: string[] = []
  const second = await run(
    workflow,
    (call) => {
      performed.push(call.stepId)
      return succeed(call.input)
    },
    { reuse },
  )
  expect(performed).toEqual(['d', 'e'])
  expect(second).toMatchObject({ status: 'success', result: { b: { by: 'b' } } })
  expect([...(second?.records.keys() ?? [])]).toEqual(['a', 'b', 'd', 'e'])
})

test('a loop says how often it went round; the state comes from the defaults of its schema', async () => {
  const source = {
    id: 'x',
    inputSchema: {},
    outputSchema: {},
    stateSchema: { properties: { most: { type: 'number', default: 3 } } },
    graph: [
      {
        type: 'loop',
        loopType: 'dowhile',
        step: tool('count'),
        predicate: { op: 'lt', left: { path: 'inputData.n' }, right: { path: 'state.most' } },
      },
    ],
  }
  const { workflow } = compileDefinition(source, { workspaceId: 'workspace' })
  if (!workflow) throw new Error('does not compile')
  const end = await run(workflow, ({ input }) => succeed({ n: (input as { n: number }).n + 1 }))
  expect(end).toMatchObject({ status: 'success', result: { n: 3 } })
  expect(end?.records.get('count')?.metadata).toEqual({ iterationCount: 2 })
})

test('dates of sleepUntil are on the calendar and in UTC unless they say otherwise', async () => {
  const wait = async (date: string) => {
    const journal = new Journal()
    await run(compile({ type: 'sleepUntil', id: 's', date }), () => succeed(1), { journal })
    return journal.commands.flatMap((command) => (command.kind === 'sleep' ? [command.durationMs] : []))[0]
  }
  expect(await wait('1970-01-02')).toBe(86_400_000)
  expect(await wait('1970-01-01T00:00:01.500')).toBe(1500)
  expect(await wait('1970-01-01T01:00+01:00')).toBe(0)
  expect(await wait('1969-01-01')).toBe(0)
  for (const date of ['1970-02-30', '1970-13-01', '1970-01-01T24:00', 'tomorrow', '1970-1-1'])
    expect(() => compile({ type: 'sleepUntil', id: 's', date }), date).toThrow('invalid-date')
})

test('a listing tolerates any metadata', () => {
  const metadata = { name: 'N', category: 5, triggers: 'x', requiresConnector: 'mail' }
  expect(listingOf({ id: 'x', metadata })).toMatchObject({
    name: 'N',
    category: undefined,
    triggers: [],
    requiresConnector: 'mail',
  })
  expect(listingOf(null)).toMatchObject({ id: undefined, requiresConnector: null })
})
