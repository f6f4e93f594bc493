import { readdirSync, readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import {
  bash,
  cancelExecution,
  type ExecutionEvent,
  mustRun,
  newRunner,
  readLog,
  script,
} from '../support/executions.ts'
import { until } from '../support/processes.ts'
import { expectWithin, tell } from '../support/proof.ts'
import { atSize } from '../support/sizes.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

const rounds = atSize(3, 100)
const branches = 4
let stack: SharedStack
let app: Caller
let person: Person

beforeAll(async () => {
  stack = await calmStack()
  app = createCaller(stack.baseUrl)
  person = await newRunner(app)
})

/** Each branch leaves its session and its parent, and is deaf to every signal that can be ignored. */
function stubbornTree(marker: string): string {
  const deaf = `trap '' TERM INT HUP QUIT USR1; while :; do sleep 1000 & wait; done`
  const leaf = `setsid bash -c "${deaf}" ${marker} </dev/null >/dev/null 2>&1 &`
  return `for branch in $(seq ${branches}); do ( ( ${leaf} ) & ); done; trap '' TERM; while :; do sleep 1000; done`
}

/** On the host, where the sandbox's own view does not count. */
function processesWith(marker: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandLine(pid).includes(marker))
    .map(Number)
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

async function cancelOnce(round: number) {
  const marker = `stubborn-${process.pid}-${round}-${Math.random().toString(36).slice(2)}`
  const executionId = await mustRun(app, person, script({ tools: [bash(stubbornTree(marker))] }))
  // The branches and the command that planted them.
  await until(() => processesWith(marker).length >= branches + 1, 30_000)
  const following = readLog(app, person, executionId)
  const begun = performance.now()
  const answering = cancelExecution(app, person, executionId).then((answer) => ({
    answer,
    answeredAfterMs: performance.now() - begun,
  }))
  await until(() => processesWith(marker).length === 0, 10_000)
  const goneAfterMs = performance.now() - begun
  return { executionId, goneAfterMs, ...(await answering), log: await following }
}

test(`a process tree that ignores every signal is gone within 2 s of cancel, ${rounds} of ${rounds} times`, async () => {
  const times: number[] = []
  const logs = new Map<string, ExecutionEvent[]>()
  for (let round = 0; round < rounds; round++) {
    const { executionId, goneAfterMs, answer, log } = await cancelOnce(round)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ success: true, processKilled: true, actualStatus: 'failed' })
    expectWithin(goneAfterMs, 2000)
    times.push(goneAfterMs)
    logs.set(executionId, log)
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.ceil(times.length * share) - 1]?.toFixed(0)
  tell(`gone after cancel: median ${at(0.5)} ms, 95% ${at(0.95)} ms, slowest ${at(1)} ms`)
  // Read when all had time to say more.
  for (const [executionId, log] of logs) {
    expect(log.slice(-2).map(({ type }) => type)).toEqual(['user.interrupt', 'session.status_idle'])
    expect(log.at(-1)?.payload).toEqual({ stop_reason: { type: 'interrupt' } })
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1))
    expect(await readLog(app, person, executionId)).toEqual(log)
  }
  const { rows } = await withDatabase(stack.databaseUrl, (database) =>
    database.query(
      `select e.execution_id, last_sequence, count(*)::int as stored from executions e
       join execution_events on execution_events.execution_id = e.id where e.workspace_id = $1 group by e.id`,
      [person.workspaceId],
    ),
  )
  expect(rows).toHaveLength(rounds)
  for (const { execution_id, last_sequence, stored } of rows) {
    expect(stored).toBe(last_sequence)
    expect(stored).toBe(logs.get(execution_id)?.length)
  }
}, 600_000)

test('what a model was asked is paid, although its answer was not waited for', async () => {
  const balanceOf = async () =>
    (await app.call('GET', '/api/v1/billing', { token: person.token })).body.balance as number
  const before = await balanceOf()
  const executionId = await mustRun(app, person, script({ say: 'never heard', delayMs: 60_000 }))
  const isAsking = async () => {
    const { rows } = await withDatabase(stack.databaseUrl, (database) =>
      database.query('select asking_milli_ds > 0 as asking from executions where execution_id = $1', [
        executionId,
      ]),
    )
    return rows[0].asking
  }
  await until(isAsking, 30_000)
  expect(await balanceOf()).toBe(before)
  expect((await cancelExecution(app, person, executionId)).status).toBe(200)
  const paid = before - (await balanceOf())
  expect(paid).toBeGreaterThan(0)
  const { cost } = (
    await app.call('GET', `/api/v1/executions/${executionId}/status`, { token: person.token })
  ).body
  expect(cost).toBeCloseTo(paid, 6)
}, 60_000)

test('what a model says last is kept, whatever characters are in it', async () => {
  const executionId = await mustRun(app, person, script({ say: 'one\u0000two' }))
  const log = await readLog(app, person, executionId)
  expect(log.at(-1)?.payload).toEqual({ stop_reason: { type: 'end_turn' } })
  expect(JSON.stringify(log)).toContain('one\ufffdtwo')
}, 60_000)

test('of an execution whose files cannot be written nothing is left', async () => {
  const { token } = person
  const first = await mustRun(
    app,
    person,
    script({ tools: [bash('mkdir notes && echo kept > notes/a.txt')] }),
  )
  await readLog(app, person, first)
  const { traceId: sessionId } = (await app.call('GET', `/api/v1/executions/${first}/status`, { token })).body
  // A file where what was carried over has a folder.
  const attachments = [{ name: 'notes', data: Buffer.from('a file').toString('base64') }]
  const body = { sessionId, input: 'Go on.', attachments }
  const made = await app.call('POST', '/api/v1/executions', { token, body })
  expect(made.status, made.text).toBe(200)
  const executionId: string = made.body.id
  const events = [{ type: 'user.message', content: [{ type: 'text', text: 'Go.' }] }]
  await app.call('POST', `/api/v1/executions/${executionId}/events`, { token, body: { events } })
  const log = await readLog(app, person, executionId)
  expect(log.at(-1)?.payload).toMatchObject({ stop_reason: { type: 'error' } })
  await until(() => processesWith(executionId.replaceAll('_', '-')).length === 0, 10_000)
}, 60_000)
