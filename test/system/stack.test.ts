import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import http2 from 'node:http2'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller } from '../support/caller.ts'
import { isAlive, pidsOf, until } from '../support/processes.ts'
import { expectWithin, tell } from '../support/proof.ts'
import { definitionOf } from '../support/workflows.ts'

const root = join(import.meta.dirname, '../..')
let stack: SpawnedStack
let readyAfterMs: number

beforeAll(async () => {
  const begun = performance.now()
  stack = await spawnStack(['--api', '2', '--workers', '2'])
  readyAfterMs = performance.now() - begun
})

afterAll(() => stack.stop())

test('two API and two worker processes are ready within 20 s', () => {
  tell(`ready after ${(readyAfterMs / 1000).toFixed(1)} s`)
  expectWithin(readyAfterMs, 20_000)
})

test('the JSON line says all that a test needs', () => {
  const url = expect.stringMatching(/^(http|postgres|redis):\/\/.*127\.0\.0\.1:\d+/)
  expect(stack).toMatchObject({
    baseUrl: url,
    streamUrl: url,
    identityUrl: url,
    databaseUrl: url,
    redisUrl: url,
    restateIngressUrl: url,
    restateAdminUrl: url,
    apiUrls: [url, url],
    pids: {
      api: [expect.any(Number), expect.any(Number)],
      worker: [expect.any(Number), expect.any(Number)],
      postgres: expect.any(Number),
      redis: expect.any(Number),
      restate: expect.any(Number),
    },
    dir: expect.any(String),
  })
  const ports = [...JSON.stringify(stack).matchAll(/127\.0\.0\.1:(\d+)/g)].map((match) => Number(match[1]))
  expect(Math.max(...ports)).toBeLessThan(32_768)
})

test('of twenty who claim a hand-over at once through both API processes, one has it', async () => {
  const [first, second] = stack.apiUrls.map((url) => createCaller(url)) as [Caller, Caller]
  const person = await first.newPerson()
  const { token } = person
  const send = async (path: string, body: unknown) =>
    (await first.call('POST', `/api/v1${path}`, { token, body })).body
  await send('/skills/csv-report/install', {})
  const { id } = await send('/executions', { skill_slug: 'csv-report', input: 'Later' })
  const { body: status } = await first.call('GET', `/api/v1/executions/${id}/status`, { token })
  const { code } = await send(`/traces/${status.traceId}/handover`, {})
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      (i % 2 ? first : second).call('POST', '/api/v1/traces/pickup', { token, body: { code } }),
    ),
  )
  expect(answers.map(({ status: given }) => given).sort()).toEqual([200, ...Array(19).fill(409)])
  const { body } = await second.call('GET', `/api/v1/traces/${status.traceId}/events`, { token })
  expect(body.items.map(({ type }: { type: string }) => type)).toEqual(['tool.call', 'tool.result'])
})

test('a thread hears within 3 s of a run whose worker died before it said a word', async () => {
  const caller = createCaller(stack.baseUrl)
  const { token } = await caller.newPerson()
  const send = async (path: string, body: unknown) =>
    (await caller.call('POST', `/api/v1${path}`, { token, body })).body
  await send('/threads', { threadId: 'home' })
  const definition = definitionOf('asking', [{ type: 'tool', id: 'ask', toolId: 'ask-human' }])
  await send('/workflows/asking/install', { definition })
  const { runId } = await send('/workflows/asking/launch', { inputs: {} })
  const database = new pg.Client({ connectionString: stack.databaseUrl })
  await database.connect()
  // As the worker of a run from this thread leaves it that is killed right after its commit.
  await database.query(
    "update workflow_runs set conversation_id = 'home', status = 'canceled', ended_at = guild_now() where run_id = $1",
    [runId],
  )
  await database.end()
  const begun = performance.now()
  const told = async () =>
    (await caller.call('GET', '/api/v1/threads/home/notifications', { token })).body.items
  await until(async () => (await told()).length > 0, 10_000)
  expectWithin(performance.now() - begun, 3000)
  expect(await told()).toMatchObject([{ kind: 'workflow.canceled', dedupeKey: `${runId}:canceled` }])
})

test('the API reaches a worker through the engine, and both API processes say so', async () => {
  for (const url of stack.apiUrls) {
    const answer = await createCaller(url).call('GET', '/readyz')
    expect(answer.body).toEqual({ status: 'ok', down: [] })
  }
})

test('a worker takes no call that the engine did not sign', async () => {
  const deployments = await (await fetch(`${stack.restateAdminUrl}/deployments`)).json()
  const [{ uri }] = (deployments as { deployments: { uri: string }[] }).deployments as [{ uri: string }]
  const status = await new Promise<number>((resolve, reject) => {
    const session = http2.connect(uri)
    session.on('error', reject)
    const request = session.request({ ':method': 'POST', ':path': '/invoke/Heartbeat/beat' })
    request.on('response', (headers) => {
      resolve(Number(headers[':status']))
      session.destroy()
    })
    request.end()
  })
  expect(status).toBe(401)
})

test('an engine that has forgotten the workers is told again', async () => {
  const listed = await (await fetch(`${stack.restateAdminUrl}/deployments`)).json()
  const { deployments } = listed as { deployments: { id: string }[] }
  for (const { id } of deployments) {
    await fetch(`${stack.restateAdminUrl}/deployments/${id}?force=true`, { method: 'DELETE' })
  }
  const app = createCaller(stack.baseUrl)
  await until(async () => (await app.call('GET', '/readyz')).body.down.includes('workers'), 5000)
  await until(async () => (await app.call('GET', '/readyz')).body.status === 'ok', 20_000)
})

test.each(['api', 'worker', 'redis', 'restate', 'postgres'] as const)(
  'a killed %s process is back within a few seconds, at the same address',
  async (part) => {
    const before = pidsOf(stack.dir)
    const victim = [before[part]].flat()[0] ?? 0
    process.kill(victim, 'SIGKILL')
    const killed = performance.now()
    await until(() => [pidsOf(stack.dir)[part]].flat().every((pid) => pid && pid !== victim), 5000)
    const restartedMs = performance.now() - killed
    expectWithin(restartedMs, 1000)
    await until(async () => {
      const answers = await Promise.all(
        stack.apiUrls.map((url) =>
          createCaller(url)
            .call('GET', '/readyz')
            .catch(() => undefined),
        ),
      )
      return answers.every((answer) => answer?.body?.status === 'ok')
    }, 15_000)
    tell(
      `${part}: restarted after ${restartedMs.toFixed(0)} ms, all ready after ${(performance.now() - killed).toFixed(0)} ms`,
    )
  },
)

test('told to stop, an API process ends what is under way, and the whole stack leaves nothing behind', async () => {
  const other = await spawnStack(['--api', '2', '--no-restart', '--limits', 'off'])
  const pids = Object.values(pidsOf(other.dir)).flat()
  try {
    expect(pids.length).toBeGreaterThanOrEqual(6)
    expect(pids.every(isAlive)).toBe(true)
    const app = createCaller(other.apiUrls[0] ?? '')
    const person = await app.newPerson()
    const [api] = pidsOf(other.dir).api
    const underWay = Array.from({ length: 50 }, (_, i) =>
      app.call('POST', '/api/v1/keys', { token: person.token, body: { label: `k${i}` } }),
    )
    process.kill(api ?? 0, 'SIGTERM')
    const answers = await Promise.allSettled(underWay)
    for (const answer of answers) if (answer.status === 'fulfilled') expect(answer.value.status).toBe(201)
    await until(() => !isAlive(api ?? 0), 5000)
    await expect(app.call('GET', '/healthz')).rejects.toThrow()
    const log = readFileSync(join(other.dir, 'logs/api-1.log'), 'utf8')
    expect(log).toContain('"stopped"')
    expect(log).not.toContain('not stopped in time')
  } finally {
    expect(await other.stop()).toBe(0)
  }
  expect(pids.filter(isAlive)).toEqual([])
  expect(existsSync(other.dir)).toBe(false)
})

test('a flag it does not know is refused with the ones it knows', async () => {
  const child = spawn(process.execPath, [join(root, 'stack/main.ts'), '--bogus'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line))
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect(code).toBe(2)
  expect(lines.join('\n')).toContain('--workers')
})
