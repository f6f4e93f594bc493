import { execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import http2 from 'node:http2'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { createCaller } from '../support/caller.ts'
import { isAlive, pidsOf, until } from '../support/processes.ts'

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
  console.log(`ready after ${(readyAfterMs / 1000).toFixed(1)} s`)
  expect(readyAfterMs).toBeLessThan(20_000)
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

/** Runs the lines that stand under a marker in the README, as a reader would. */
function runReadme(marker: string): Promise<string> {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const script = new RegExp(`<!-- ${marker} -->\\s*\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1]
  expect(script).toContain('curl')
  return new Promise((resolve, reject) => {
    const env = { ...process.env, BASE: stack.baseUrl }
    execFile('bash', ['-euo', 'pipefail', '-c', script ?? 'false'], { env }, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}\n${stdout}\n${stderr}`)) : resolve(stdout),
    )
  })
}

test('the pairing lines of the README work as they stand', async () => {
  const output = await runReadme('pairing')
  expect(output).toContain('"kind":"personal"')
  expect(output).toMatch(/revoked key gets 401/)
})

test('the permission lines of the README work as they stand', async () => {
  const output = await runReadme('permission')
  expect(output).toContain('"missing_scopes":["profile:read"]')
  expect(output).toContain('"success":true,"mode":"session"')
  expect(output).toContain('"email":"you@example.test"')
})

test('the skill lines of the README work as they stand', async () => {
  const output = await runReadme('skills')
  expect(output).toContain('"versionNumber":2')
  expect(output).toContain('"path":"SKILL.md","change":"changed"')
  expect(output).toContain('"success":true,"restoredFrom":1')
  expect(output).toMatch(
    /"versionNumber":3\s"note":"Restored from version 1"\s"active":true\s"versionNumber":2\s/,
  )
})

test('the lines of the README that run a skill work as they stand', async () => {
  const output = await runReadme('run')
  expect(output).toContain('"type":"session.status_idle"')
  expect(output).toContain('<svg')
  expect(output).toMatch(/"spend":\{"total":[\d.]*[1-9]/)
})

test('the lines of the README with a workflow and a human in it work as they stand', async () => {
  const output = await runReadme('workflow')
  expect(output).toContain('{"valid":true,"issues":[]}')
  expect(output).toMatch(/run is: suspended\n"action":"Pay 42 to Ada"\n/)
  expect(output).toMatch(/run is: success\n"result":\{"total":42,"approved":true\}/)
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
    expect(restartedMs).toBeLessThan(1000)
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
    console.log(
      `${part}: restarted after ${restartedMs.toFixed(0)} ms, all ready after ${(performance.now() - killed).toFixed(0)} ms`,
    )
  },
)

test('SIGTERM ends everything and leaves nothing behind', async () => {
  const other = await spawnStack(['--api', '2'])
  const pids = Object.values(pidsOf(other.dir)).flat()
  expect(pids.length).toBeGreaterThanOrEqual(6)
  expect(pids.every(isAlive)).toBe(true)
  expect(await other.stop()).toBe(0)
  expect(pids.filter(isAlive)).toEqual([])
  expect(existsSync(other.dir)).toBe(false)
})

test('an API process that is told to stop finishes what is under way and ends by itself', async () => {
  const other = await spawnStack(['--no-restart', '--limits', 'off'])
  try {
    const app = createCaller(other.baseUrl)
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
    await other.stop()
  }
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
