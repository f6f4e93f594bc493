import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { bash, newRunner, script } from '../support/executions.ts'
import { modernMessage } from '../support/mcp.ts'
import { type AnyClient, type ClientKind, connectClient } from '../support/mcp-clients.ts'
import { freezeTree, pidsOf, until } from '../support/processes.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { definitionOf, runsOf } from '../support/workflows.ts'
import { roughStack, type SharedStack } from './support/shared-stacks.ts'

let stack: SharedStack
let own: SpawnedStack | undefined
let app: Caller

/** Through a rolling restart. */
const calls = atSize(40, 10_000)
const clients = atSize(4, 50)
const streams = atSize(4, 50)
const processes = 3

beforeAll(async () => {
  // As a deployment does: a process that stops says so before it closes what is idle.
  const graceful = ['--env', 'STOP_GRACE_MS=2500']
  if (isProof) own = await spawnStack(['--api', String(processes), '--limits', 'off', ...graceful])
  stack = own ?? (await roughStack())
  app = createCaller(stack.baseUrl)
})
afterAll(async () => {
  if (own) expect(await own.stop()).toBe(0)
})

/** Also after a test that was given up on, whose last lines are not reached. */
let resume = () => {}
afterEach(() => resume())

const errand = 'errand'
const paces = atSize(3, 6)
const long = script(
  ...Array.from({ length: paces }, (_, at) => ({ say: `Pace ${at + 1}.`, tools: [bash('sleep 1')] })),
  { say: 'There.' },
)

function killAll(): void {
  for (const pid of pidsOf(stack.dir).api) process.kill(pid, 'SIGKILL')
}

async function executionsOf(person: Person): Promise<{ interface: string; status: string }[]> {
  const { body } = await app.call('GET', '/api/v1/executions', { token: person.token })
  return body.items
}

function connect(kind: ClientKind, key: string): Promise<AnyClient> {
  return connectClient(kind, { url: new URL('/mcp/', stack.baseUrl), key })
}

/** In the gate the server's tests have the others too. */
const kinds: readonly ClientKind[] = isProof ? ['v1', 'v2 legacy', 'v2'] : ['v2']

describe.each(kinds)('a client that is %s', (kind) => {
  test('follows a run by its progress, reads what is there, and leaves a call without ending the work', async () => {
    const person = await newRunner(app)
    const client = await connect(kind, (await app.newKey(person)).secret)
    const told: number[] = []
    const onprogress = ({ progress }: { progress: number }) => void told.push(progress)
    const steps = [1, 2].map((at) => ({ say: `Pace ${at}.`, tools: [bash('sleep 0.6')] }))
    const input = script(...steps, { say: 'There.' })
    const { structuredContent } = await client.call('run_skill', { slug: errand, input }, { onprogress })
    expect(structuredContent).toMatchObject({ status: 'completed', text: expect.stringContaining('There.') })
    expect(told.length).toBeGreaterThan(0)
    expect(told).toEqual([...new Set(told)].sort((a, b) => a - b))

    expect(await client.listResources()).toEqual([`skill://${errand}/SKILL.md`])
    expect(await client.readResource(`skill://${errand}/SKILL.md`)).toContain('Run the errand.')
    const executionId = String(structuredContent?.['executionId'])
    expect(await client.readResource(`guildhall://executions/${executionId}`)).toContain('There.')
    expect(await client.getPrompt('run-skill', { skill: errand, input: 'x' })).toContain('run_skill')

    const sleeping = script({ say: 'On it.', tools: [bash('sleep 30')] })
    const started = await client.call('run_skill', { slug: errand, input: sleeping, wait_seconds: 0 })
    const waited = { execution_id: String(started.structuredContent?.['executionId']) }
    const leaving = new AbortController()
    const waiting = client.call(
      'get_execution',
      { ...waited, wait_seconds: 50 },
      { signal: leaving.signal, onprogress },
    )
    const left = expect(waiting).rejects.toThrow()
    await delay(500)
    leaving.abort()
    await left
    const now = await client.call('get_execution', { ...waited, wait_seconds: 0 })
    expect(now.structuredContent).toMatchObject({ status: 'working' })
    await client.call('cancel_execution', waited)
    const ended = await client.call('get_execution', waited)
    expect(ended.structuredContent).toMatchObject({ status: 'failed', stopReason: 'interrupt' })
    await client.close()
  })
})

const isUp = async () => (await app.call('GET', '/readyz').catch(() => undefined))?.body?.status === 'ok'

test('a call outlives every process, killed in its middle: one run, and progress that only grows', async () => {
  const person = await newRunner(app)
  const client = await connect('v1', (await app.newKey(person)).secret)
  const told: number[] = []
  let toldBefore = 0
  const { structuredContent } = await client.call(
    'run_skill',
    { slug: errand, input: long, wait_seconds: 55 },
    {
      onprogress: ({ progress }) => {
        told.push(progress)
        if (told.length !== 2) return
        toldBefore = told.length
        killAll()
      },
    },
  )
  expect(structuredContent).toMatchObject({ status: 'completed' })
  const text = String(structuredContent?.['text'])
  for (let pace = 1; pace <= paces; pace++) expect(text).toContain(`Pace ${pace}.`)
  // From wherever it was, to the last event that there is.
  expect(told.length).toBeGreaterThan(toldBefore)
  expect(told.at(-1)).toBe(structuredContent?.['lastSequence'])
  expect(told).toEqual([...new Set(told)].sort((a, b) => a - b))
  expect(await executionsOf(person)).toMatchObject([{ interface: 'mcp-first', status: 'completed' }])
  tell(`progress ${told.join(' ')}; killed after ${toldBefore}`)
  // The same client goes on, with the session that other processes made.
  expect((await client.call('whoami')).isError).toBeFalsy()
  await client.close()
})

test('who comes back for a stream whose work is over is told the result as a stream', async () => {
  const { secret: key } = await app.newKey(await newRunner(app))
  const initialize = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  }
  const say = (method: string, params: object, headers: Record<string, string> = {}) =>
    app.call('POST', '/mcp/', {
      key,
      headers: { accept: 'application/json, text/event-stream', ...headers },
      body: { jsonrpc: '2.0', id: 7, method, params },
    })
  const session = {
    'mcp-session-id': (await say('initialize', initialize)).headers.get('mcp-session-id') ?? '',
  }
  const args = { slug: errand, input: script({ say: 'One.', tools: [bash('sleep 0.5')] }, { say: 'Two.' }) }
  const told = { name: 'run_skill', arguments: args, _meta: { progressToken: 'p' } }
  const { text } = await say('tools/call', told, session)
  const [, first = ''] = /^id: (\S+)/m.exec(text) ?? []
  const headers = { accept: 'text/event-stream', 'last-event-id': first, ...session }
  const again = await app.call('GET', '/mcp/', { key, headers })
  expect([again.status, again.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/event-stream'),
  ])
  // It can be lost once more: the first thing told is where it is.
  expect(again.text).toMatch(/^id: \S+\nretry: 500/m)
  const last = JSON.parse(/^data: (\{.*"result".*\})$/m.exec(again.text)?.[1] ?? '{}')
  expect(last).toMatchObject({ id: 7, result: { structuredContent: { status: 'completed' } } })
})

test('a task is there after every process was killed, and ends as the work does', async () => {
  const person = await newRunner(app)
  const { secret: key } = await app.newKey(person)
  const say = async (method: string, params: Record<string, unknown>) =>
    (await app.call('POST', '/mcp/', { key, ...modernMessage(method, params) })).body.result
  const quick = script({ say: 'One.', tools: [bash('sleep 2')] }, { say: 'Two.' })
  const task = await say('tools/call', { name: 'run_skill', arguments: { slug: errand, input: quick } })
  expect(task).toMatchObject({ resultType: 'task', status: 'working' })
  killAll()
  await until(isUp, 30_000)
  let state: { status?: string; result?: { structuredContent: object } } = {}
  await until(async () => {
    state = await say('tasks/get', { taskId: task.taskId })
    return state.status !== 'working'
  }, 30_000)
  expect(state).toMatchObject({ status: 'completed', result: { structuredContent: { status: 'completed' } } })
  expect(await executionsOf(person)).toHaveLength(1)
})

test('a task asks what agents may answer, keeps to people what is theirs, and goes on with the answer', async () => {
  const person = await app.newPerson()
  const { secret: key } = await app.newKey(person)
  const ask = (id: string, question: Record<string, unknown>) => {
    const values = Object.entries(question).map(([name, value]) => [name, { value }])
    const mapConfig = JSON.stringify(Object.fromEntries(values))
    return [
      { type: 'mapping', id: `${id}-words`, mapConfig },
      { type: 'tool', id, toolId: 'ask-human' },
    ]
  }
  const graph = [
    ...ask('pick', { question: 'Which?', choices: ['a', 'b'], answerableBy: 'agent' }),
    ...ask('sure', { question: 'Sure?' }),
  ]
  await runsOf(app, person).install('asking', definitionOf('asking', graph))
  const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const say = async (method: string, params: Record<string, unknown>) =>
    (await app.call('POST', '/mcp/', { key, ...modernMessage(method, params, capabilities) })).body
  const launched = await say('tools/call', { name: 'launch_workflow', arguments: { workflow: 'asking' } })
  const { taskId } = launched.result
  const reaches = async (isSo: (state: { status: string; statusMessage?: string }) => boolean) => {
    let state = { status: '' }
    await until(async () => {
      state = (await say('tasks/get', { taskId })).result
      return isSo(state)
    }, 20_000)
    return state
  }
  const asked = (await reaches(({ status }) => status === 'input_required')) as unknown as {
    inputRequests: Record<string, { params: object }>
  }
  const [[name = '', request] = []] = Object.entries(asked.inputRequests)
  expect(request).toMatchObject({ method: 'elicitation/create', params: { mode: 'form', message: 'Which?' } })
  const answer = (content: object) =>
    say('tasks/update', { taskId, inputResponses: { [name]: { action: 'accept', content }, other: {} } })
  expect((await answer({ answer: 'c' })).error).toMatchObject({ code: -32602 })
  const answers = await Promise.all([answer({ answer: 'b' }), answer({ answer: 'b' })])
  expect(answers.map(({ error }) => error)).toEqual([undefined, undefined])
  // The second question is a person's: it is told, and cannot be answered here.
  await reaches(
    ({ status, statusMessage }) => status === 'working' && statusMessage?.includes('sure') === true,
  )
  await runsOf(app, person).resume(taskId.slice('run.'.length), { resumeData: 'yes' })
  const done = await reaches(({ status }) => status === 'completed')
  expect(done).toMatchObject({ result: { structuredContent: { status: 'success' } } })
})

/** One after the other, as a deployment replaces them. */
async function restartAll(): Promise<void> {
  const before = pidsOf(stack.dir).api
  for (const [index, pid] of before.entries()) {
    process.kill(pid, 'SIGTERM')
    await until(() => (pidsOf(stack.dir).api[index] ?? pid) !== pid && isAnswering(index), 60_000)
  }
  expect(pidsOf(stack.dir).api.some((pid) => before.includes(pid))).toBe(false)
}

/** Something that is still at it when the processes are others. */
async function startLong(client: AnyClient, seconds: number) {
  const input = script({ say: 'On it.', tools: [bash(`sleep ${seconds}`)] }, { say: 'There.' })
  const started = await client.call('run_skill', { slug: errand, input, wait_seconds: 0 })
  return { execution_id: String(started.structuredContent?.['executionId']) }
}

/** Of processes that are given the time to say that they stop. */
test(`of ${calls} calls of ${clients} clients through a rolling restart none is lost`, {
  timeout: 60_000 + calls * 60,
}, async () => {
  const { secret } = await app.newKey(await newRunner(app))
  const starter = await connect('v1', secret)
  const followed = await startLong(starter, 300)
  let answered = 0
  const work = async (index: number) => {
    const client = await connect(index % 2 === 0 ? 'v1' : 'v2', secret)
    for (let call = 0; call < calls / clients; call++) {
      const isLong = call % 4 === 0
      const result = await (isLong
        ? client.call('get_execution', { ...followed, wait_seconds: 1 })
        : client.call('whoami'))
      expect(result.isError, JSON.stringify(result)).toBeFalsy()
      answered++
      await delay(100)
    }
    await client.close()
  }
  await Promise.all([restartAll(), ...Array.from({ length: clients }, (_, index) => work(index))])
  expect(answered).toBe(calls)
  await starter.call('cancel_execution', followed)
  await starter.close()
})

test(`of ${streams} streams through a rolling restart none is lost`, { timeout: 180_000 }, async () => {
  const { secret } = await app.newKey(await newRunner(app))
  const starter = await connect('v1', secret)
  const followed = await startLong(starter, atSize(8, 15))
  let waits = 0
  const follow = async (index: number): Promise<void> => {
    const client = await connect(index % 2 === 0 ? 'v1' : 'v2', secret)
    const told: number[] = []
    const onprogress = ({ progress }: { progress: number }) => void told.push(progress)
    // A process that stops says how far it is, and whoever is told that it is not over asks on.
    for (let status: unknown = 'working'; status === 'working'; waits++) {
      const result = await client.call('get_execution', { ...followed, wait_seconds: 50 }, { onprogress })
      expect(result.isError, JSON.stringify(result)).toBeFalsy()
      status = result.structuredContent?.['status']
    }
    expect(told.length).toBeGreaterThan(0)
    await client.close()
  }
  await Promise.all([...Array.from({ length: streams }, (_, index) => follow(index)), restartAll()])
  tell(`${streams} streams, ${waits} waits`)
  await starter.close()
})

test('every answer has the headers of its window, also while the database is away', async () => {
  const { secret: key } = await app.newKey(await app.newPerson())
  resume = freezeTree(pidsOf(stack.dir).postgres)
  let answer = await app.call('POST', '/mcp/', { key, ...modernMessage('tools/list', {}) })
  await until(async () => {
    answer = await app.call('POST', '/mcp/', { key, ...modernMessage('tools/list', {}) })
    return answer.status === 503
  }, 20_000)
  for (const name of ['limit', 'remaining', 'reset'])
    expect(answer.headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/)
  resume()
  await until(isUp, 30_000)
})

async function isAnswering(index: number): Promise<boolean> {
  const answer = await createCaller(stack.apiUrls[index] ?? '')
    .call('GET', '/readyz')
    .catch(() => undefined)
  return answer?.body?.status === 'ok'
}
