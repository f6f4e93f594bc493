import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { bash, newRunner, script } from '../support/executions.ts'
import { until } from '../support/processes.ts'
import { definitionOf, endStates, type Runs, runsOf } from '../support/workflows.ts'

let stack: SpawnedStack
let app: Caller
let person: Person
let runs: Runs

const skill = (id: string) => ({ type: 'tool', id, toolId: 'execute-skill' })

beforeAll(async () => {
  stack = await spawnStack(['--workers', '2', '--limits', 'off'])
  app = createCaller(stack.baseUrl)
  person = await newRunner(app)
  runs = runsOf(app, person)
  await runs.install('one', definitionOf('one', [skill('only')]))
  await runs.install('two', definitionOf('two', [{ type: 'parallel', steps: [skill('a'), skill('b')] }]))
})

afterAll(() => stack?.stop())

async function executions(): Promise<{ status: string; stopReason: string | null; source: string }[]> {
  const { body } = await app.call('GET', '/api/v1/executions', { token: person.token })
  return body.items
}

const errand = (input: unknown) => ({ slug: 'errand', input })

test('a step waits for its skill and gives what came of it', async () => {
  const runId = await runs.start('one', errand(script({ say: 'All done.' })))
  const { run } = await runs.reaches(runId, endStates, 60_000)
  expect(run.snapshot.result).toMatchObject({
    slug: 'errand',
    skillName: 'errand',
    status: 'completed',
    text: 'All done.',
    executionId: expect.stringMatching(/^exec_/),
  })
  expect((run.snapshot.result as { cost: number }).cost).toBeGreaterThan(0)
})

test('skills beside each other wait for the one slot of the workspace', async () => {
  const runId = await runs.start(
    'two',
    errand(script({ say: 'Working.', tools: [bash('sleep 1')] }, { say: 'Done.' })),
  )
  const { run, steps } = await runs.reaches(runId, endStates, 60_000)
  expect(run.status, JSON.stringify(run.snapshot.error)).toBe('success')
  expect(Object.keys(steps).sort()).toEqual(['a', 'b'])
})

test('an unknown skill and an input that is none fail the step', async () => {
  const unknown = await runs.start('one', { slug: 'nothing', input: 'x' })
  const { run } = await runs.reaches(unknown, endStates)
  expect(run.snapshot.error).toMatchObject({ code: 'SKILL_FAILED', details: { reason: 'NOT_FOUND' } })
  const without = await runs.start('one', { slug: 'errand' })
  expect((await runs.reaches(without, endStates)).run.snapshot.error).toMatchObject({
    code: 'STEP_INPUT_INVALID',
  })
})

test('cancel interrupts the skill that runs and the one that waits', async () => {
  const runId = await runs.start('two', errand(script({ say: 'Working.', tools: [bash('sleep 300')] })))
  await until(async () => (await executions()).some(({ status }) => status === 'working'), 30_000)
  expect((await runs.cancel(runId)).status).toBe(200)
  await until(
    async () => (await executions()).every(({ status }) => status !== 'working' && status !== 'idle'),
    10_000,
  )
  const [latest] = await executions()
  expect(latest).toMatchObject({ status: 'failed', stopReason: 'interrupt', source: 'workflow' })
  expect((await runs.get(runId)).body.run.status).toBe('canceled')
})

test('a skill that is interrupted by itself fails its step', async () => {
  const runId = await runs.start('one', errand(script({ say: 'Working.', tools: [bash('sleep 300')] })))
  let executionId = ''
  await until(async () => {
    const { body } = await app.call('GET', '/api/v1/executions', { token: person.token })
    executionId = body.items.find(({ status }: { status: string }) => status === 'working')?.executionId ?? ''
    return executionId !== ''
  }, 30_000)
  await app.call('POST', `/api/v1/executions/${executionId}/cancel`, { token: person.token })
  const { run } = await runs.reaches(runId, endStates)
  expect(run.snapshot.error).toMatchObject({
    code: 'SKILL_FAILED',
    details: { executionId, status: 'failed', stopReason: 'interrupt' },
  })
})
