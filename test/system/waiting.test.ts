import { beforeAll, expect, test } from 'vitest'
import { countCalls } from '../chaos/engine-evidence.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import { script } from '../support/executions.ts'
import { until } from '../support/processes.ts'
import { definitionOf, endStates, runsOf } from '../support/workflows.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

/** What `workflow-scale` and `chat-scale` prove of many: nobody has in hand what waits, and it goes on. */
let stack: SharedStack
let app: Caller
let person: Person

beforeAll(async () => {
  stack = await calmStack()
  app = createCaller(stack.baseUrl)
  person = await app.newPerson({ mode: 'basedmode' })
})

const longSleepMs = 24 * 60 * 60_000
const graphs = {
  ask: [
    { type: 'mapping', id: 'question', mapConfig: '{"question":{"value":"Go on?"}}' },
    { type: 'tool', id: 'ask', toolId: 'ask-human' },
  ],
  nap: [{ type: 'sleep', id: 'sleep', duration: longSleepMs }],
}

test('a run that waits for a person or for a time is put aside, and can be answered or canceled', async () => {
  const runs = runsOf(app, person)
  for (const [slug, graph] of Object.entries(graphs)) await runs.install(slug, definitionOf(slug, graph))
  const [asking, sleeping] = [await runs.start('ask'), await runs.start('nap')]
  const ofBoth = `target_service_name = 'WorkflowRun' and target_handler_name = 'run'
    and target_service_key in ('${asking}', '${sleeping}')`
  await until(async () => (await countCalls(stack, `${ofBoth} and status = 'suspended'`)) === 2, 20_000)
  expect((await runs.resume(asking, { resumeData: 'yes' })).status).toBe(200)
  expect((await runs.cancel(sleeping)).status).toBe(200)
  expect((await runs.reaches(asking, endStates)).run.status).toBe('success')
  expect((await runs.reaches(sleeping, endStates)).run.status).toBe('canceled')
  await until(async () => (await countCalls(stack, `${ofBoth} and status != 'completed'`)) === 0, 20_000)
})

interface ChatRun {
  id: string
  status: string
  ref: string | null
}

async function chatRun(): Promise<ChatRun | undefined> {
  return withDatabase(stack.databaseUrl, async (database) => {
    const { rows } = await database.query<ChatRun>(
      'select thread_row_id as id, status, wait_ref as ref from thread_runs where workspace_id = $1',
      [person.workspaceId],
    )
    return rows[0]
  })
}

test('a chat that waits for a person has no call open, and goes on when they decide', async () => {
  const { token, workspaceId: resourceId } = person
  await app.call('PATCH', '/api/v1/agents/assistant', { token, body: { tools: ['http-request'] } })
  const asking = { tools: [{ name: 'http-request', input: { url: 'https://nowhere.invalid/' } }] }
  const body = { resourceId, threadId: 'waits', message: script(asking, { say: 'Done.' }) }
  const sent = await app.call('POST', '/api/v1/agents/assistant/send-message', { token, body })
  expect(sent.status, sent.text).toBe(202)
  await until(async () => (await chatRun())?.status === 'waiting', 20_000)
  const waiting = await chatRun()
  const open = `target_service_name = 'Thread' and target_service_key = '${waiting?.id}' and status != 'completed'`
  await until(async () => (await countCalls(stack, open)) === 0, 20_000)
  const denied = await app.call('POST', `/api/v1/approvals/${waiting?.ref}/deny`, { token, body: {} })
  expect(denied.status, denied.text).toBe(200)
  await until(async () => (await chatRun())?.status === 'completed', 20_000)
})
