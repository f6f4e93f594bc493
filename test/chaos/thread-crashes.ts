import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { readCalls } from '../support/counting-tools.ts'
import { crashPoints } from './planted-mistakes.ts'

/**
 * A chat that launches a workflow, uses a tool that cannot be repeated once a person agreed, and says so; its worker is
 * killed at every place of a step in turn, by itself, so that the place is exact. Whatever happens the run ends, the
 * workflow is launched once, and the tool is used at most once: if it is not known whether it was, the log says so.
 */
export interface CrashOptions {
  readonly tries: number
  /** Of the places, which; all of them when left out. */
  readonly points?: readonly string[]
}

interface Try {
  readonly point: string
  /** How often the place is passed by before the crash. */
  readonly skips: number
  readonly threadId: string
}

const withinMs = 60_000

export async function runThreadCrashes({ tries, points = crashPoints }: CrashOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-crashes-'))
  const [crashFile, countFile] = [join(folder, 'crash'), join(folder, 'calls')]
  writeFileSync(countFile, '')
  const here = (path: string) => new URL(path, import.meta.url)
  const settings = {
    NODE_OPTIONS: `--import=${here('planted-mistakes.ts').href}`,
    PLANTED: 'crash-points',
    CRASH_FILE: crashFile,
    COUNT_FILE: countFile,
    TOOLS_MODULE: fileURLToPath(here('../support/counting-tools.ts')),
  }
  const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`])
  const stack = await spawnStack(['--api', '1', '--workers', '2', '--limits', 'off', ...env])
  const pool = new pg.Pool({ connectionString: stack.databaseUrl, max: 2 })
  try {
    const app = createCaller(stack.baseUrl)
    const person = await app.newPerson()
    const token = person.token
    await app.call('PATCH', '/api/v1/agents/assistant', {
      token,
      body: { tools: ['workflows', 'count-once'] },
    })
    const definition = {
      id: 'flow',
      inputSchema: {},
      outputSchema: {},
      graph: [{ type: 'mapping', id: 'out', mapConfig: '{}' }],
    }
    await app.call('POST', '/api/v1/workflows/flow/install', { token, body: { definition } })
    const violations: string[] = []
    let crashes = 0
    for (let turn = 0; turn < tries; turn++) {
      for (const [index, point] of points.entries()) {
        const tried = { point, skips: turn % 3, threadId: `crash-${turn}-${index}` }
        writeFileSync(crashFile, `${point}|${tried.skips}`)
        await converse(app, person, pool, tried)
        const isCrashed = !exists(crashFile)
        rmSync(crashFile, { force: true })
        if (isCrashed) crashes++
        violations.push(...(await judge(pool, tried, countFile)))
      }
    }
    const billing = await app.call('GET', '/api/v1/billing', { token })
    if (billing.body.reserved !== 0) violations.push(`${billing.body.reserved} Ds are still reserved`)
    return { violations, crashes, points: points.length }
  } finally {
    await pool.end()
    await stack.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

function exists(file: string): boolean {
  try {
    readFileSync(file)
    return true
  } catch {
    return false
  }
}

/** Until the run has ended; what it asks for is allowed. */
async function converse(app: Caller, person: Person, pool: pg.Pool, { threadId }: Try): Promise<void> {
  const { token, workspaceId: resourceId } = person
  const steps = [
    { tools: [{ name: 'launch_workflow', input: { slug: 'flow' } }] },
    { tools: [{ name: 'count-once', input: { n: 1 } }] },
    { say: 'Done.' },
  ]
  const message = `Please.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\``
  const body = { resourceId, threadId, message }
  const sent = await app.call('POST', '/api/v1/agents/assistant/send-message', { token, body })
  if (sent.status !== 202) throw new Error(sent.text)
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; await delay(50)) {
    const pending = await app.call('GET', '/api/v1/approvals?status=pending&kind=tool', { token })
    for (const { id } of pending.body.items)
      await app.call('POST', `/api/v1/approvals/${id}/approve`, { token, body: {} })
    const { rows } = await pool.query(
      `select from thread_runs r join threads t on t.id = r.thread_row_id
       where t.thread_id = $1 and r.completed_at is not null`,
      [threadId],
    )
    if (rows.length > 0) return
  }
}

interface Logged {
  readonly type: string
  readonly run_id: string
  readonly payload: Readonly<Record<string, unknown>>
}

async function judge(pool: pg.Pool, { point, skips, threadId }: Try, countFile: string): Promise<string[]> {
  const found: string[] = []
  const expect = (isSo: boolean, what: string) => {
    if (!isSo) found.push(`${point} (${skips}): ${what}`)
  }
  const { rows } = await pool.query(
    `select e.type, e.run_id, e.payload::json as payload from thread_events e join threads t on t.id = e.thread_row_id
     where t.thread_id = $1 order by e.sequence`,
    [threadId],
  )
  const log = rows as Logged[]
  const of = (type: string) => log.filter((event) => event.type === type).map(({ payload }) => payload)
  const ends = of('run.finished')
  expect(ends.length === 1, `the run ended ${ends.length} times`)
  expect(ends[0]?.['status'] === 'completed', `it ended as ${JSON.stringify(ends[0])}`)
  expect(of('agent.message').length === 1, `it said ${of('agent.message').length} things`)
  const [uses, results] = [of('agent.tool_use'), of('agent.tool_result')]
  expect(uses.length === 2, `${uses.length} calls`)
  const answered = results.map((result) => result['toolUseId'])
  expect(
    JSON.stringify(answered) === JSON.stringify(uses.map((use) => use['toolUseId'])),
    'not every call has one result',
  )
  const launched = await pool.query('select from workflow_runs where conversation_id = $1', [threadId])
  expect(launched.rowCount === 1, `the workflow was launched ${launched.rowCount} times`)
  const used = readCalls(countFile).filter(({ runId }) => runId === `chat_${log[0]?.run_id}`).length
  const isTold = results.at(-1)?.['isError'] === true
  expect(used <= 1, `the tool was used ${used} times`)
  expect(used === 1 || isTold, 'the tool was not used, and the log does not say so')
  return found
}
