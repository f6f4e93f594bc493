import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { repositoryRoot } from '../../stack/spawn.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import {
  bash,
  cancelExecution,
  installErrand,
  mustRun,
  newRunner,
  patiently,
  readLog,
  runErrand,
  script,
  seen,
  within,
} from '../support/executions.ts'
import { until } from '../support/processes.ts'
import { tell } from '../support/proof.ts'
import { atSize } from '../support/sizes.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

const workspaces = atSize(30, 200)
const startingCredits = 60
/** At the scripted model's price: 300 Ds for a million tokens that go in. */
const costing = (ds: number) => ({ input: Math.round((ds * 1_000_000) / 300), output: 0 })
let stack: SharedStack
let app: Caller
let processes: Caller[]

beforeAll(async () => {
  stack = await calmStack()
  app = createCaller(stack.baseUrl)
  processes = stack.apiUrls.map(createCaller)
})

/** As an operator does it: others of the stack begin with more. */
async function withFewCredits(person: Person): Promise<Person> {
  const { body } = await app.call('GET', '/api/v1/billing', { token: person.token })
  const program = join(repositoryRoot, 'packages/server/src/grant-credits.ts')
  const amount = `--amount=${startingCredits - body.balance}`
  const env = { ...process.env, DATABASE_URL: stack.databaseUrl }
  const args = [program, '--user', person.userId, '--kind', 'adjust', amount]
  await promisify(execFile)(process.execPath, args, { env })
  return person
}

interface Entry {
  kind: string
  ds: number
}

function entriesOf(executionId: string): Promise<Entry[]> {
  return withDatabase(stack.databaseUrl, async (database) => {
    const { rows } = await database.query<Entry>(
      'select kind, amount_milli_ds::float8 / 1000 as ds from ledger where execution_id = $1 order by id',
      [executionId],
    )
    return rows
  })
}

async function modelStats(): Promise<{ requests: number; abandoned: number }> {
  const answer = await fetch(new URL('/stats', stack.modelUrl))
  return (await answer.json()) as { requests: number; abandoned: number }
}

/** In the database: over HTTP a person comes into at most 100. */
async function addWorkspaces(person: Person, count: number): Promise<string[]> {
  return withDatabase(stack.databaseUrl, async (database) => {
    const { rows } = await database.query<{ id: string }>(
      `with made as (
        insert into workspaces (name, kind) select 'Team ' || n, 'team' from generate_series(1, $2) n returning id
      ), joined as (
        insert into workspace_members (workspace_id, user_id, role) select id, $1, 'owner' from made
      ) select id from made`,
      [person.userId, count],
    )
    return rows.map(({ id }) => id)
  })
}

test(`${workspaces} starts at once in ${workspaces} workspaces on a balance for one: one runs, the others get 402`, async () => {
  const person = await withFewCredits(await app.newPerson())
  const ids = await addWorkspaces(person, workspaces)
  const shares = [0, 1, 2, 3].map((share) => ids.filter((_, index) => index % 4 === share))
  await Promise.all(shares.map((share) => installErrand(app, person, share)))
  const lasting = script({ tools: [bash('sleep 300')] })
  let unavailable = 0
  const answers = await Promise.all(
    ids.map((id, index) =>
      patiently(
        () => runErrand(processes[index % 2] ?? app, person, lasting, { headers: within(id) }),
        () => unavailable++,
      ),
    ),
  )
  tell(`${workspaces} starts; asked again after 503: ${unavailable} times`)
  const accepted = answers.filter(({ status }) => status === 200)
  const refused = answers.filter(({ status }) => status === 402)
  expect([accepted.length, refused.length]).toEqual([1, workspaces - 1])
  for (const { body } of refused) expect(body.error).toBe('INSUFFICIENT_CREDITS')
  const executionId: string = accepted[0]?.body.executionId
  expect(await entriesOf(executionId)).toEqual([{ kind: 'reserve', ds: startingCredits }])
  const { rows } = await withDatabase(stack.databaseUrl, (database) =>
    database.query('select workspace_id from executions where user_id = $1', [person.userId]),
  )
  expect(rows).toHaveLength(1)
  const headers = within(rows[0].workspace_id)
  const path = `/api/v1/executions/${executionId}/cancel`
  expect((await app.call('POST', path, { token: person.token, headers })).body.success).toBe(true)
})

test('a run that reaches its maxCost stops before the next model call', async () => {
  const person = await newRunner(app)
  const step = { tools: [bash('true')], usage: costing(2) }
  const before = await modelStats()
  const executionId = await mustRun(app, person, script(step, step, step, step, step), { maxCost: 4 })
  const log = await readLog(app, person, executionId)
  expect(log.at(-1)?.payload).toEqual({ stop_reason: { type: 'limit_reached' } })
  // Two calls use up the four Ds; the third is never made.
  expect((await modelStats()).requests).toBe(before.requests + 2)
  expect(log.filter(({ type }) => type === 'span.model_request_end')).toHaveLength(2)
  expect(await entriesOf(executionId)).toEqual([
    { kind: 'reserve', ds: 4 },
    { kind: 'settle', ds: 4 },
  ])
})

test('a call that used more than was left is charged with what was left', async () => {
  const person = await newRunner(app)
  const before = await modelStats()
  const input = script({ tools: [bash('true')], usage: costing(30) }, { say: 'Never said.' })
  const executionId = await mustRun(app, person, input, { maxCost: 4 })
  const log = await readLog(app, person, executionId)
  expect(log.at(-1)?.payload).toEqual({ stop_reason: { type: 'limit_reached' } })
  expect((await modelStats()).requests).toBe(before.requests + 1)
  expect((await entriesOf(executionId)).map(({ ds }) => ds)).toEqual([4, 4])
})

test.each([
  ['while a tool runs', { tools: [bash('sleep 300')], usage: costing(3) }, 'agent.tool_use', 1],
  ['while the model thinks', { tools: [bash('true')], usage: costing(3) }, 'agent.tool_result', 2],
])('cancel %s stops the meter', async (_when, step, awaited, calls) => {
  const person = await withFewCredits(await newRunner(app))
  const before = await modelStats()
  const late = { say: 'Too late.', delayMs: 1500, usage: costing(5) }
  const executionId = await mustRun(app, person, script(step, late, late))
  await seen(app, person, executionId, awaited)
  // Also the call that is broken off must have been made.
  await until(async () => (await modelStats()).requests === before.requests + calls, 10_000)
  const { body } = await cancelExecution(app, person, executionId)
  expect(body).toMatchObject({ success: true, processKilled: true })
  const settled = await entriesOf(executionId)
  const paid = settled[1]?.ds ?? 0
  expect(settled).toEqual([
    { kind: 'reserve', ds: startingCredits },
    { kind: 'settle', ds: paid },
    { kind: 'release', ds: expect.closeTo(startingCredits - paid, 6) },
  ])
  // What the call that was broken off was asked, by estimate, and nothing of an answer that nobody got.
  if (calls === 1) expect(paid).toBe(3)
  else expect([paid > 3, paid < 4]).toEqual([true, true])
  await until(async () => (await modelStats()).abandoned === before.abandoned + calls - 1, 10_000)
  // Past the time at which the reply that was broken off would have come: it must not be charged after all.
  await delay(2000)
  expect(await entriesOf(executionId)).toEqual(settled)
  expect((await modelStats()).requests).toBe(before.requests + calls)
  const status = await app.call('GET', `/api/v1/executions/${executionId}/status`, { token: person.token })
  expect(status.body).toMatchObject({ status: 'failed', stopReason: 'interrupt', cost: paid })
  const billing = await app.call('GET', '/api/v1/billing', { token: person.token })
  expect(billing.body).toMatchObject({
    balance: startingCredits - paid,
    availableBalance: startingCredits - paid,
  })
})
