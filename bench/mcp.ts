import { spawnStack } from '../stack/client.ts'
import { createCaller } from '../test/support/caller.ts'
import { mustRun, newRunner, readLog, script } from '../test/support/executions.ts'
import { modernMessage } from '../test/support/mcp.ts'
import { median } from './event-parts.ts'
import { figuresOnly, readNumbers } from './options.ts'
import { type Program, startProgram } from './program.ts'
import { load, summaryOf, type Target } from './wrk.ts'

/**
 * What the Model Context Protocol costs: a list of tools against a JSON-RPC server on node:http, and a tool that reads
 * against the same read over REST. CPU time of the serving process per request, by turns in one run. Needs wrk.
 */
const { rounds, seconds, connections } = readNumbers({ rounds: 5, seconds: 4, connections: 32 })
const requiredCpuRatio = 1.5

const pepper = Buffer.from('bench-pepper-of-at-least-32-bytes').toString('base64url')
const stack = await spawnStack(['--limits', 'off', '--env', `KEY_PEPPERS=1:${pepper}`])
let bare: Program | undefined
try {
  const app = createCaller(stack.baseUrl)
  const person = await newRunner(app)
  const { secret: key } = await app.newKey(person)
  const executionId = await mustRun(app, person, script({ say: 'Done at once.' }))
  await readLog(app, person, executionId)
  const list = modernMessage('tools/list', {}, {})
  const { body } = await app.call('POST', '/mcp/', { key, ...list })
  const { databaseUrl, redisUrl } = stack
  bare = await startProgram('bare-mcp.ts', {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    PEPPER: pepper,
    RESULT: JSON.stringify(body.result),
  })
  const api = { pid: stack.pids.api[0] ?? 0 }
  const yardstick = { url: `http://127.0.0.1:${bare.port}`, pid: bare.child.pid ?? 0 }
  const post = (name: string, url: string, pid: number, { headers, body }: typeof list): Target => ({
    name,
    url,
    pid,
    headers: { ...headers, 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    runs: [],
  })
  const read = modernMessage('tools/call', {
    name: 'get_execution',
    arguments: { execution_id: executionId, wait_seconds: 0 },
  })
  const mcpUrl = `${stack.baseUrl}/mcp/`
  const lists = {
    bare: post('list, bare', `${yardstick.url}/`, yardstick.pid, list),
    keyed: post('list, bare with key and window', `${yardstick.url}/keyed`, yardstick.pid, list),
    ours: post('list, guildhall', mcpUrl, api.pid, list),
  }
  const reads = {
    rest: {
      name: 'read, REST',
      url: `${stack.baseUrl}/api/v1/executions/${executionId}/status`,
      pid: api.pid,
      headers: { 'x-api-key': key },
      runs: [],
    } satisfies Target,
    ours: post('read, tool', mcpUrl, api.pid, read),
  }
  const targets: Target[] = [...Object.values(lists), ...Object.values(reads)]
  await checkAnswers(targets)
  for (const target of targets) await load(target, 2, connections)
  for (let round = 0; round < rounds; round++)
    for (const target of targets) target.runs.push(await load(target, seconds, connections))
  console.table(targets.map(summaryOf))
  const overBare = cpuRatio(lists.ours, lists.bare)
  const overKeyed = cpuRatio(lists.ours, lists.keyed)
  const overRest = cpuRatio(reads.ours, reads.rest)
  console.log(`list of tools, CPU of bare JSON-RPC: ${overBare.toFixed(2)} times (no key, no window there)`)
  console.log(
    `list of tools, CPU of bare JSON-RPC with key and window: ${overKeyed.toFixed(2)} times (required at most ${requiredCpuRatio})`,
  )
  console.log(
    `tool that reads, CPU of REST: ${overRest.toFixed(2)} times (required at most ${requiredCpuRatio})`,
  )
  if (Math.max(overKeyed, overRest) > requiredCpuRatio && !figuresOnly) process.exitCode = 1
} finally {
  bare?.child.kill()
  await stack.stop()
}

/** Round by round, because what the machine does meanwhile changes; then the middle one. */
function cpuRatio(ours: Target, yardstick: Target): number {
  return median(
    ours.runs.map(({ cpuMicros }, round) => cpuMicros / (yardstick.runs[round]?.cpuMicros ?? Number.NaN)),
  )
}

/** A yardstick that answers something else would measure something else. */
async function checkAnswers(targets: readonly Target[]): Promise<void> {
  const answers = await Promise.all(
    targets.map(async ({ url, headers, body }) => {
      const response = await fetch(url, {
        headers,
        ...(body !== undefined && { method: 'POST', body }),
      })
      return { status: response.status, text: await response.text() }
    }),
  )
  const [first, second, ours, rest, tool] = answers.map(({ text }) => text)
  const isGood = answers.every(({ status }) => status === 200)
  if (!isGood || first !== second || second !== ours)
    throw new Error(
      `the lists differ: ${answers.map(({ status, text }) => `${status} ${text.slice(0, 200)}`).join('\n')}`,
    )
  if (!rest?.includes('Done at once.') || !tool?.includes('Done at once.') || tool.includes('"isError":true'))
    throw new Error(`the reads differ: ${rest} and ${tool}`)
}
