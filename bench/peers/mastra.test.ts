import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Mastra } from '@mastra/core/mastra'
import { RequestContext } from '@mastra/core/request-context'
import { createTool } from '@mastra/core/tools'
import { type DynamicWorkflowGraph, jsonSchemaToZod, rehydrateWorkflow } from '@mastra/core/workflows'
import { expect, test } from 'vitest'
import {
  compileDefinition,
  defaultRunLimits,
  runGraph,
} from '../../packages/server/src/machinery/graph/graph.ts'
import { Journal, memoryDurable } from '../../packages/server/test/machinery/graph/memory-durable.ts'
import { openBench, stubs } from '../../packages/server/test/machinery/graph/stub-tools.ts'

/*
 * The format is that of @mastra/core's stored workflows, so the same definitions must come to the same there. Its own
 * static path check is stricter than the format and is left out. What differs on purpose:
 */
const differences: Record<string, string> = {
  'v10-conditional-none-true':
    'gives the next entry a null for every branch that was not taken; here only what ran',
  'v18-foreach-not-an-array': 'takes a record for an empty list; here it fails the step',
  'v26-output-schema-mismatch': 'does not check the result against outputSchema; here it is checked',
}
const notComparable: Record<string, string> = {
  'v14-loop-cap': 'has no cap on iterations and would not end',
  'v21-sleep-inside-parallel': 'cannot build a sleep in a container',
  'v22-workspace-interpolation': 'asks a model through an agent',
  'v23-agent-structured-output': 'asks a model through an agent',
  'v25-suspend-and-resume-one-branch': 'resumes by another interface',
}

interface Case {
  readonly name: string
  readonly workspaceId: string
  readonly definition: DynamicWorkflowGraph
  readonly inputs: Record<string, unknown>
}

const folder = join(import.meta.dirname, '../../packages/server/test/machinery/graph/corpus')
const cases = readdirSync(folder)
  .filter((file) => file.startsWith('v'))
  .map((file): Case => JSON.parse(readFileSync(join(folder, file), 'utf8')))
const comparable = cases.filter(({ name }) => !Object.hasOwn(notComparable, name))

async function runThere({ definition, inputs, workspaceId }: Case) {
  const counts: Record<string, number> = {}
  const tools = Object.entries(stubs).map(([id, stub]) => {
    const execute = async (input: unknown) => {
      const calls = (counts[id] ?? 0) + 1
      counts[id] = calls
      const made = stub.run(input as Record<string, unknown>, calls, undefined)
      if ('output' in made) return made.output
      throw new Error('failure' in made ? made.failure : 'asks')
    }
    // It drops whatever a record's schema does not declare, so only a schema that declares everything is given.
    const inputSchema = jsonSchemaToZod(Object.hasOwn(stub.inputSchema, 'properties') ? stub.inputSchema : {})
    const outputSchema = jsonSchemaToZod({})
    return [id, createTool({ id, description: id, inputSchema, outputSchema, execute })] as const
  })
  const mastra = new Mastra({ tools: Object.fromEntries(tools) as Record<string, never>, logger: false })
  const { workflow } = await rehydrateWorkflow(definition, mastra)
  mastra.addWorkflow(workflow, definition.id)
  const requestContext = new RequestContext()
  requestContext.set('workspaceId', workspaceId)
  const run = await workflow.createRun()
  const { status, result } = await run.start({ inputData: inputs, requestContext })
  return { status, result }
}

async function runHere({ definition, inputs, workspaceId }: Case) {
  const { workflow } = compileDefinition(definition, { workspaceId })
  if (!workflow) throw new Error('does not compile')
  const requestContext = {
    workspaceId,
    userId: null,
    runId: null,
    workflowId: null,
    definitionId: null,
    workflowSlug: null,
    apiKeyId: null,
    agentSlug: null,
    conversationId: null,
    source: null,
    launchedAt: null,
  }
  const launch = { runId: 'run', inputs, launchedAt: 0, requestContext, limits: defaultRunLimits }
  const end = await runGraph(workflow, memoryDurable(new Journal(), openBench()), launch)
  return { status: end.status, result: end.status === 'success' ? end.result : undefined }
}

test('the table names only cases that exist', () => {
  const names = cases.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining([...Object.keys(differences), ...Object.keys(notComparable)]))
  expect(comparable).toHaveLength(21)
})

test.each(comparable)('$name comes to the same there, or differs as the table says', async (one) => {
  const [here, there] = [await runHere(one), await runThere(one)]
  if (Object.hasOwn(differences, one.name)) expect(there).not.toEqual(here)
  else expect(there).toEqual(here)
})
