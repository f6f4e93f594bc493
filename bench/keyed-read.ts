import { spawnStack } from '../stack/client.ts'
import { figuresOnly, readNumbers } from './options.ts'
import { type Program, startProgram } from './program.ts'
import { load, summaryOf, type Target } from './wrk.ts'

/**
 * An authenticated, rate-limited keyed read (GET /api/v1/workspaces with a key) against the same work written
 * bare on node:http: same PostgreSQL, same Redis, interleaved in one run, so that what the machine does meanwhile
 * hits both. Needs wrk.
 */
const { rounds, seconds, connections } = readNumbers({ rounds: 5, seconds: 4, connections: 64 })
const aimRatio = 0.8
const requiredRatio = 0.65
const requiredCpuRatio = 1.5

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
  const headers = { 'x-api-key': key }
  const targets: Target[] = [
    { name: 'bare', url: `http://127.0.0.1:${bare.port}/`, pid: bare.child.pid ?? 0, headers, runs: [] },
    {
      name: 'guildhall',
      url: `${stack.baseUrl}/api/v1/workspaces`,
      pid: stack.pids.api[0] ?? 0,
      headers,
      runs: [],
    },
  ]
  await checkSameAnswer(targets)
  for (const target of targets) await load(target, 2, connections)
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) target.runs.push(await load(target, seconds, connections))
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
async function checkSameAnswer(targets: Target[]): Promise<void> {
  const answers = await Promise.all(
    targets.map(async ({ url, headers }) => (await fetch(url, { headers })).json()),
  )
  const [first, second] = answers.map((answer) => JSON.stringify(answer).replace(/"createdAt":"[^"]*"/, ''))
  if (first !== second) throw new Error(`the two do not answer the same: ${first} and ${second}`)
}

function report(targets: Target[]): void {
  const summary = targets.map(summaryOf)
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
