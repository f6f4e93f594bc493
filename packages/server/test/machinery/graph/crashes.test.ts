import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  compileDefinition,
  defaultRunLimits,
  type Launch,
  type RunEnd,
  runGraph,
  type StepCall,
  type Workflow,
} from '#machinery/graph/graph.ts'
import { tell } from '../../../../../test/support/proof.ts'
import { atSize } from '../../../../../test/support/sizes.ts'
import { Crash, Journal, memoryDurable, type World } from './memory-durable.ts'
import { answerPurely, digest, performPurely, randomDefinition } from './random-graphs.ts'

const launch: Launch = {
  runId: 'run',
  inputs: { n: 3, text: 'hi' },
  launchedAt: 0,
  requestContext: {
    workspaceId: 'workspace',
    userId: 'user',
    runId: 'run',
    workflowId: 'workflow',
    definitionId: 'random',
    workflowSlug: 'random',
    apiKeyId: null,
    agentSlug: null,
    conversationId: null,
    source: 'api',
    launchedAt: '1970-01-01T00:00:00.000Z',
  },
  limits: { ...defaultRunLimits, loopIterations: 6 },
}

type Moment = 'before' | 'after'

interface Trial {
  readonly end: RunEnd
  readonly performed: readonly string[]
  readonly completions: number
  readonly crashes: number
}

/** Runs to the end, through all crashes; what is in memory is lost each time, the journal stays. */
async function runThrough(
  workflow: Workflow,
  seed: number,
  crash: (completions: number) => Moment | undefined,
): Promise<Trial> {
  const journal = new Journal()
  const performed: string[] = []
  let crashes = 0
  const crashed = new Set<number>()
  const world: World = {
    perform: (call: StepCall) => {
      performed.push(`${call.idempotencyKey} ${call.questionKey} ${call.answer !== undefined}`)
      return performPurely(call)
    },
    answer: answerPurely,
    choose: (count) => digest(seed, journal.completions.length) % count,
    crash: (completions) => {
      const moment = crashed.has(completions) ? undefined : crash(completions)
      if (moment) crashed.add(completions)
      return moment
    },
  }
  for (;;) {
    try {
      const end = await runGraph(workflow, memoryDurable(journal, world), launch)
      return { end, performed, completions: journal.completions.length, crashes }
    } catch (error) {
      if (!(error instanceof Crash)) throw error
      crashes++
    }
  }
}

/** Tens of thousands of comparisons: the slow one, which shows the difference, only when there is one. */
function expectSame(one: RunEnd, other: RunEnd): void {
  if (!isDeepStrictEqual(one, other)) expect(one).toEqual(other)
}

function compile(definition: unknown): Workflow {
  const { workflow, report } = compileDefinition(definition, { workspaceId: 'workspace' })
  if (!workflow) throw new Error(JSON.stringify(report))
  return workflow
}

const graphs = atSize(600, 3000)

test(`${graphs} random graphs come to the same with a crash at every point`, {
  timeout: 120_000,
}, async () => {
  const seen: Record<string, number> = { success: 0, failed: 0, canceled: 0 }
  const types: Record<string, number> = {}
  let runs = 0
  let crashes = 0
  const property = fc.asyncProperty(randomDefinition, fc.nat(), async (definition, seed) => {
    const workflow = compile(definition)
    const plain = await runThrough(workflow, seed, () => undefined)
    for (const { type } of definition.graph) types[String(type)] = (types[String(type)] ?? 0) + 1
    seen[plain.end.status] = (seen[plain.end.status] ?? 0) + 1
    expect(new Set(plain.performed).size).toBe(plain.performed.length)
    for (let point = 1; point <= plain.completions; point++) {
      for (const moment of ['before', 'after'] as const) {
        const trial = await runThrough(workflow, seed, (completions) =>
          completions === point ? moment : undefined,
        )
        expectSame(trial.end, plain.end)
        // Recorded steps never run again; the one whose result was lost does, once.
        const again = trial.performed.length - plain.performed.length
        if (again !== 0 && !(again === 1 && moment === 'before')) throw new Error(`${again} steps ran again`)
        if (!isDeepStrictEqual(new Set(trial.performed), new Set(plain.performed)))
          throw new Error('other steps ran')
        if (trial.crashes !== 1) throw new Error(`${trial.crashes} crashes instead of one`)
        runs++
        crashes += trial.crashes
      }
    }
    const everywhere = await runThrough(workflow, seed, () => 'after')
    expect(everywhere.crashes).toBe(plain.completions)
    expect(everywhere.performed).toEqual(plain.performed)
    expectSame(everywhere.end, plain.end)
    crashes += everywhere.crashes
  })
  await fc.assert(property, { numRuns: graphs, seed: 20261115 })
  tell(`${graphs} graphs, ${runs} crashed runs, ${crashes} crashes: ${JSON.stringify(seen)}`)
  expect(seen['success']).toBeGreaterThan(graphs / 4)
  expect(seen['failed']).toBeGreaterThan(graphs / 20)
  expect(Object.keys(types).sort()).toEqual([
    'agent',
    'conditional',
    'foreach',
    'loop',
    'mapping',
    'parallel',
    'sleep',
    'sleepUntil',
    'tool',
  ])
})

test('what a run comes to does not depend on which of its steps is faster', async () => {
  let compared = 0
  const property = fc.asyncProperty(randomDefinition, fc.nat(), fc.nat(), async (definition, seed, other) => {
    const workflow = compile(definition)
    const one = await runThrough(workflow, seed, () => undefined)
    const two = await runThrough(workflow, other, () => undefined)
    expect(two.end.status).toBe(one.end.status)
    if (one.end.status !== 'success' || two.end.status !== 'success') return
    compared++
    expect(two.end.result).toEqual(one.end.result)
    expect([...two.end.records.keys()].sort()).toEqual([...one.end.records.keys()].sort())
    for (const [stepId, record] of one.end.records)
      expect(two.end.records.get(stepId)?.output).toEqual(record.output)
  })
  await fc.assert(property, { numRuns: 500, seed: 20261115 })
  expect(compared).toBeGreaterThan(100)
})

test('a cancel at any point ends the run and leaves no step open', async () => {
  let canceled = 0
  const property = fc.asyncProperty(randomDefinition, fc.nat(), async (definition, seed) => {
    const workflow = compile(definition)
    const plain = await runThrough(workflow, seed, () => undefined)
    for (let point = 0; point < plain.completions; point++) {
      const journal = new Journal()
      const world: World = {
        perform: performPurely,
        answer: answerPurely,
        choose: (count) => digest(seed, journal.completions.length) % count,
        isCanceled: (completions) => completions >= point,
      }
      const end = await runGraph(workflow, memoryDurable(journal, world), launch)
      // The last completion may be the note that a run waits, after which there is nothing more to wait for.
      if (end.status !== 'canceled') continue
      canceled++
      const open = [...end.records.values()].filter(({ status }) =>
        ['running', 'waiting', 'suspended'].includes(status),
      )
      expect(open).toEqual([])
      const last = new Map(journal.changes.map(({ stepId, record }) => [stepId, record]))
      expect(last).toEqual(end.records)
    }
  })
  await fc.assert(property, { numRuns: 300, seed: 20261115 })
  expect(canceled).toBeGreaterThan(300)
})
