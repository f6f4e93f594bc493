import { beforeAll, expect, test } from 'vitest'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import { bash, cancelExecution, mustRun, newRunner, readLog, script, seen } from '../support/executions.ts'
import { expectWithin, tell } from '../support/proof.ts'
import { atSize } from '../support/sizes.ts'
import { definitionOf, endStates, runsOf } from '../support/workflows.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

let stack: SharedStack
let app: Caller

beforeAll(async () => {
  stack = await calmStack()
  app = createCaller(stack.baseUrl)
})

const polls = atSize(40, 200)
const waitedFor = atSize(4, 20)
const waitersEach = 10
const costly = (tokens: number, sleep = 0.3) =>
  script(
    { say: 'One.', tools: [bash(`sleep ${sleep}`)], usage: { input: tokens, output: 10 } },
    { say: 'Two.', tools: [bash(`sleep ${sleep}`)], usage: { input: tokens, output: 10 } },
    { say: 'Done.', usage: { input: tokens, output: 10 } },
  )

interface Trace {
  id: string
  traceKey: string
  totalCost: number
  ownCost: number
  actor: { agentSlug: string | null }
}

async function call(person: Person, method: string, path: string, body?: unknown, headers = {}) {
  const answer = await app.call(method, `/api/v1${path}`, {
    token: person.token,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
  return answer.body
}

/** What the ledger has charged for everything under one key. */
function chargedFor(traceKey: string): Promise<number> {
  return withDatabase(stack.databaseUrl, async (database) => {
    const { rows } = await database.query<{ ds: number }>(
      `select coalesce(sum(l.amount_milli_ds), 0)::float8 / 1000 as ds from ledger l
         join executions e on e.execution_id = l.execution_id join traces t on t.id = e.trace_id
       where t.trace_key = $1 and l.kind = 'settle'`,
      [traceKey],
    )
    return rows[0]?.ds ?? 0
  })
}

test(`what a lineage costs never falls over ${polls} looks, and is in the end what the ledger has`, async () => {
  const person = await newRunner(app)
  const first = await mustRun(app, person, costly(3000))
  const { traceId } = await call(person, 'GET', `/executions/${first}/status`)
  const state = { working: true }
  const looked: number[] = []
  /** By turns one trace and the list, in either process: all tell the same sum. */
  const look = async () => {
    for (let at = 0; state.working || looked.length < polls; at++) {
      const { totalCost } =
        at % 2 === 0
          ? ((await call(person, 'GET', `/traces/${traceId}`)) as Trace)
          : (await call(person, 'GET', '/traces?limit=200')).items.find(({ id }: Trace) => id === traceId)
      looked.push(totalCost)
    }
  }
  const work = async () => {
    await readLog(app, person, first)
    const again = (await call(person, 'POST', `/executions/${first}/rerun`, { input: costly(2000, 60) }))
      .executionId
    await seen(app, person, again, 'execution.cost')
    await cancelExecution(app, person, again)
    const third = (await call(person, 'POST', `/executions/${again}/rerun`, { input: costly(1500) }))
      .executionId
    await readLog(app, person, third)
    const { continueWith } = await call(person, 'POST', `/traces/${traceId}/continue`)
    const next = (await call(person, 'POST', '/executions', continueWith.body)).id
    const events = [{ type: 'user.message', content: [{ type: 'text', text: costly(1000) }] }]
    await call(person, 'POST', `/executions/${next}/events`, { events })
    await readLog(app, person, next)
    state.working = false
  }
  await Promise.all([look(), work()])
  const falls = looked.filter((cost, at) => cost < (looked[at - 1] ?? 0))
  expect(falls).toEqual([])
  expect(looked.length).toBeGreaterThanOrEqual(polls)
  expect(new Set(looked).size).toBeGreaterThan(5)
  const traces: Trace[] = (await call(person, 'GET', '/traces')).items
  const charged = await chargedFor(traces[0]?.traceKey ?? '')
  expect(traces).toHaveLength(3)
  expect(new Set(traces.map(({ traceKey }) => traceKey)).size).toBe(1)
  for (const { totalCost } of traces) expect(totalCost).toBeCloseTo(charged, 6)
  expect(traces.reduce((sum, { ownCost }) => sum + ownCost, 0)).toBeCloseTo(charged, 6)
  tell(JSON.stringify({ looks: looked.length, steps: new Set(looked).size, charged }))
})

test('all that a run of a workflow starts is one lineage, under the name of who launched it', async () => {
  const person = await newRunner(app)
  const runs = runsOf(app, person)
  const skill = (id: string) => ({ type: 'tool', id, toolId: 'execute-skill' })
  await runs.install('two', definitionOf('two', [{ type: 'parallel', steps: [skill('a'), skill('b')] }]))
  const inputs = { slug: 'errand', input: script({ say: 'Done.', usage: { input: 4000, output: 10 } }) }
  const launched = await call(
    person,
    'POST',
    '/workflows/two/launch',
    { inputs },
    { 'x-agent-slug': 'conductor' },
  )
  const { run } = await runs.reaches(launched.runId, endStates, 60_000)
  expect(run.status, JSON.stringify(run.snapshot.error)).toBe('success')
  const traces: Trace[] = (await call(person, 'GET', '/traces?agent=conductor')).items
  expect(traces).toHaveLength(2)
  const keys = new Set(traces.map(({ traceKey }) => traceKey))
  expect(keys.size).toBe(1)
  const charged = await chargedFor([...keys][0] ?? '')
  expect(charged).toBeGreaterThan(0)
  for (const { totalCost } of traces) expect(totalCost).toBeCloseTo(charged, 6)
})

test(`who waits for the next turn is told of it, ${waitedFor * waitersEach} of them at once`, async () => {
  const person = await newRunner(app)
  const body = { skill_slug: 'errand', input: 'Wait.' }
  const ids = await Promise.all(
    Array.from({ length: waitedFor }, async () => {
      const { id } = await call(person, 'POST', '/executions', body)
      return (await call(person, 'GET', `/executions/${id}/status`)).traceId as string
    }),
  )
  const storedAt = new Map<string, number>()
  const waits = ids.flatMap((id) =>
    Array.from({ length: waitersEach }, async () => {
      const { items } = await call(person, 'GET', `/traces/${id}/events?wait=25`)
      const answered = performance.now()
      expect(items).toHaveLength(1)
      return answered - (storedAt.get(id) ?? answered)
    }),
  )
  await new Promise((resolve) => setTimeout(resolve, atSize(500, 3000)))
  for (const id of ids) {
    storedAt.set(id, performance.now())
    await call(person, 'POST', `/traces/${id}/events`, { events: [{ type: 'agent.text', payload: {} }] })
  }
  const times = (await Promise.all(waits)).sort((a, b) => a - b)
  const at = (part: number) => Math.round(times[Math.ceil(times.length * part) - 1] ?? 0)
  tell(
    `from the request that stores a turn to the answer of who waits: median ${at(0.5)} ms, p99 ${at(0.99)} ms`,
  )
  // Looking by themselves, they would find it after half a second on average.
  expectWithin(at(0.5), 400)
})
