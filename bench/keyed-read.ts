import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { spawnStack } from '../stack/client.ts'
import { figuresOnly, readNumbers } from './options.ts'
import { type Program, startProgram } from './program.ts'

/**
 * An authenticated, rate-limited keyed read (GET /api/v1/workspaces with a key) against the same work written
 * bare on node:http: same PostgreSQL, same Redis, interleaved in one run, so that what the machine does meanwhile
 * hits both. Needs wrk.
 */
const { rounds, seconds, connections } = readNumbers({ rounds: 5, seconds: 4, connections: 64 })
const aimRatio = 0.8
const requiredRatio = 0.65
const requiredCpuRatio = 1.5

interface Target {
  name: string
  url: string
  pid: number
  runs: { perSecond: number; p50: number; p99: number; cpuMicros: number }[]
}

const pepper = Buffer.from('bench-pepper-of-at-least-32-bytes').toString('base64url')
const stack = await spawnStack(['--limits', 'off', '--env', `KEY_PEPPERS=1:${pepper}`])
let bare: Program | undefined
try {
  const key = await makeKey()
  const { databaseUrl, redisUrl } = stack
  bare = await startProgram('bare-keyed-read.ts', {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    PEPPER: pepper,
  })
  const targets: Target[] = [
    { name: 'bare', url: `http://127.0.0.1:${bare.port}/`, pid: bare.child.pid ?? 0, runs: [] },
    { name: 'guildhall', url: `${stack.baseUrl}/api/v1/workspaces`, pid: stack.pids.api[0] ?? 0, runs: [] },
  ]
  await checkSameAnswer(targets, key)
  for (const target of targets) await run(target, key, 2)
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) target.runs.push(await run(target, key, seconds))
  }
  report(targets)
} finally {
  bare?.child.kill()
  await stack.stop()
}

async function makeKey(): Promise<string> {
  const post = async (path: string, body: object, token = '') => {
    const response = await fetch(stack.baseUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-auth-token': token },
      body: JSON.stringify(body),
    })
    return (await response.json()) as Record<string, string>
  }
  const { auth_token } = await post('/api/v1/auth/dev', { email: 'bench@example.test' })
  const { api_key } = await post('/api/v1/keys', { label: 'bench' }, auth_token)
  if (!api_key) throw new Error('no key to measure with')
  return api_key
}

/** A yardstick that does less than it says would flatter nobody but mislead everybody. */
async function checkSameAnswer(targets: Target[], key: string): Promise<void> {
  const answers = await Promise.all(
    targets.map(async ({ url }) => (await fetch(url, { headers: { 'x-api-key': key } })).json()),
  )
  const [first, second] = answers.map((answer) => JSON.stringify(answer).replace(/"createdAt":"[^"]*"/, ''))
  if (first !== second) throw new Error(`the two do not answer the same: ${first} and ${second}`)
}

async function run(target: Target, key: string, seconds: number) {
  const cpuBefore = cpuMillis(target.pid)
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    '-H',
    `x-api-key: ${key}`,
    target.url,
  ]
  const printed = await new Promise<string>((resolve, reject) =>
    execFile('wrk', args, (error, stdout) =>
      error ? reject(new Error(`wrk is needed (apt-get install wrk): ${error.message}`)) : resolve(stdout),
    ),
  )
  if (/Non-2xx|Socket errors/.test(printed))
    throw new Error(`${target.name} did not answer well:\n${printed}`)
  const requests = Number(/(\d+) requests in/.exec(printed)?.[1])
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(printed)?.[1]),
    p50: milliseconds(/^\s+50%\s+(\S+)/m.exec(printed)?.[1]),
    p99: milliseconds(/^\s+99%\s+(\S+)/m.exec(printed)?.[1]),
    cpuMicros: ((cpuMillis(target.pid) - cpuBefore) * 1000) / requests,
  }
}

/** User and system time of a process so far; the kernel counts in hundredths of a second. */
function cpuMillis(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function milliseconds(text = ''): number {
  const [, number, unit] = /([\d.]+)(us|ms|s)/.exec(text) ?? []
  return Number(number) * (unit === 'us' ? 0.001 : unit === 'ms' ? 1 : 1000)
}

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function report(targets: Target[]): void {
  const summary = targets.map(({ name, runs }) => ({
    name,
    'req/s': Math.round(median(runs.map((each) => each.perSecond))),
    'all rounds': runs.map((each) => Math.round(each.perSecond)).join(' '),
    'p50 ms': median(runs.map((each) => each.p50)),
    'p99 ms': median(runs.map((each) => each.p99)),
    'Node µs/req': Math.round(median(runs.map((each) => each.cpuMicros))),
  }))
  console.table(summary)
  const [yardstick, ours] = summary
  if (!yardstick || !ours) throw new Error('nothing was measured')
  const ratio = ours['req/s'] / yardstick['req/s']
  const cpuRatio = ours['Node µs/req'] / yardstick['Node µs/req']
  console.log(`requests per second: ${ratio.toFixed(2)} of bare (required ${requiredRatio}, aim ${aimRatio})`)
  console.log(
    `Node CPU per request: ${cpuRatio.toFixed(2)} times bare (required at most ${requiredCpuRatio})`,
  )
  const reached = ratio >= requiredRatio && cpuRatio <= requiredCpuRatio
  if (!reached && !figuresOnly) process.exitCode = 1
}
