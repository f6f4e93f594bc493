import { expect, test } from 'vitest'
import { defaultRunLimits, type Launch, runGraph } from '#machinery/graph/graph.ts'
import { expectWithin } from '../../../../../test/support/proof.ts'
import { compile, define, many, mapped, of, step, workspaceId } from './definitions.ts'
import { Journal, memoryDurable } from './memory-durable.ts'

/* Definitions whose values grow as they run. Each is stopped before what it makes is large. */
const launch: Launch = {
  runId: 'run',
  inputs: { text: 'x'.repeat(90_000), list: many(500, (n) => n) },
  launchedAt: 0,
  limits: defaultRunLimits,
  requestContext: {
    workspaceId,
    userId: 'user',
    runId: 'run',
    workflowId: 'workflow',
    definitionId: 'x',
    workflowSlug: 'x',
    apiKeyId: null,
    agentSlug: null,
    conversationId: null,
    source: 'api',
    launchedAt: '1970-01-01T00:00:00.000Z',
  },
}

async function run(definition: unknown) {
  const { workflow, report } = compile(definition)
  if (!workflow) throw new Error(JSON.stringify(report))
  const world = {
    perform: () => ({ kind: 'success' as const, output: { text: 'y'.repeat(900_000) }, at: 1 }),
  }
  return runGraph(workflow, memoryDurable(new Journal(), world), launch)
}

const growing: [name: string, definition: unknown, code: string][] = [
  [
    'a template that repeats a large text',
    mapped({ a: { template: of('initData.text').repeat(2000) } }),
    'STEP_OUTPUT_TOO_LARGE',
  ],
  [
    'a template that repeats a large record',
    mapped({ a: { template: of('initData').repeat(2500) } }),
    'STEP_OUTPUT_TOO_LARGE',
  ],
  [
    'a mapping that repeats a large value',
    mapped(Object.fromEntries(many(200, (n) => [`k${n}`, { initData: true, path: 'text' }]))),
    'STEP_OUTPUT_TOO_LARGE',
  ],
  [
    'a parallel of large outputs',
    define({ graph: [{ type: 'parallel', steps: many(50, (n) => step(`s${n}`)) }] }),
    'RUN_TOO_LARGE',
  ],
]

test('a loop is stopped by what its turns put out together', async () => {
  const forEver = { op: 'truthy', value: { literal: true } }
  const body = { type: 'loop', loopType: 'dowhile', step: step('a'), predicate: forEver }
  const { workflow } = compile(define({ graph: [body] }))
  if (!workflow) throw new Error('does not compile')
  let turns = 0
  const perform = () => {
    turns++
    return { kind: 'success' as const, output: 'y'.repeat(50_000), at: 1 }
  }
  const limits = { ...defaultRunLimits, runBytes: 200_000, journalBytes: 1_000_000 }
  const end = await runGraph(workflow, memoryDurable(new Journal(), { perform }), { ...launch, limits })
  expect(end).toMatchObject({ status: 'failed', error: { code: 'RUN_TOO_LARGE' } })
  expect(turns).toBe(20)
})

test('a mapping that names one large value 200 times is refused without writing it down', async () => {
  const config = Object.fromEntries(many(200, (n) => [`k${n}`, { step: 'a', path: '' }]))
  const { workflow } = compile(
    define({ graph: [step('a'), { type: 'mapping', id: 'm', mapConfig: JSON.stringify(config) }] }),
  )
  if (!workflow) throw new Error('does not compile')
  const world = {
    perform: () => ({ kind: 'success' as const, output: many(150_000, (n) => n), at: 1 }),
  }
  const before = process.threadCpuUsage()
  const end = await runGraph(workflow, memoryDurable(new Journal(), world), launch)
  const { user, system } = process.threadCpuUsage(before)
  expect(end).toMatchObject({ status: 'failed', error: { code: 'STEP_OUTPUT_TOO_LARGE' } })
  // Two hundred times it would be over a second.
  expectWithin((user + system) / 1000, 400)
})

test.each(growing)('%s is stopped', async (_name, definition, code) => {
  const end = await run(definition)
  expect(end).toMatchObject({ status: 'failed', error: { code } })
})
