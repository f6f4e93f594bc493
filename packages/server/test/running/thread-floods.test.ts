import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** One tenant wants all there is of what it shares with others: places in a worker, room in what everybody looks through. */
let house: ChatHouse

beforeAll(async () => {
  house = await openChatHouse({ CHAT_LOOPS: '3', CHAT_RUNS_PER_WORKSPACE: '2' })
})

afterAll(() => house?.close())

const db = () => house.deps.database.db
const runsOf = ({ workspaceId }: Person) =>
  db().selectFrom('thread_runs').selectAll().where('workspace_id', '=', workspaceId).orderBy('id').execute()

test('whose runs have all the loops of a worker that one may have leaves some to others', async () => {
  const greedy = await house.newPerson()
  const other = await house.newPerson()
  house.serve(false)
  for (let index = 0; index < 6; index++) {
    await house.send(greedy, `g${index}`, scripted({ say: 'Slow.', delayMs: 60_000 }))
  }
  // As after many decisions at once: what is woken asks for no place.
  for (const { id } of await runsOf(greedy)) {
    await db()
      .updateTable('thread_runs')
      .set({ status: 'working', ready_at: new Date().toISOString() })
      .where('id', '=', id)
      .execute()
  }
  const runner = house.newRunner()
  const stop = new AbortController()
  const calls = (await runsOf(greedy)).map((run) => ({
    threadRowId: run.thread_row_id,
    runId: run.run_id,
    segment: run.segment,
    offer: 0,
    workspaceId: run.workspace_id,
  }))
  for (const { threadRowId, runId } of calls) {
    const run = (await runsOf(greedy)).find(({ run_id }) => run_id === runId)
    await db().updateTable('threads').set({ active_run: run?.id }).where('id', '=', threadRowId).execute()
  }
  const carried = calls.map((call) => runner.carry(call.threadRowId, call, stop.signal).catch(() => {}))
  await until(
    async () => (await runsOf(greedy)).filter(({ worker_id }) => worker_id !== null).length === 2,
    5000,
  )
  await house.send(other, 'o', scripted({ say: 'Quick.' }))
  const [run] = await runsOf(other)
  if (!run) throw new Error('no run')
  await runner.carry(
    run.thread_row_id,
    {
      threadRowId: run.thread_row_id,
      runId: run.run_id,
      segment: 0,
      offer: 0,
      workspaceId: run.workspace_id,
    },
    stop.signal,
  )
  expect((await runsOf(other))[0]?.status).toBe('completed')
  stop.abort()
  await Promise.all(carried)
  house.serve(true)
}, 30_000)

test('no more runs wait their turn in a workspace than its queue has room for', async () => {
  const greedy = await house.newPerson()
  house.serve(false)
  // All the places that there are.
  for (const threadId of ['q', 'r'])
    expect((await house.send(greedy, threadId, scripted({ say: 'Hello.' }))).status).toBe(202)
  const [model] = await runsOf(greedy)
  if (!model) throw new Error('no run')
  const { id: _id, ...like } = model
  const many = Array.from({ length: 1000 }, () => ({
    ...like,
    run_id: randomUUID(),
    status: 'queued' as const,
    authority: null,
    output_schema: null,
  }))
  await db().insertInto('thread_runs').values(many).execute()
  const refused = await house.send(greedy, 'elsewhere', scripted({ say: 'Hello.' }))
  expect(refused.status, refused.text).toBe(429)
  expect(refused.body.error.details).toEqual({ limit: 1000 })
  await db()
    .deleteFrom('thread_runs')
    .where('workspace_id', '=', greedy.workspaceId)
    .where('status', '=', 'queued')
    .execute()
  expect((await house.send(greedy, 'elsewhere', scripted({ say: 'Hello.' }))).status).toBe(202)
  house.serve(true)
})

test('runs of an agent that was deleted do not begin; one that works goes on', async () => {
  const person = await house.newPerson()
  const { token, workspaceId: resourceId } = person
  const agent = { slug: 'gone', name: 'Gone', instructions: 'Be gone.' }
  expect((await house.call('POST', '/api/v1/agents', { token, body: agent })).status).toBe(201)
  for (const ifActive of ['deliver', 'queue']) {
    const message = scripted({ say: 'Yes.', delayMs: 1000 })
    const body = { resourceId, threadId: 'g', message, ifActive }
    const sent = await house.call('POST', '/api/v1/agents/gone/send-message', { token, body })
    expect(sent.status, sent.text).toBe(202)
  }
  expect((await house.call('DELETE', '/api/v1/agents/gone', { token })).status).toBe(200)
  await until(async () => (await runsOf(person)).every(({ completed_at }) => completed_at !== null), 10_000)
  expect((await runsOf(person)).map(({ status, error_code }) => [status, error_code])).toEqual([
    ['completed', null],
    ['failed', 'AGENT_DELETED'],
  ])
})
