import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** Tools over the whole way: a message, a model that asks for them, a person who decides, and the log of it all. */
let house: ChatHouse
let person: Person
let threads = 0

beforeAll(async () => {
  house = await openChatHouse()
  person = await house.newPerson({ mode: 'basedmode' })
  await call('PATCH', '/agents/assistant', {
    tools: ['skills', 'workflows', 'http-request', 'transform-json'],
  })
})

afterAll(() => house.close())

const call = (method: string, path: string, body?: unknown, key?: string) =>
  house.call(method, `/api/v1${path}`, {
    ...(key === undefined ? { token: person.token } : { key }),
    ...(body === undefined ? {} : { body }),
  })

const eventually = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 60_000, interval: 50 })

interface Frame {
  sequence: number
  type: string
  run_id: string
  payload: Record<string, never>
}

async function logOf(threadId: string): Promise<Frame[]> {
  const { db } = house.deps.database
  const rows = await db
    .selectFrom('thread_events')
    .innerJoin('threads', 'threads.id', 'thread_events.thread_row_id')
    .select(['sequence', 'type', 'run_id', 'payload'])
    .where('threads.thread_id', '=', threadId)
    .orderBy('sequence')
    .execute()
  return rows.map((row) => ({ ...row, payload: JSON.parse(row.payload as string) })) as Frame[]
}

const of = (log: Frame[], type: string) =>
  log.filter((event) => event.type === type).map(({ payload }) => payload)

/** Every process does this about once a second. */
async function tend(): Promise<void> {
  await house.reconcilers.find(({ name }) => name === 'waits of chats')?.run()
}

async function say(steps: Step[], key?: string, threadId = `t${++threads}`): Promise<string> {
  const body = { resourceId: person.workspaceId, threadId, message: scripted(...steps) }
  const sent = await call('POST', '/agents/assistant/send-message', body, key)
  if (sent.status !== 202) throw new Error(sent.text)
  return threadId
}

async function until(threadId: string, type: string, count = 1): Promise<Frame[]> {
  return eventually(async () => {
    await tend()
    const log = await logOf(threadId)
    expect(of(log, type).length, JSON.stringify(log.slice(-3))).toBeGreaterThanOrEqual(count)
    return log
  })
}

const use = (name: string, input: unknown): Step => ({ tools: [{ name, input }] })
const definition = (id: string, graph: unknown[] = [{ type: 'mapping', id: 'out', mapConfig: '{}' }]) => ({
  id,
  inputSchema: {},
  outputSchema: {},
  graph,
})

test('an agent that is asked for a workflow reads the guide, installs and launches it, in the name of who asked', async () => {
  const threadId = await say([
    use('workflow_guide', {}),
    use('validate_workflow', { definition: definition('asked') }),
    use('install_workflow', { slug: 'asked', definition: definition('asked') }),
    use('launch_workflow', { slug: 'asked' }),
    { say: 'It runs.' },
  ])
  const log = await until(threadId, 'run.finished')
  expect(of(log, 'agent.tool_use').map(({ name, label }) => [name, label])).toEqual([
    ['workflow_guide', 'Read how workflows are written'],
    ['validate_workflow', 'Check a workflow'],
    ['install_workflow', 'Install the workflow asked'],
    ['launch_workflow', 'Launch the workflow asked'],
  ])
  const results = of(log, 'agent.tool_result')
  expect(results.map(({ isError }) => isError)).toEqual([false, false, false, false])
  const launched = JSON.parse(results[3]?.['summary'] ?? '{}')
  const { body } = await call('GET', `/workflows/runs/${launched.runId}`)
  expect(body.run.conversationId).toBe(threadId)
  expect(of(log, 'run.finished')).toMatchObject([
    { status: 'completed', stop_reason: { type: 'end_turn' }, workflowRuns: [launched.runId] },
  ])
})

test('a run that was launched in a private conversation names it to its owner alone', async () => {
  const key = (await house.newKey(person)).secret
  const install = use('install_workflow', { slug: 'hushed', definition: definition('hushed') })
  await call('POST', '/threads', { threadId: 'hush', visibility: 'private' })
  await say([install, use('launch_workflow', { slug: 'hushed' }), { say: 'Launched.' }], undefined, 'hush')
  const [finished] = of(await until('hush', 'run.finished'), 'run.finished')
  const { runId } = (await call('GET', '/workflows/runs')).body.runs[0]
  expect(finished).toMatchObject({ workflowRuns: [runId] })
  const paths = ['/workflows/runs', `/workflows/runs/${runId}`]
  for (const path of paths) {
    expect((await call('GET', path)).text).toContain('"conversationId":"hush"')
    expect((await call('GET', path, undefined, key)).text).not.toContain('hush"')
  }
  expect((await call('DELETE', '/threads/hush')).status).toBe(200)
  for (const path of paths) expect((await call('GET', path)).text).not.toContain('"conversationId":"hush"')
})

test('the answer of a chat names the runs of workflows that it launched, each once, and only those', async () => {
  const slug = 'named'
  const install = use('install_workflow', { slug, definition: definition(slug) })
  const launch = use('launch_workflow', { slug })
  const message = scripted(install, launch, launch, { say: 'Both run.' })
  const { body } = await call('POST', '/chat/assistant', { message })
  const log = await logOf(body.threadId)
  const told = of(log, 'agent.tool_result').flatMap(({ summary }) => JSON.parse(summary ?? '{}').runId ?? [])
  expect(new Set(told).size).toBe(2)
  expect(body.workflowRuns).toEqual(told)
  expect(of(log, 'run.finished')).toMatchObject([{ workflowRuns: told }])
  const after = await call('POST', '/chat/assistant', {
    threadId: body.threadId,
    message: scripted({ say: 'Nothing more.' }),
  })
  expect(after.body).not.toHaveProperty('workflowRuns')
})

describe('what needs a person', () => {
  const outside = use('http-request', { url: 'https://nowhere.example/' })

  test('waits in the thread, holding nothing, and goes on after the yes', async () => {
    const threadId = await say([outside, { say: 'Done with it.' }])
    const log = await until(threadId, 'approval.required')
    const [asked] = of(log, 'approval.required')
    expect(asked).toMatchObject({ kind: 'tool', summary: 'http-request: GET https://nowhere.example/' })
    const thread = (await call('GET', `/threads/${threadId}`)).body
    expect(thread.status).toBe('waiting')
    await call('POST', `/approvals/${asked?.['approvalId']}/approve`, {})
    const after = await until(threadId, 'run.finished')
    expect(of(after, 'agent.tool_result')).toMatchObject([
      { isError: true, summary: expect.stringContaining('not among those') },
    ])
    expect(of(after, 'agent.message').at(-1)).toMatchObject({ content: 'Done with it.' })
    const { db } = house.deps.database
    const { tainted } = await db
      .selectFrom('threads')
      .select('tainted')
      .where('thread_id', '=', threadId)
      .executeTakeFirstOrThrow()
    expect(tainted).toBe(true)
  })

  test('is told no with the reason', async () => {
    const threadId = await say([outside, { say: 'Then not.' }])
    const [asked] = of(await until(threadId, 'approval.required'), 'approval.required')
    await call('POST', `/approvals/${asked?.['approvalId']}/deny`, { reason: 'Not that host' })
    const log = await until(threadId, 'run.finished')
    expect(of(log, 'agent.tool_result')).toMatchObject([
      { isError: true, summary: expect.stringContaining('Not that host') },
    ])
  })

  test('of a key that lacks the scope is a permission, asked for with the call itself', async () => {
    const made = await call('POST', '/keys', { label: 'k', access: 'declared', scopes: ['agent:message'] })
    const threadId = await say(
      [use('launch_workflow', { slug: 'asked' }), { say: 'So be it.' }],
      made.body.api_key,
    )
    const [asked] = of(await until(threadId, 'approval.required'), 'approval.required')
    expect(asked).toMatchObject({ kind: 'permission', scope: 'tool:execute' })
    await call('POST', `/agents/request-permission/${asked?.['approvalId']}/deny`, { reason: 'No' })
    const log = await until(threadId, 'run.finished')
    expect(of(log, 'agent.tool_result')[0]).toMatchObject({ isError: true })
    expect(of(log, 'run.finished')).toMatchObject([{ status: 'completed' }])
  })
})

test('a skill is queued, waited for, and its cost counts to the message', async () => {
  const files = [{ path: 'SKILL.md', content: '---\nname: writer\ndescription: Writes.\n---\nWrite.\n' }]
  const artifact = await call('POST', '/artifacts', { type: 'skill', files })
  await call('POST', '/skills/writer/install', { artifactId: artifact.body.id })
  const threadId = await say([use('run_skill', { slug: 'writer', input: 'Write' }), { say: 'Written.' }])
  const waiting = await eventually(async () => {
    const { body } = await call('GET', `/threads/${threadId}/runs`)
    expect(body.items[0].waitsFor).toMatchObject({ kind: 'execution' })
    return body.items[0]
  })
  await call('POST', `/executions/${waiting.waitsFor.id}/cancel`)
  const log = await until(threadId, 'run.finished')
  expect(of(log, 'agent.tool_result')[0]).toMatchObject({
    isError: true,
    summary: expect.stringContaining('interrupt'),
  })
})

test('a key that has used up its limit waits for more and goes on after it', async () => {
  const made = await call('POST', '/keys', {
    label: 'k',
    access: 'declared',
    scopes: ['agent:message'],
    spendLimit: 60,
  })
  const threadId = await say(
    [
      { ...use('list_workflows', {}), usage: { input: 30_000, output: 0 } },
      { ...use('list_workflows', { query: 'x' }), usage: { input: 29_900, output: 0 } },
      { say: 'All.' },
    ],
    made.body.api_key,
  )
  const [asked] = of(await until(threadId, 'approval.required'), 'approval.required')
  expect(asked).toMatchObject({ kind: 'budget' })
  const raised = await call('POST', `/approvals/${asked?.['approvalId']}/approve`, { amount: 500 })
  expect(raised.status, raised.text).toBe(200)
  const log = await until(threadId, 'run.finished')
  expect(of(log, 'run.finished')).toMatchObject([{ status: 'completed' }])
})
