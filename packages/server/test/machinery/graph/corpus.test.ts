import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Answer,
  checkInputs,
  compileDefinition,
  defaultRunLimits,
  findSuspension,
  type Launch,
  outcomeFields,
  type RunEnd,
  type RunStatus,
  runGraph,
  type StepRecord,
  stateOf,
  suspensionsOf,
  type Workflow,
} from '#machinery/graph/graph.ts'
import { Journal, memoryDurable, Stuck } from './memory-durable.ts'
import { type Agents, openBench, references } from './stub-tools.ts'

interface Case {
  readonly name: string
  readonly kind: 'valid' | 'invalid'
  readonly workspaceId: string
  readonly definition: unknown
  readonly inputs: unknown
  readonly agents?: Agents
  readonly limits?: { loopIterations?: number }
  readonly resumes?: {
    readonly stepId?: string
    readonly resumeData: unknown
    readonly expect: { readonly http: number; readonly thenStatus?: string; readonly suspended?: string[] }
  }[]
  readonly expected: {
    readonly issues?: { readonly code: string; readonly path: string }[]
    readonly status?: string
    readonly result?: unknown
    readonly error?: Record<string, unknown>
    readonly steps?: Record<string, { readonly status: string; readonly output?: unknown }>
    readonly toolCalls?: Record<string, number>
  }
}

const folder = join(import.meta.dirname, 'corpus')
const cases = readdirSync(folder)
  .sort()
  .map((file): Case => JSON.parse(readFileSync(join(folder, file), 'utf8')))
const valid = cases.filter(({ kind }) => kind === 'valid')
const invalid = cases.filter(({ kind }) => kind === 'invalid')

test('the corpus is all there', () => {
  expect([valid.length, invalid.length]).toEqual([26, 25])
})

/** What an author may assume: a definition as text and as a record is the same. */
function compile({ definition, workspaceId, agents }: Case) {
  const options = { workspaceId, references: references({ writer: '', ...agents }) }
  const compiled = compileDefinition(JSON.stringify(definition), options)
  expect(compileDefinition(definition, options).report).toEqual(compiled.report)
  return compiled
}

function compileValid(one: Case): Workflow {
  const { workflow, report } = compile(one)
  if (!workflow) throw new Error(JSON.stringify(report))
  return workflow
}

function launchOf({ workspaceId, inputs, limits }: Case): Launch {
  const requestContext = {
    workspaceId,
    userId: 'user',
    runId: 'run',
    workflowId: 'workflow',
    definitionId: 'definition',
    workflowSlug: 'slug',
    apiKeyId: null,
    agentSlug: null,
    conversationId: null,
    source: 'api',
    launchedAt: '2026-11-01T00:00:00.000Z',
  }
  return {
    runId: 'run',
    inputs,
    launchedAt: 1_790_000_000_000,
    requestContext,
    limits: { ...defaultRunLimits, ...limits },
  }
}

test.each(invalid)('$name is refused with exactly the expected issues', (one) => {
  const { report } = compile(one)
  const found = report?.issues.map(({ code, path }) => ({ code, path }))
  expect(found).toHaveLength(one.expected.issues?.length ?? -1)
  expect(found).toEqual(expect.arrayContaining(one.expected.issues ?? []))
  for (const { message } of report?.issues ?? []) expect(message).toMatch(/^[^\n]{10,300}\.$/)
})

/** Runs until the end or until only people can help. */
async function run(
  one: Case,
  workflow: Workflow,
  journal: Journal,
  answers: Map<string, Answer>,
  bench = openBench(one.agents),
) {
  const now = launchOf(one).launchedAt
  const world = { perform: bench.perform, answer: ({ key }: { key: string }) => answers.get(key), now }
  try {
    return await runGraph(workflow, memoryDurable(journal, world), launchOf(one))
  } catch (error) {
    if (error instanceof Stuck) return undefined
    throw error
  }
}

function recordsOf(journal: Journal): Map<string, StepRecord> {
  return new Map(journal.changes.map(({ stepId, record }) => [stepId, record]))
}

test.each(valid)('$name runs as expected', async (one) => {
  const workflow = compileValid(one)
  expect(checkInputs(workflow.inputSchema, one.inputs)).toEqual([])
  const journal = new Journal()
  const answers = new Map<string, Answer>()
  const bench = openBench(one.agents)
  let end: RunEnd | undefined = await run(one, workflow, journal, answers, bench)
  for (const resume of one.resumes ?? []) {
    const suspension = findSuspension(suspensionsOf(workflow, recordsOf(journal)), resume.stepId)
    expect(suspension === undefined ? 409 : 200).toBe(resume.expect.http)
    if (!suspension) continue
    answers.set(suspension.key, { data: resume.resumeData, at: 1_790_000_009_000 })
    end = await run(one, workflow, journal, answers, bench)
    const waiting = suspensionsOf(workflow, recordsOf(journal)).map(({ stepId }) => stepId)
    expect(end?.status ?? 'suspended').toBe(resume.expect.thenStatus)
    expect(waiting).toEqual(resume.expect.suspended ?? [])
  }
  const { status, result, error, steps, toolCalls } = one.expected
  expect(end?.status).toBe(status)
  const ended = end ?? { status: 'canceled' as const, records: new Map(), at: 0 }
  if (ended.status === 'success') expect(ended.result).toEqual(result)
  if (ended.status === 'failed') expect(ended.error).toMatchObject(error ?? {})
  // Whoever writes the projection sees the same records as the run itself.
  expect(recordsOf(journal)).toEqual(ended.records)
  expect(outcomesOf(ended.records)).toEqual(steps)
  if (toolCalls) expect(bench.toolCalls).toMatchObject(toolCalls)
})

/** As they are shown, without the words of errors. */
function outcomesOf(records: ReadonlyMap<string, StepRecord>) {
  const shown = [...records].flatMap(([stepId, record]) => {
    const fields = outcomeFields(record.status)?.filter((field) => field !== 'error')
    if (!fields) return []
    const given = fields.map((field) => [field, record[field as keyof StepRecord]])
    return [[stepId, { status: record.status, ...Object.fromEntries(given) }]]
  })
  return Object.fromEntries(shown)
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: the language's own references
const joined = '${stepResults.loud.text} ${stepResults.ask.answer}'

test('where a run stands has the documented shape at every stage', async () => {
  const one: Case = {
    name: 'stages',
    kind: 'valid',
    workspaceId: '7d9f2c1e-4b1a-4c55-9f0e-3a6b8c2d1e00',
    inputs: { text: 'hi', question: 'Publish?' },
    definition: {
      id: 'stages',
      inputSchema: {},
      outputSchema: {},
      graph: [
        { type: 'tool', id: 'fetch', toolId: 'echo' },
        {
          type: 'parallel',
          steps: [
            { type: 'tool', id: 'ask', toolId: 'ask-human' },
            { type: 'tool', id: 'loud', toolId: 'upper' },
          ],
        },
        {
          type: 'mapping',
          id: 'out',
          mapConfig: JSON.stringify({ line: { template: joined } }),
        },
      ],
    },
    expected: {},
  }
  const workflow = compileValid(one)
  const { inputs, launchedAt } = launchOf(one)
  const journal = new Journal()
  const answers = new Map<string, Answer>()
  const stateAt = (status: RunStatus, steps: ReadonlyMap<string, StepRecord>) =>
    stateOf(workflow, { status, launchedAt, steps })

  expect(stateAt('running', new Map())).toEqual({
    ran: [],
    state: { value: {}, activePaths: [], suspendedPaths: {}, timestamp: launchedAt },
  })
  await run(one, workflow, journal, answers)
  const suspended = stateAt('suspended', recordsOf(journal))
  expect(suspended.state).toMatchObject({ activePaths: [1], suspendedPaths: { ask: [1, 0] } })
  expect(suspended.ran).toEqual(['fetch', 'ask', 'loud'])
  expect(Object.fromEntries(recordsOf(journal))).toMatchObject({
    fetch: { status: 'success', payload: inputs, output: inputs },
    ask: { status: 'suspended', suspendPayload: { kind: 'question', question: 'Publish?' } },
    loud: { status: 'success', output: { text: 'HI' } },
  })
  answers.set('ask:0:0', { data: 'yes', at: launchedAt + 9000 })
  const end = await run(one, workflow, journal, answers)
  if (end?.status !== 'success') throw new Error('expected success')
  expect(end.result).toEqual({ line: 'HI yes' })
  expect(stateAt(end.status, end.records).state).toMatchObject({
    activePaths: [2],
    suspendedPaths: {},
    timestamp: launchedAt + 9000,
  })
  expect(end.records.get('ask')).toEqual({
    status: 'success',
    payload: inputs,
    output: { answer: 'yes' },
    resumePayload: 'yes',
    startedAt: expect.any(Number),
    resumedAt: launchedAt + 9000,
    endedAt: expect.any(Number),
  })
})
