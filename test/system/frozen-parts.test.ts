import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Answer, type Caller, createCaller, type Person } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import { bash, mustRun, newRunner, runErrand, script } from '../support/executions.ts'
import { freeze, freezeTree, pidsOf, until } from '../support/processes.ts'
import { expectWithin, tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { definitionOf, endStates, runsOf } from '../support/workflows.ts'
import { roughStack, type SharedStack } from './support/shared-stacks.ts'

/** Three times a lease. */
const workerFrozenMs = 60_000
const quick = script({ say: 'Done.' })
const lasting = (seconds: number) =>
  script({ say: 'Working.', tools: [bash(`sleep ${seconds}`)] }, { say: 'Done.' })

interface Row {
  execution_id: string
  status: string
  error_code: string | null
  worker_id: string | null
  lease_until: Date | null
  completed_at: Date | null
}

let stack: SharedStack
let app: Caller

beforeAll(async () => {
  stack = await roughStack()
  app = createCaller(stack.baseUrl)
})

const rowsOf = (ids: readonly string[]) =>
  withDatabase(stack.databaseUrl, async (database) => {
    const { rows } = await database.query<Row>(
      `select execution_id, status, error_code, worker_id, lease_until, completed_at from executions
       where execution_id = any($1) order by id`,
      [ids],
    )
    return rows
  })
const rowOf = async (id: string) => (await rowsOf([id]))[0] as Row
const hasEnded = ({ status }: Row) => status === 'completed' || status === 'failed'
const outcomesOf = async (ids: readonly string[]) =>
  (await rowsOf(ids)).map(({ status, error_code }) => error_code ?? status)
const pidOf = ({ worker_id }: Row) => Number(worker_id?.split('/')[1])

async function whileFrozen<T>(resume: () => void, work: () => Promise<T>): Promise<T> {
  // Also when it is given up on, and the last lines are not reached.
  onTestFinished(resume)
  try {
    return await work()
  } finally {
    resume()
  }
}

/** What each API process says that is not ready, by itself. */
async function findUnready(): Promise<string[]> {
  const answers = await Promise.all(stack.apiUrls.map((url) => createCaller(url).call('GET', '/readyz')))
  return answers.filter(({ body }) => body.status !== 'ok').map(({ text }) => text)
}

/** An execution that a worker has and works on; the next one of a new person. */
async function working(seconds: number): Promise<Row> {
  const person = await newRunner(app)
  const id = await mustRun(app, person, lasting(seconds))
  await until(async () => (await rowOf(id)).worker_id !== null, 20_000)
  return rowOf(id)
}

test('an API process stands still for 2.5 s in the middle of starts: one key, one charged execution', async () => {
  const starters = await Promise.all(Array.from({ length: atSize(8, 24) }, () => newRunner(app)))
  const [frozen = 0] = pidsOf(stack.dir).api
  const start = async (person: Person, key: string): Promise<Answer> => {
    for (let tried = 1; ; tried++) {
      const answer = await runErrand(app, person, quick, { headers: { 'idempotency-key': key } }).catch(
        () => undefined,
      )
      if (answer && (answer.status === 200 || tried === 20)) return answer
      await delay(250)
    }
  }
  const begun = starters.map(async (person, index) => {
    await delay(index * 25)
    return start(person, randomUUID())
  })
  await delay(250)
  await whileFrozen(freeze(frozen), () => delay(2500))
  const answers = await Promise.all(begun)
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  const ids = answers.map(({ body }) => body.executionId as string)
  await until(async () => (await rowsOf(ids)).every(hasEnded), 30_000)
  expect(await outcomesOf(ids)).toEqual(ids.map(() => 'completed'))
  const { rows } = await withDatabase(stack.databaseUrl, (database) =>
    database.query(
      `select user_id from executions where user_id = any($1) and cost_milli_ds > 0 group by user_id having count(*) > 1`,
      [starters.map(({ userId }) => userId)],
    ),
  )
  expect(rows).toEqual([])
})

/** Longer than leases and what the engine waits for; conformance has it hang for a moment. */
test.runIf(isProof)(
  'the engine hangs: the execution of a dead worker ends with its lease, a held row is waited for, cancels are quick',
  async () => {
    const person = await newRunner(app)
    const runs = runsOf(app, person)
    await runs.install('nap', definitionOf('nap', [{ type: 'sleep', id: 's', duration: 600_000 }]))
    const runIds = await Promise.all(Array.from({ length: 12 }, () => runs.start('nap')))
    const held = await working(24)
    let lost = await working(300)
    while (pidOf(lost) === pidOf(held)) lost = await working(300)
    const { restate } = pidsOf(stack.dir)
    let lease: Date | null = null
    await whileFrozen(freeze(restate), async () => {
      const took: number[] = []
      for (const runId of runIds) {
        const asked = performance.now()
        expect((await runs.cancel(runId)).status).toBe(200)
        took.push(performance.now() - asked)
      }
      tell(`12 cancels with the engine frozen: at most ${Math.max(...took).toFixed(0)} ms`)
      expectWithin(Math.max(...took), 1000)
      process.kill(pidOf(lost), 'SIGKILL')
      lease = (await rowOf(lost.execution_id)).lease_until
      await withDatabase(stack.databaseUrl, async (database) => {
        await database.query('begin')
        await database.query('select from executions where execution_id = $1 for update', [held.execution_id])
        await delay(18_000)
        await database.query('rollback')
      })
      await until(async () => hasEnded(await rowOf(lost.execution_id)), 15_000)
    })
    const ended = await rowOf(lost.execution_id)
    expect(ended.error_code).toBe('SANDBOX_LOST')
    const lateMs = Number(ended.completed_at) - Number(lease)
    tell(`the dead worker's execution ended ${(lateMs / 1000).toFixed(1)} s after its lease`)
    expectWithin(lateMs, 3000)
    await until(async () => hasEnded(await rowOf(held.execution_id)), 30_000)
    expect(await outcomesOf([held.execution_id])).toEqual(['completed'])
  },
)

test.runIf(isProof)('PostgreSQL stands still for 24 s while five executions work: all complete', async () => {
  await until(() => pidsOf(stack.dir).worker.length === 2, 20_000)
  const rows = await Promise.all(Array.from({ length: 5 }, () => working(12)))
  await whileFrozen(freezeTree(pidsOf(stack.dir).postgres), () => delay(24_000))
  const ids = rows.map(({ execution_id }) => execution_id)
  await until(async () => (await rowsOf(ids)).every(hasEnded), 60_000)
  expect(await outcomesOf(ids)).toEqual(ids.map(() => 'completed'))
})

test.runIf(isProof)(
  'one worker of two hangs: whatever is accepted meanwhile is finished by the other, and readiness holds',
  async () => {
    // The one that the engine calls at the moment.
    const frozen = pidOf(await working(0))
    const starters = await Promise.all(Array.from({ length: 18 }, () => newRunner(app)))
    const launcher = runsOf(app, starters[0] as Person)
    const step = { type: 'tool', id: 'sum', toolId: 'transform-json' }
    const mapping = {
      type: 'mapping',
      id: 'm',
      mapConfig: JSON.stringify({ expression: { value: '1 + 1' }, data: { value: {} } }),
    }
    await launcher.install('sums', definitionOf('sums', [mapping, step]))
    const took: number[] = []
    const unready: string[] = []
    await until(async () => (await findUnready()).length === 0, 15_000)
    await whileFrozen(freeze(frozen), async () => {
      const end = performance.now() + workerFrozenMs
      const execution = async (person: Person) => {
        const begun = performance.now()
        const id = await mustRun(app, person, quick)
        await until(async () => hasEnded(await rowOf(id)), workerFrozenMs + 60_000)
        took.push(performance.now() - begun)
        return id
      }
      const run = async () => {
        const begun = performance.now()
        const runId = await launcher.start('sums')
        const { run } = await launcher.reaches(runId, endStates, workerFrozenMs + 60_000)
        took.push(performance.now() - begun)
        return run.status
      }
      const readiness = async () => {
        while (performance.now() < end) {
          unready.push(...(await findUnready()))
          await delay(500)
        }
      }
      const checked = readiness()
      const executions = starters.map(async (person, index) => {
        await delay(index * 300)
        return execution(person)
      })
      const launched = starters.map(async (_person, index) => {
        await delay(index * 300)
        return run()
      })
      const ids = await Promise.all(executions)
      expect(await outcomesOf(ids)).toEqual(ids.map(() => 'completed'))
      expect(await Promise.all(launched)).toEqual(starters.map(() => 'success'))
      await checked
    })
    took.sort((a, b) => a - b)
    const seconds = (ms = 0) => (ms / 1000).toFixed(1)
    tell(
      `one worker of two frozen: ${took.length} ended, p50 ${seconds(took[took.length >> 1])} s, most ${seconds(took.at(-1))} s; not ready ${unready.length} times`,
    )
    expect(unready.join('\n')).toBe('')
    expectWithin(Math.max(...took), 30_000)
  },
)
