import { beforeAll, expect, test } from 'vitest'
import { type Answer, type Caller, createCaller, type Person } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import {
  bash,
  cancelExecution,
  mustRun,
  newRunner,
  patiently,
  prepareErrand,
  readLog,
  runErrand,
  script,
} from '../support/executions.ts'
import { until } from '../support/processes.ts'
import { tell } from '../support/proof.ts'
import { atSize } from '../support/sizes.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

const starts = atSize(60, 500)
const messages = atSize(20, 40)
const waiters = atSize(8, 16)
const lasting = script({ say: 'Working.', tools: [bash('sleep 300')] })
const quick = script({ say: 'Done.' })
let stack: SharedStack
let app: Caller
let processes: Caller[]

beforeAll(async () => {
  stack = await calmStack()
  app = createCaller(stack.baseUrl)
  processes = stack.apiUrls.map(createCaller)
})

function at(index: number): Caller {
  return processes[index % processes.length] ?? app
}

interface Row {
  execution_id: string
  status: string
  started_at: Date | null
  completed_at: Date | null
}

function executionsOf(person: Person): Promise<Row[]> {
  return withDatabase(stack.databaseUrl, async (database) => {
    const { rows } = await database.query<Row>(
      'select execution_id, status, started_at, completed_at from executions where workspace_id = $1 order by started_at, id',
      [person.workspaceId],
    )
    return rows
  })
}

function say(index: number, person: Person, executionId: string, ifBusy: string): Promise<Answer> {
  return at(index).call('POST', `/api/v1/executions/${executionId}/events`, {
    token: person.token,
    body: { events: [{ type: 'user.message', content: [{ type: 'text', text: quick }] }], ifBusy },
  })
}

test(`${starts} starts at once over two processes in one workspace: one runs, the others get 429`, async () => {
  const person = await newRunner(app)
  let unavailable = 0
  const begun = performance.now()
  const answers = await Promise.all(
    Array.from({ length: starts }, (_, index) =>
      patiently(
        () => runErrand(at(index), person, lasting),
        () => unavailable++,
      ),
    ),
  )
  const tookMs = performance.now() - begun
  tell(`${starts} starts in ${tookMs.toFixed(0)} ms; asked again after 503: ${unavailable} times`)
  const accepted = answers.filter(({ status }) => status === 200)
  const refused = answers.filter(({ status }) => status === 429)
  expect([accepted.length, refused.length]).toEqual([1, starts - 1])
  const executionId = accepted[0]?.body.executionId
  for (const { body } of refused) {
    expect(body).toEqual({ error: 'EXECUTION_RUNNING', message: expect.stringMatching(/./), executionId })
  }
  // What was refused left nothing behind.
  expect(await executionsOf(person)).toMatchObject([{ execution_id: executionId, status: 'working' }])
  const held = await withDatabase(stack.databaseUrl, (database) =>
    database.query('select execution_id from reservations where user_id = $1', [person.userId]),
  )
  expect(held.rows).toEqual([{ execution_id: executionId }])
  expect((await cancelExecution(app, person, executionId)).body.success).toBe(true)
})

test('of many messages to one idle execution, over two processes, one starts it', async () => {
  const person = await newRunner(app)
  const executionId = await prepareErrand(app, person, lasting)
  const answers = await Promise.all(
    Array.from({ length: messages }, (_, index) =>
      patiently(() => say(index, person, executionId, 'reject')),
    ),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(messages - 1)
  await cancelExecution(app, person, executionId)
  const log = await readLog(app, person, executionId)
  expect(log.filter(({ type }) => type === 'user.message')).toHaveLength(1)
  expect(log.filter(({ type }) => type === 'session.status_running')).toHaveLength(1)
})

/** They ran in this order, each after the one before it. */
function expectOneAfterTheOther(rows: Row[], executionIds: readonly string[]): void {
  expect(rows.map(({ execution_id }) => execution_id)).toEqual(executionIds)
  for (const [index, { started_at }] of rows.entries()) {
    const before = rows[index - 1]?.completed_at ?? new Date(0)
    expect(started_at?.getTime()).toBeGreaterThanOrEqual(before.getTime())
  }
}

test('those that wait run in the order in which they came, and nobody overtakes them', async () => {
  const person = await newRunner(app)
  const first = await mustRun(app, person, lasting)
  const waiting: string[] = []
  for (let index = 0; index < 8; index++) {
    const executionId = await prepareErrand(app, person, quick)
    expect((await patiently(() => say(index, person, executionId, 'queue'))).status).toBe(200)
    waiting.push(executionId)
  }
  expect((await runErrand(app, person, quick)).status).toBe(429)
  await cancelExecution(app, person, first)
  await until(async () => (await executionsOf(person)).every(({ completed_at }) => completed_at), 120_000)
  const rows = await executionsOf(person)
  expectOneAfterTheOther(rows, [first, ...waiting])
  expect(rows.slice(1).map(({ status }) => status)).toEqual(waiting.map(() => 'completed'))
})

test('those that begin to wait at once, over two processes, all run, one at a time', async () => {
  const person = await newRunner(app)
  const ids: string[] = []
  for (let index = 0; index < waiters; index++) ids.push(await prepareErrand(app, person, quick))
  const answers = await Promise.all(
    ids.map((executionId, index) => patiently(() => say(index, person, executionId, 'queue'))),
  )
  expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 200))
  await until(async () => (await executionsOf(person)).every(({ completed_at }) => completed_at), 120_000)
  const rows = await executionsOf(person)
  expect(rows.map(({ status }) => status)).toEqual(ids.map(() => 'completed'))
  expectOneAfterTheOther(
    rows,
    rows.map(({ execution_id }) => execution_id),
  )
  expect(new Set(rows.map(({ execution_id }) => execution_id))).toEqual(new Set(ids))
})
