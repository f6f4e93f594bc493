import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { tools } from '../support/counting-tools.ts'
import { definitionOf, endStates, type Runs, runsOf } from '../support/workflows.ts'

const places = 2
const [, slow] = tools
let stack: SpawnedStack
let app: Caller
let person: Person
let runs: Runs
let database: pg.Pool

beforeAll(async () => {
  const module = fileURLToPath(new URL('../support/counting-tools.ts', import.meta.url))
  const settings = [`TOOLS_MODULE=${module}`, `RUNS_PER_WORKSPACE=${places}`]
  stack = await spawnStack(['--limits', 'off', ...settings.flatMap((setting) => ['--env', setting])])
  database = new pg.Pool({ connectionString: stack.databaseUrl, max: 2 })
  app = createCaller(stack.baseUrl)
  person = await app.newPerson()
  runs = runsOf(app, person)
  const work = { type: 'tool', id: 'work', toolId: slow?.id }
  const more = { type: 'tool', id: 'more', toolId: slow?.id }
  await runs.install('nap', definitionOf('nap', [work, { type: 'sleep', id: 'z', duration: 1200 }, more]))
  const question = { type: 'mapping', id: 'm', mapConfig: '{"question":{"value":"Go on?"}}' }
  const ask = { type: 'tool', id: 'ask', toolId: 'ask-human' }
  await runs.install('ask', definitionOf('ask', [question, ask, more]))
})

afterAll(async () => {
  await database?.end()
  await stack?.stop()
})

/** Counts over and over how many runs advance while something is done. */
async function mostAtOnce(work: () => Promise<void>): Promise<number> {
  let most = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const { rows } = await database.query(
        'select count(*)::integer as n from workflow_runs where advancing',
      )
      most = Math.max(most, rows[0].n)
    }
  })()
  await work()
  isOver = true
  await watching
  return most
}

const allEnd = async (ids: readonly string[]) => {
  for (const id of ids) expect((await runs.reaches(id, endStates, 60_000)).run.status).toBe('success')
}

test('no more runs advance than there are places: those that wake up wait again', async () => {
  const most = await mostAtOnce(async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => runs.start('nap')))
    const queue = await app.call('GET', '/api/v1/workflows/queue', { token: person.token })
    expect(queue.body.total).toBe(8)
    await allEnd(ids)
  })
  expect(most).toBe(places)
})

test('nor after all questions are answered at once', async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, () => runs.start('ask')))
  for (const id of ids) await runs.reaches(id, ['suspended'], 30_000)
  const most = await mostAtOnce(async () => {
    const answers = await Promise.all(ids.map((id) => runs.resume(id, { resumeData: 'yes' })))
    expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 200))
    await allEnd(ids)
  })
  expect(most).toBe(places)
})
