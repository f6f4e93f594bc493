import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  type ApplicationElicitResult,
  createApplicationInputHandler,
  createTaskSessionFromClient,
  type RawClientDispatch,
  resultFromTaskOutcome,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Stack, startStack } from '../../stack/start.ts'
import { type Caller, createCaller, type Person } from '../../test/support/caller.ts'
import { bash, newRunner, script } from '../../test/support/executions.ts'
import { definitionOf, runsOf } from '../../test/support/workflows.ts'
import { runProgram } from './mcp-stage.ts'

/** Tasks by the official client of the extension, against two processes of which each gets every second request. */
let stack: Stack
let app: Caller
let person: Person
let key: string
const folder = mkdtempSync(join(tmpdir(), 'guildhall-mcp-tasks-'))
const sessions: TaskEnabledSession[] = []

beforeAll(async () => {
  stack = await startStack({ api: 2, limits: 'off' })
  app = createCaller(stack.baseUrl)
  person = await newRunner(app)
  key = (await app.newKey(person)).secret
}, 120_000)
afterAll(async () => {
  for (const session of sessions) await session.close()
  await stack?.stop()
  await rm(folder, { recursive: true, force: true })
}, 60_000)

const protocolVersion = '2026-07-28'
const clientInfo = { name: 'Tasker', version: '1' }
const asked: string[] = []

/** What the library asks of its host: a request as it is, since the SDK's client refuses answers that are tasks. */
function dispatchAs(secret: string): RawClientDispatch {
  let sent = 0
  return async (request, options) => {
    const { method, params } = request as { method: string; params: Record<string, string> }
    const response = await fetch(new URL('/mcp/', stack.baseUrl), {
      method: 'POST',
      signal: options?.signal ?? null,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-api-key': secret,
        'mcp-protocol-version': protocolVersion,
        'mcp-method': method,
        'mcp-name': params['name'] ?? params['taskId'] ?? '',
        connection: 'close',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++sent, method, params }),
    })
    asked.push(method)
    const { result, error } = (await response.json()) as { result: never; error?: never }
    return error === undefined ? { kind: 'result', result } : { kind: 'error', error }
  }
}

async function openSession(
  secret = key,
  answer: (message: string) => ApplicationElicitResult = () => ({ action: 'decline' }),
): Promise<TaskEnabledSession> {
  const capabilities = { elicitation: {} }
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode: 'auto' } })
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp/', stack.baseUrl), {
      requestInit: { headers: { 'x-api-key': secret } },
    }),
  )
  const none = () => {
    throw new Error('nobody asks for this')
  }
  const session = createTaskSessionFromClient(client, {
    endpointId: stack.baseUrl,
    rawDispatch: dispatchAs(secret),
    v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities: capabilities },
    onInputRequest: createApplicationInputHandler({
      elicitation: ({ params }) => answer(String(params['message'])),
      sampling: none,
      roots: none,
    }),
  })
  sessions.push(session)
  return session
}

const structured = (result: object) =>
  (result as { structuredContent: Record<string, unknown> }).structuredContent
const run = (...steps: Parameters<typeof script>) => ({ slug: 'errand', input: script(...steps) })

async function begin(session: TaskEnabledSession, tool: string, args: Record<string, string>) {
  const execution = await session.callTool(tool, args)
  if (execution.kind !== 'task') throw new Error('answered at once')
  return execution
}

test('a task that runs a skill is got, followed and has its result', { timeout: 60_000 }, async () => {
  const session = await openSession()
  expect(session.capabilities).toMatchObject({ execution: true, cancellation: true, inputResponses: true })
  const execution = await begin(
    session,
    'run_skill',
    run({ say: 'On it.', tools: [bash('sleep 2')] }, { say: 'There.' }),
  )
  const { taskId } = execution.handle
  expect(await session.task(taskId).snapshot()).toMatchObject({ status: 'working', retentionMs: null })
  const seen: string[] = []
  const { outcome, lastTask } = await execution.settle({
    onEvent: (event) => void seen.push(event.type === 'task' ? event.task.status : event.outcome.status),
  })
  expect(structured(resultFromTaskOutcome(outcome))).toMatchObject({
    status: 'completed',
    text: expect.stringContaining('There.'),
  })
  expect(lastTask?.status).toBe('completed')
  expect([seen[0], seen.at(-1)]).toEqual(['working', 'completed'])
  // Whoever knows its name can ask again, for as long as the execution is kept.
  const again = await (await openSession()).task(taskId).result()
  expect(structured(resultFromTaskOutcome(again))).toMatchObject({ status: 'completed' })
  const { body } = await app.call('GET', '/api/v1/executions', { token: person.token })
  expect(body.items).toMatchObject([{ status: 'completed', interface: 'mcp-tasker' }])
})

test('a task that is cancelled ends its execution, and stays as it ended', { timeout: 60_000 }, async () => {
  const session = await openSession()
  const execution = await begin(session, 'run_skill', run({ say: 'On it.', tools: [bash('sleep 120')] }))
  const { taskId } = execution.handle
  const settled = execution.settle()
  await execution.cancel()
  expect((await settled).outcome.status).toBe('cancelled')
  const executionId = taskId.slice('execution.'.length)
  const { body } = await app.call('GET', `/api/v1/executions/${executionId}/status`, { token: person.token })
  expect(body).toMatchObject({ status: 'failed', stopReason: 'interrupt' })
  await (await openSession()).cancelTask(taskId)
  expect(await session.task(taskId).snapshot()).toMatchObject({ status: 'cancelled' })
})

test('a task is handed over and goes on in another session; a failure is a result', {
  timeout: 60_000,
}, async () => {
  const first = await openSession()
  const execution = await begin(first, 'run_skill', {
    ...run({ say: 'Dear.', tools: [bash('sleep 3')] }, { say: 'More.' }),
    max_cost: 1 as never,
  })
  const references: Parameters<TaskEnabledSession['resumeTask']>[0][] = []
  await execution.handoff((reference) => void references.push(reference))
  const [reference] = references
  if (!reference) throw new Error('no reference')
  const resumed = await (await openSession()).resumeTask(reference)
  const { outcome } = await resumed.settle()
  expect(outcome.status).toBe('completed')
  expect(structured(resultFromTaskOutcome(outcome))).toHaveProperty('executionId')
})

test('a task of a workflow asks, is answered and ends', { timeout: 60_000 }, async () => {
  const values = {
    question: { value: 'Which?' },
    choices: { value: ['a', 'b'] },
    answerableBy: { value: 'agent' },
  }
  const graph = [
    { type: 'mapping', id: 'words', mapConfig: JSON.stringify(values) },
    { type: 'tool', id: 'pick', toolId: 'ask-human' },
  ]
  await runsOf(app, person).install('picking', definitionOf('picking', graph))
  const questions: string[] = []
  const session = await openSession(key, (message) => {
    questions.push(message)
    return { action: 'accept', content: { answer: 'b' } }
  })
  const execution = await begin(session, 'launch_workflow', { workflow: 'picking' })
  const { outcome } = await execution.settle()
  expect(questions).toEqual(['Which?'])
  expect(structured(resultFromTaskOutcome(outcome))).toMatchObject({ status: 'success' })
})

test("somebody else's task is as one that never was, and nothing lists tasks", {
  timeout: 60_000,
}, async () => {
  const mine = await openSession()
  const execution = await begin(mine, 'run_skill', run({ say: 'Mine.' }))
  const { taskId } = execution.handle
  await execution.settle()
  const stranger = await openSession((await app.newKey(await app.newPerson())).secret)
  const told = (id: string) =>
    stranger
      .task(id as typeof taskId)
      .snapshot()
      .catch((error: { code: number; message: string }) => `${error.code} ${error.message}`)
  expect(await told(taskId)).toBe(await told('execution.exec_none'))
  expect(await told(taskId)).toContain('-32602')
  expect(mine.capabilities.inventory).not.toBe('server-list')
  expect(new Set(asked)).toEqual(new Set(['tools/call', 'tasks/get', 'tasks/cancel', 'tasks/update']))
})

test('the Inspector waits for a task that its tool call became', { timeout: 120_000 }, async () => {
  const args = run({ say: 'On it.', tools: [bash('sleep 1')] }, { say: 'By task.' })
  const { code, output } = await runProgram(
    'inspector/clients/launcher/build/index.js',
    [
      '--cli',
      new URL('/mcp/', stack.baseUrl).href,
      ...['--transport', 'http', '--protocol-era', 'modern', '--header', `x-api-key: ${key}`],
      ...['--method', 'tools/call', '--tool-name', 'run_skill'],
      ...['--tool-args-json', JSON.stringify({ ...args, if_busy: 'queue' })],
    ],
    folder,
  )
  expect(code, output).toBe(0)
  expect(output).toContain('By task.')
})
