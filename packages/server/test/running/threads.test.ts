import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

let house: ChatHouse
let person: Person

beforeAll(async () => {
  house = await openChatHouse()
})

afterAll(() => house?.close())

beforeEach(async () => {
  house.serve(true)
  person = await house.newPerson()
})

const db = () => house.deps.database.db
const get = (path: string, by = person) => house.call('GET', `/api/v1${path}`, { token: by.token })
const log = async (threadId: string) =>
  db()
    .selectFrom('thread_events as e')
    .innerJoin('threads as t', 't.id', 'e.thread_row_id')
    .selectAll('e')
    .where('t.thread_id', '=', threadId)
    .where('t.workspace_id', '=', person.workspaceId)
    .orderBy('e.sequence')
    .execute()
const typesOf = async (threadId: string) => (await log(threadId)).map(({ type }) => type)
const ended = (threadId: string, runs = 1) =>
  until(
    async () => (await typesOf(threadId)).filter((type) => type === 'run.finished').length === runs,
    10_000,
  )

test('a message is kept, answered by one run, paid, and read back', async () => {
  const answer = await house.send(person, 'first', scripted({ say: 'Hello there.' }))
  expect(answer.status, answer.text).toBe(202)
  expect(answer.body).toEqual({
    accepted: true,
    messageId: expect.stringMatching(/^msg_/),
    runId: expect.stringMatching(/^chat_/),
    threadId: 'first',
    delivery: 'woke',
  })
  await ended('first')
  expect(await typesOf('first')).toEqual([
    'user.message',
    'run.started',
    'agent.message',
    'run.cost',
    'run.finished',
  ])
  const { body } = await get('/threads/first/messages')
  expect(body.items.map(({ role, content }: { role: string; content: string }) => [role, content])).toEqual([
    ['user', expect.stringContaining('Please.')],
    ['agent', 'Hello there.'],
  ])
  const thread = (await get('/threads/first')).body
  expect(thread).toMatchObject({ status: 'idle', activeRunId: null, lastSequence: 5 })
  expect(thread.cost).toBeGreaterThan(0)
  const open = await db().selectFrom('reservations').selectAll().where('closed_at', 'is', null).execute()
  expect(open).toEqual([])
  const trace = await get(`/traces/${thread.traceId}`)
  expect(trace.body).toMatchObject({ kind: 'chat', status: 'completed' })
  expect(trace.body.totalCost).toBeCloseTo(thread.cost)
  const turns = await get(`/traces/${thread.traceId}/events`)
  expect(turns.body.items.map(({ type }: { type: string }) => type)).toEqual(['user.message', 'agent.text'])
})

test('of sends at the same moment one wakes a run, and the others reach it', async () => {
  const slow = scripted({ say: 'Slow.', delayMs: 300 })
  const sends = await Promise.all(Array.from({ length: 8 }, () => house.send(person, 'many', slow)))
  expect(sends.map(({ status }) => status)).toEqual(Array(8).fill(202))
  const runs = new Set(sends.map(({ body }) => body.runId))
  expect(runs.size).toBe(1)
  expect(sends.filter(({ body }) => body.delivery === 'woke')).toHaveLength(1)
  await ended('many')
  const events = await log('many')
  expect(events.filter(({ type }) => type === 'user.message')).toHaveLength(8)
  expect(events.at(-1)?.type).toBe('run.finished')
  const run = await db()
    .selectFrom('thread_runs')
    .selectAll()
    .where('run_id', '=', [...runs][0].slice(5))
    .executeTakeFirstOrThrow()
  expect(run.delivered_through).toBe(run.last_message)
})

test('a message that comes while the agent speaks its last word is answered by the same run', async () => {
  const before = house.endpoint.stats().requests
  await house.send(person, 'late', scripted({ say: 'First.', delayMs: 400 }))
  await until(() => house.endpoint.stats().requests > before, 10_000)
  const second = await house.send(person, 'late', scripted({ say: 'Second.' }))
  expect(second.body.delivery).toBe('delivered')
  await ended('late')
  expect(
    (await log('late'))
      .filter(({ type }) => type === 'agent.message')
      .map(({ payload }) => JSON.parse(payload).content),
  ).toEqual(['First.', 'Second.'])
})

test('a key stops what it has started, also when it may not write any more, and nothing else', async () => {
  house.serve(false)
  const key = await house.newKey(person, { scopes: ['trace:write'] })
  const { db } = house.deps.database
  await db
    .insertInto('grants')
    .values({
      key_id: key.id,
      workspace_id: person.workspaceId,
      scope: 'agent:message',
      mode: 'one_time',
      expires_at: new Date(Date.now() + 300_000),
      bound_method: null,
      bound_path: null,
      bound_body_sha256: null,
      request_id: null,
      spent_for: null,
    })
    .execute()
  const body = { resourceId: person.workspaceId, threadId: 'own', message: 'Hello' }
  const byKey = (path: string, sent: object = {}) =>
    house.call('POST', `/api/v1${path}`, { key: key.secret, body: sent })
  expect((await byKey('/agents/assistant/send-message', body)).status).toBe(202)
  await house.send(person, 'others', 'Hello')
  const refusals = [await byKey('/threads/others/interrupt'), await byKey('/threads/none/interrupt')]
  expect(refusals.map(({ status, body }) => [status, body.error.details.missing_scopes])).toEqual([
    [403, ['agent:message']],
    [403, ['agent:message']],
  ])
  expect((await byKey('/threads/own/interrupt')).body).toMatchObject({ success: true, status: 'failed' })
  house.serve(true)
})

test('another credential does not reach a run, it stands in line', async () => {
  house.serve(false)
  await house.send(person, 'line', 'Hello')
  const { secret } = await house.newKey(person)
  const body = { resourceId: person.workspaceId, threadId: 'line', message: 'And I' }
  const send = () => house.call('POST', '/api/v1/agents/assistant/send-message', { key: secret, body })
  const first = await send()
  expect(first.body.delivery).toBe('queued')
  // The second of the same key joins the one that waits.
  expect((await send()).body.runId).toBe(first.body.runId)
  const queue = await get('/workflows/queue')
  expect(queue.body.queued).toEqual([
    expect.objectContaining({ workflowSlug: 'agent:assistant', status: 'running' }),
    expect.objectContaining({ runId: first.body.runId, status: 'queued' }),
  ])
  const stopped = await house.call('POST', '/api/v1/threads/line/interrupt', {
    token: person.token,
    body: {},
  })
  expect(stopped.body).toMatchObject({ success: true, status: 'failed' })
  await until(async () => (await get('/threads/line')).body.activeRunId === first.body.runId, 10_000)
  const started = (await log('line')).filter(({ type }) => type === 'run.started').at(-1)
  expect(JSON.parse(started?.payload ?? '{}').answers).toHaveLength(2)
  const removed = await house.call('DELETE', `/api/v1/workflows/queue/${first.body.runId}`, {
    token: person.token,
  })
  expect(removed.status, removed.text).toBe(200)
  expect((await get('/threads/line')).body.status).toBe('idle')
})

test('reject, interrupt, queue and their limits', async () => {
  house.serve(false)
  const first = await house.send(person, 'busy', 'One')
  const rejected = await house.send(person, 'busy', 'Two', { ifActive: 'reject' })
  expect(rejected.status).toBe(409)
  expect(rejected.body.error.details).toEqual({ activeRunId: first.body.runId })
  const instead = await house.send(person, 'busy', 'Three', { ifActive: 'interrupt' })
  expect(instead.body.delivery).toBe('woke')
  for (let queued = 0; queued < 20; queued++) {
    expect((await house.send(person, 'busy', 'More', { ifActive: 'queue' })).body.delivery).toBe('queued')
  }
  const tooMany = await house.send(person, 'busy', 'More', { ifActive: 'queue' })
  expect(tooMany.status).toBe(429)
  expect(tooMany.headers.get('retry-after')).toBeTruthy()
  const deleted = await house.call('DELETE', '/api/v1/threads/busy', { token: person.token })
  expect(deleted.status).toBe(200)
  const rows = await db()
    .selectFrom('thread_events')
    .select('sequence')
    .where('thread_row_id', 'not in', db().selectFrom('threads').select('id'))
    .execute()
  expect(rows).toEqual([])
  const open = await db()
    .selectFrom('reservations')
    .selectAll()
    .where('closed_at', 'is', null)
    .where('user_id', '=', person.userId)
    .execute()
  expect(open).toEqual([])
})

test('ten runs of a workspace work at once, the others wait for a place, oldest first', async () => {
  house.serve(false)
  const sends = []
  for (let at = 0; at < 12; at++) sends.push(await house.send(person, `place-${at}`, 'Hello'))
  expect(sends.map(({ body }) => body.delivery)).toEqual([...Array(10).fill('woke'), 'queued', 'queued'])
  await house.call('POST', '/api/v1/threads/place-3/interrupt', { token: person.token, body: {} })
  await until(async () => (await get('/threads/place-10')).body.status === 'working', 10_000)
  expect((await get('/threads/place-11')).body.status).toBe('queued')
})

test('without credits nothing is kept of what would wake, and nothing is asked of what would not', async () => {
  house.serve(false)
  await house.send(person, 'poor', 'Hello')
  await house.deps.database.db.updateTable('thread_runs').set({ max_cost_milli_ds: 1 }).execute()
  const other = await house.newPerson()
  const { db: database } = house.deps.database
  const { changeCredits } = await import('#accounts/billing/billing.ts')
  const take = (userId: string, amountMilliDs: number) =>
    house.deps.database.transaction((tx) =>
      changeCredits(tx, { userId, kind: 'adjust', amountMilliDs, note: null }),
    )
  await take(other.userId, -10_000_000)
  const refused = await house.send(other, 'poorer', 'Hello')
  expect(refused.status).toBe(402)
  expect(
    await database.selectFrom('threads').select('id').where('workspace_id', '=', other.workspaceId).execute(),
  ).toEqual([])
})

test('a repeat under the same key is the same message', async () => {
  const key = randomUUID()
  const send = () =>
    house.call('POST', '/api/v1/chat/assistant', {
      token: person.token,
      headers: { 'idempotency-key': key },
      body: { message: scripted({ say: 'Once.' }), threadId: 'once' },
    })
  const [first, second] = await Promise.all([send(), send()])
  expect(first.status, first.text).toBe(200)
  expect(first.body).toMatchObject({ status: 'completed', message: 'Once.', stopReason: 'end_turn' })
  expect(second.body).toEqual(first.body)
  expect((await typesOf('once')).filter((type) => type === 'user.message')).toHaveLength(1)
})

test('a private thread is its owner’s sessions’ alone', async () => {
  const made = await house.call('POST', '/api/v1/threads', {
    token: person.token,
    body: { threadId: 'mine', visibility: 'private', title: 'Mine' },
  })
  expect(made.status, made.text).toBe(201)
  await house.send(person, 'mine', scripted({ say: 'Between us.' }))
  await ended('mine')
  const { secret } = await house.newKey(person)
  const byKey = (path: string) => house.call('GET', `/api/v1${path}`, { key: secret })
  expect((await byKey('/threads/mine')).status).toBe(404)
  expect((await byKey('/threads')).text).not.toContain('mine')
  expect((await byKey('/threads/mine/messages')).text).toBe((await byKey('/threads/none/messages')).text)
  const send = await house.call('POST', '/api/v1/agents/assistant/send-message', {
    key: secret,
    body: { resourceId: person.workspaceId, threadId: 'mine', message: 'Let me in' },
  })
  expect(send.status).toBe(404)
  expect((await get('/threads/mine')).body.traceId).toBeNull()
  expect(
    await db().selectFrom('traces').select('id').where('workspace_id', '=', person.workspaceId).execute(),
  ).toEqual([])
  expect(
    (await house.call('POST', '/api/v1/threads', { key: secret, body: { visibility: 'private' } })).status,
  ).toBe(403)
})

test('the same name in another workspace is another thread, and another workspace’s id is none', async () => {
  const other = await house.newPerson()
  await house.send(person, 'shared', scripted({ say: 'Mine.' }))
  await house.send(other, 'shared', scripted({ say: 'Yours.' }))
  const foreign = await house.send(person, 'shared', 'Hello', { resourceId: other.workspaceId })
  expect(foreign.status).toBe(404)
  await until(async () => (await get('/threads/shared/messages', other)).body.items.length === 2, 10_000)
  expect((await get('/threads/shared/messages', other)).text).not.toContain('Mine.')
})
