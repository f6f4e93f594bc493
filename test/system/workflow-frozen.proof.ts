import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { createCaller } from '../support/caller.ts'
import { readCalls } from '../support/counting-tools.ts'
import { pidsOf, until } from '../support/processes.ts'
import { tell } from '../support/proof.ts'
import { definitionOf, endStates, type Runs, runsOf } from '../support/workflows.ts'

const wantedRuns = 12
let stack: SpawnedStack
let folder: string
let runs: Runs
let database: pg.Pool

const countFile = () => join(folder, 'calls')

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guildhall-frozen-'))
  writeFileSync(countFile(), '')
  const module = fileURLToPath(new URL('../support/counting-tools.ts', import.meta.url))
  const settings = [`TOOLS_MODULE=${module}`, `COUNT_FILE=${countFile()}`, `RUNS_PER_WORKSPACE=${wantedRuns}`]
  stack = await spawnStack([
    '--workers',
    '2',
    '--limits',
    'off',
    ...settings.flatMap((one) => ['--env', one]),
  ])
  database = new pg.Pool({ connectionString: stack.databaseUrl, max: 2 })
  const app = createCaller(stack.baseUrl)
  runs = runsOf(app, await app.newPerson())
  const question = { type: 'mapping', id: 'm', mapConfig: '{"question":{"value":"Go on?"}}' }
  const ask = { type: 'tool', id: 'ask', toolId: 'ask-human' }
  const work = { type: 'tool', id: 'work', toolId: 'count-long' }
  await runs.install('ask', definitionOf('ask', [work, question, ask]))
})

afterAll(async () => {
  await database?.end()
  await stack?.stop()
  await rm(folder, { recursive: true, force: true })
})

async function placesTaken(): Promise<number> {
  const { rows } = await database.query('select count(*)::integer as n from workflow_runs where advancing')
  return rows[0].n
}

const isSuspended = async (id: string) => (await runs.get(id)).body.run.status === 'suspended'
const areAll = async (ids: readonly string[]) => (await Promise.all(ids.map(isSuspended))).every(Boolean)

/**
 * Its connections go to the workers in turn, so that after some restarts it does not wait for the one that is
 * frozen. It opens as many each time, though: with two workers an even number would bring every run back to the
 * same one for ever, so a connection of ours takes a turn now and then.
 */
async function restartEngineUntil(isSo: () => Promise<boolean>): Promise<void> {
  const listed = await (await fetch(`${stack.restateAdminUrl}/deployments`)).json()
  const [{ uri }] = (listed as { deployments: { uri: string }[] }).deployments as [{ uri: string }]
  for (let restarts = 0; restarts < 12; restarts++) {
    if (restarts % 2 === 1) await takeTurn(uri)
    process.kill(pidsOf(stack.dir).restate, 'SIGKILL')
    const isDone = await until(isSo, 8000).then(
      () => true,
      () => false,
    )
    if (isDone) return
  }
  throw new Error('the other worker was not called')
}

async function takeTurn(uri: string): Promise<void> {
  const socket = connect(Number(new URL(uri).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.destroy()
}

test('a worker that stood still in its steps while the engine restarted takes no place when it goes on', {
  timeout: 200_000,
}, async () => {
  const ids = await Promise.all(Array.from({ length: wantedRuns }, () => runs.start('ask')))
  await until(() => readCalls(countFile()).length === wantedRuns, 20_000)
  const [call] = readCalls(countFile())
  const frozen = call?.pid ?? 0
  process.kill(frozen, 'SIGSTOP')
  const its = readCalls(countFile()).flatMap(({ pid, runId }) => (pid === frozen ? [runId] : []))
  try {
    await restartEngineUntil(() => areAll(its))
  } finally {
    process.kill(frozen, 'SIGCONT')
  }
  await until(() => areAll(ids), 60_000)
  await setTimeout(2000)
  tell(`${its.length} of ${ids.length} runs were in a worker that stood still`)
  expect(await placesTaken()).toBe(0)
  expect(await areAll(ids)).toBe(true)
  const answers = await Promise.all(ids.map((id) => runs.resume(id, { resumeData: 'yes' })))
  expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 200))
  for (const id of ids) expect((await runs.reaches(id, endStates, 60_000)).run.status).toBe('success')
  expect(await placesTaken()).toBe(0)
})
