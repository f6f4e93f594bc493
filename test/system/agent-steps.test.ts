import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { stepCrashPoints } from '../chaos/planted-mistakes.ts'
import { createCaller, type Person } from '../support/caller.ts'
import { freeze, until } from '../support/processes.ts'
import { isProof } from '../support/sizes.ts'
import { definitionOf, endStates, type Runs, runsOf } from '../support/workflows.ts'

/** Agents of workflows with tools, on the engine itself: their workers die and stand still. */
const folder = mkdtempSync(join(tmpdir(), 'guildhall-step-crashes-'))
const crashFile = join(folder, 'crash')
let stack: SpawnedStack
let person: Person
let runs: Runs
let pool: pg.Pool

beforeAll(async () => {
  const settings = {
    NODE_OPTIONS: `--import=${new URL('../chaos/planted-mistakes.ts', import.meta.url).href}`,
    PLANTED: 'step-crashes',
    CRASH_FILE: crashFile,
  }
  const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`])
  stack = await spawnStack(['--workers', '2', '--limits', 'off', ...env])
  pool = new pg.Pool({ connectionString: stack.databaseUrl, max: 2 })
  const app = createCaller(stack.baseUrl)
  person = await app.newPerson({ mode: 'basedmode' })
  runs = runsOf(app, person)
  const made = await app.call('POST', '/api/v1/agents', {
    token: person.token,
    body: { slug: 'helper', name: 'Helper', instructions: 'Help.', tools: ['workflows'] },
  })
  expect(made.status, made.text).toBe(201)
  await runs.install('inner', definitionOf('inner', [{ type: 'mapping', id: 'out', mapConfig: '{}' }]))
  await runs.install('outer', definitionOf('outer', [{ type: 'agent', id: 'ask', agentId: 'helper' }]))
})

afterAll(async () => {
  await pool?.end()
  await stack?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Also after a test that was given up on, whose last lines are not reached. */
let resume = () => {}
afterEach(() => resume())

const launching = { tools: [{ name: 'launch_workflow', input: { slug: 'inner' } }] }
const prompt = (...steps: object[]) => `Please.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\``
const start = (...steps: object[]) => runs.start('outer', { prompt: prompt(...steps) })

/** What the one conversation of a run of the workflow came to, and what it had done. */
async function factsOf(runId: string) {
  const { rows } = await pool.query(
    `select r.id, r.status, r.worker_id, r.awakeable_id, t.thread_id,
       (select count(*)::int from thread_events e where e.thread_row_id = t.id and e.type = 'run.finished') as ends,
       (select count(*)::int from thread_events e where e.thread_row_id = t.id and e.type = 'agent.message') as said,
       (select count(*)::int from workflow_runs w where w.conversation_id = t.thread_id) as launched
     from thread_runs r join threads t on t.id = r.thread_row_id where r.workflow_run_id = $1`,
    [runId],
  )
  return rows
}

test.each(stepCrashPoints)(
  'a worker killed %s changes nothing of what comes of the step',
  async (point) => {
    writeFileSync(crashFile, `${point}|0`)
    const runId = await start(launching, { say: 'Launched it.' })
    const { run, steps } = await runs.reaches(runId, endStates, 60_000)
    expect(existsSync(crashFile), 'nobody was killed').toBe(false)
    expect(run.status, JSON.stringify(run.snapshot.error)).toBe('success')
    expect(steps['ask']?.output).toEqual({ text: 'Launched it.' })
    await until(async () => (await factsOf(runId))[0]?.awakeable_id === null, 10_000)
    expect(await factsOf(runId)).toMatchObject([{ status: 'completed', ends: 1, said: 1, launched: 1 }])
  },
  90_000,
)

/** The engine calls it lost after 20 s. In the gate `thread-fences.test.ts` of the server has one that comes back late. */
test.runIf(isProof)(
  'a worker that stands still loses the conversation of its step to another, and writes nothing afterwards',
  async () => {
    const runId = await start(launching, { say: 'Launched it.', delayMs: 3000 })
    let pid = 0
    await until(async () => {
      const [facts] = await factsOf(runId)
      pid = Number(facts?.worker_id?.split('/')[1] ?? 0)
      return pid > 0 && facts.launched === 1
    }, 20_000)
    resume = freeze(pid)
    const { run } = await runs.reaches(runId, endStates, 60_000)
    expect(run.status, JSON.stringify(run.snapshot.error)).toBe('success')
    resume()
    const [before] = await factsOf(runId)
    expect(before).toMatchObject({ status: 'completed', ends: 1, said: 1, launched: 1 })
    // Long enough for the model's answer to reach whoever was woken.
    await new Promise((resolve) => setTimeout(resolve, 4000))
    expect(await factsOf(runId)).toEqual([before])
  },
  120_000,
)

test('a canceled run takes the conversation of its step with it', async () => {
  const runId = await start({ say: 'Slowly.', delayMs: 60_000 })
  await until(async () => (await factsOf(runId))[0]?.status === 'working', 20_000)
  expect((await runs.cancel(runId)).status).toBe(200)
  await until(async () => (await factsOf(runId))[0]?.status === 'failed', 10_000)
  const { rows } = await pool.query('select count(*)::int as open from reservations where closed_at is null')
  expect(rows).toEqual([{ open: 0 }])
}, 60_000)
