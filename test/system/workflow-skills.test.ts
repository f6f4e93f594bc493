import { beforeAll, expect, test } from 'vitest'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import { bash, newRunner, script } from '../support/executions.ts'
import { until } from '../support/processes.ts'
import { definitionOf, endStates, type Runs, runsOf } from '../support/workflows.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

let stack: SharedStack
let app: Caller
let person: Person
let runs: Runs

const skill = (id: string) => ({ type: 'tool', id, toolId: 'execute-skill' })

beforeAll(async () => {
  stack = await calmStack()
  app = createCaller(stack.baseUrl)
  person = await newRunner(app)
  runs = runsOf(app, person)
  await runs.install('one', definitionOf('one', [skill('only')]))
  await runs.install('two', definitionOf('two', [{ type: 'parallel', steps: [skill('a'), skill('b')] }]))
})

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

test('a message of sixty Ds and the skills that a chat runs for it cost no more than sixty', async () => {
  const spender = await newRunner(app)
  const { token } = spender
  const tools = await app.call('PATCH', '/api/v1/agents/assistant', { token, body: { tools: ['skills'] } })
  expect(tools.status, tools.text).toBe(200)
  /** At the scripted model's price: 300 Ds for a million tokens that go in. */
  const costing = (ds: number) => ({ input: Math.round((ds * 1_000_000) / 300), output: 0 })
  const input = script({ tools: [bash('true')], usage: costing(15) }, { say: 'Run.', usage: costing(10) })
  const running = { tools: [{ name: 'run_skill', input: errand(input) }], usage: costing(1) }
  const message = script(running, running, running, { say: 'Done.', usage: costing(1) })
  const body = { resourceId: spender.workspaceId, threadId: 'sixty', message, maxCost: 60 }
  const sent = await app.call('POST', '/api/v1/agents/assistant/send-message', { token, body })
  expect(sent.status, sent.text).toBe(202)
  await until(async () => {
    const { body } = await app.call('GET', '/api/v1/threads/sixty/runs', { token })
    return ['completed', 'failed'].includes(body.items[0]?.status)
  }, 60_000)
  const spent = await withDatabase(stack.databaseUrl, async (database) => {
    const { rows } = await database.query(
      `select sum(amount_milli_ds) filter (where execution_id like 'exec_%')::float8 / 1000 as skills,
         sum(amount_milli_ds)::float8 / 1000 as total from ledger where user_id = $1 and kind = 'settle'`,
      [spender.userId],
    )
    return rows[0]
  })
  // It was used, by skills above all, and not merely refused.
  expect(spent.skills).toBeGreaterThan(50)
  expect(spent.total).toBeGreaterThan(55)
  expect(spent.total).toBeLessThanOrEqual(60)
  const billing = await app.call('GET', '/api/v1/billing', { token })
  expect(billing.body.availableBalance).toBe(billing.body.balance)
}, 90_000)
