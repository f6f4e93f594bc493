import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { RunNotices, tellThread } from '#running/notifications/notifications.ts'
import { RunWriter } from '#running/runs/run-writer.ts'
import { foldLog } from '#running/threads/conversation.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { newTeamWith, shiftClock } from '../support/house.ts'
import { notice } from '../support/notices.ts'
import { reconcileOnce } from '../support/reconcile.ts'
import { type ChatHouse, openChatHouse } from '../support/threads.ts'
import { newRun, stageIn } from '../support/writing-stage.ts'

let house: ChatHouse
let person: Person

beforeAll(async () => {
  // No run of a workflow advances here by itself.
  house = await openChatHouse({ RUNS_PER_WORKSPACE: '0' })
})

afterAll(() => house?.close())

beforeEach(async () => {
  house.serve(true)
  person = await house.newPerson()
})

const db = () => house.deps.database.db
const parts = () => ({ ...house.deps, bus: house.bus })
const call = (method: string, path: string, body?: object, by = person) =>
  house.call(method, `/api/v1${path}`, { token: by.token, ...(body && { body }) })
const newThread = async (threadId: string, more: object = {}) => {
  const made = await call('POST', '/threads', { threadId, ...more })
  expect(made.status, made.text).toBe(201)
  return rowOf(threadId)
}
const rowOf = (threadId: string) =>
  db()
    .selectFrom('threads')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('workspace_id', '=', person.workspaceId)
    .executeTakeFirstOrThrow()
const framesOf = async (threadId: string) => {
  const { id } = await rowOf(threadId)
  const rows = await db()
    .selectFrom('thread_events')
    .selectAll()
    .where('thread_row_id', '=', id)
    .where('type', '=', 'notification')
    .orderBy('sequence')
    .execute()
  return rows.map(({ payload, sequence }) => ({ ...JSON.parse(payload), at: sequence }))
}
const listOf = async (path: string, by = person) => (await call('GET', path, undefined, by)).body.items
/** A run that an agent launched in this thread. */
const runIn = async (threadId: string | null) => {
  const runId = await newRun(stageIn(house, 'notices'), person)
  const row = { conversation_id: threadId, queued_at: null, advancing: true }
  await db().updateTable('workflow_runs').set(row).where('run_id', '=', runId).execute()
  return runId
}
/** What a worker writes that dies before it says a word. */
const write = (runId: string, status: 'suspended' | 'success' | 'failed', pause?: number) =>
  new RunWriter(house.deps.database).write({
    runId,
    opened: 0,
    advancing: false,
    steps: [],
    status,
    ...(pause !== undefined && { pause }),
    ...(status === 'success' && { result: { total: 42 } }),
    ...(status === 'failed' && { error: { message: 'no' } }),
  })
const goOn = (runId: string) =>
  db().updateTable('workflow_runs').set({ status: 'running' }).where('run_id', '=', runId).execute()
/** As so many processes at once do. */
const reconcile = async (processes = 1) => {
  const reconcilers = house.reconcilers.filter(({ name }) => name === 'word to threads')
  await shiftClock(house.deps.config.databaseUrl, 2)
  await Promise.all(Array.from({ length: processes }, () => reconcileOnce(reconcilers)))
  await shiftClock(house.deps.config.databaseUrl, 0)
}
/** Listens as a client does, and gives what ends it. */
const listen = async (threadId: string, more: object = {}) => {
  const stop = new AbortController()
  const response = await fetch(`${house.url}/api/v1/agents/assistant/subscribe-thread`, {
    method: 'POST',
    headers: { 'x-auth-token': person.token, 'content-type': 'application/json' },
    body: JSON.stringify({ resourceId: person.workspaceId, threadId, ...more }),
    signal: stop.signal,
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  await reader?.read()
  return () => stop.abort()
}

describe('the thread of a run', () => {
  test('hears of its cancellation at once, as a record and as an event of its log', async () => {
    await newThread('home')
    const runId = await runIn('home')
    await call('POST', `/workflows/runs/${runId}/cancel`)
    await until(async () => (await framesOf('home')).length > 0, 5000)
    const [frame] = await framesOf('home')
    expect(frame).toEqual({
      id: expect.stringMatching(/^notice_/),
      threadId: 'home',
      resourceId: person.workspaceId,
      agentId: `${person.workspaceId}:assistant`,
      source: 'workflow',
      kind: 'workflow.canceled',
      priority: 'low',
      status: 'pending',
      summary: 'Workflow asking was canceled.',
      payload: {
        runId,
        workflowId: `${person.workspaceId}:asking`,
        workflowSlug: 'asking',
        status: 'canceled',
      },
      dedupeKey: `${runId}:canceled`,
      revision: 0,
      sequence: frame.at,
      createdAt: expect.any(String),
      at: frame.at,
    })
    const [item] = await listOf('/threads/home/notifications')
    expect({ ...item, at: frame.at }).toEqual(frame)
    // By being read.
    expect(await listOf('/notifications?status=delivered')).toMatchObject([{ id: frame.id }])
  })

  test('hears what a worker did not live to say, from one of all who look', async () => {
    await newThread('home')
    const runId = await runIn('home')
    await write(runId, 'success')
    expect(await framesOf('home')).toEqual([])
    await reconcile(3)
    expect(await framesOf('home')).toMatchObject([
      { kind: 'workflow.completed', payload: { result: { total: 42 } }, dedupeKey: `${runId}:success` },
    ])
    expect(await db().selectFrom('notifications_due').selectAll().execute()).toEqual([])
  })

  test('hears the end once, however often the word comes, and of each pause once', async () => {
    await newThread('home')
    const notices = new RunNotices(parts())
    const ended = await runIn('home')
    const row = await write(ended, 'failed')
    for (let i = 0; i < 5; i++) notices.hear(row as never)
    await Promise.all(Array.from({ length: 5 }, () => notices.tellDue(ended)))
    await until(async () => (await framesOf('home')).length > 0, 5000)
    expect(await framesOf('home')).toMatchObject([
      { kind: 'workflow.failed', payload: { error: { message: 'no' } } },
    ])
    const paused = await runIn('home')
    for (const pause of [1, 2]) {
      await write(paused, 'suspended', pause)
      for (let i = 0; i < 5; i++) await notices.tellDue(paused)
      const [, ...frames] = await framesOf('home')
      expect(frames.map(({ kind, revision }) => [kind, revision])).toEqual(
        Array.from({ length: pause }, (_, i) => ['workflow.suspended', i + 1]),
      )
      await call('POST', '/threads/home/notifications/seen')
      await goOn(paused)
    }
    // An answer that was taken back: the pause is the same.
    await db()
      .updateTable('workflow_runs')
      .set({ status: 'suspended' })
      .where('run_id', '=', paused)
      .execute()
    await notices.tellDue(paused)
    expect(await framesOf('home')).toHaveLength(3)
    expect(await listOf('/notifications')).toHaveLength(2)
  })

  test('that is gone has nothing to hear, and a run without one notes nothing', async () => {
    await newThread('gone')
    const runId = await runIn('gone')
    await call('DELETE', '/threads/gone')
    await write(runId, 'success')
    await write(await runIn(null), 'success')
    await reconcile()
    expect(await db().selectFrom('notifications_due').selectAll().execute()).toEqual([])
    expect(await listOf('/notifications')).toEqual([])
  })

  test('holds up no run, also while somebody holds the thread', async () => {
    const { id } = await newThread('held')
    const runId = await runIn('held')
    await house.deps.database.transaction(async (tx) => {
      await tx.selectFrom('threads').select('id').where('id', '=', id).forUpdate().execute()
      const answer = await call('POST', `/workflows/runs/${runId}/cancel`)
      expect(answer.status, answer.text).toBe(200)
    })
    await until(async () => (await framesOf('held')).length === 1, 5000)
  })
})

describe('a thread that somebody listens to', () => {
  test('hears of all runs of its workspace, unless it said it does not want to', async () => {
    const leave = [await listen('open'), await listen('closed', { background: false })]
    await newThread('alone')
    const runId = await runIn(null)
    await call('POST', `/workflows/runs/${runId}/cancel`)
    await until(async () => (await framesOf('open')).length > 0, 5000)
    expect(await framesOf('open')).toMatchObject([{ kind: 'workflow.canceled', status: 'delivered' }])
    expect(await framesOf('closed')).toEqual([])
    expect(await framesOf('alone')).toEqual([])
    for (const end of leave) end()
  })

  test('is one of fifty at most', async () => {
    const rows = await Promise.all(Array.from({ length: 55 }, (_, i) => newThread(`many-${i}`)))
    await db()
      .insertInto('thread_subscriptions')
      .values(
        rows.map(({ id }, i) => ({
          thread_row_id: id,
          workspace_id: person.workspaceId,
          process_id: '00000000-0000-4000-8000-000000000000',
          until: new Date(Date.now() + 60_000 + i * 1000),
        })),
      )
      .execute()
    const runId = await runIn(null)
    await call('POST', `/workflows/runs/${runId}/cancel`)
    await until(async () => (await listOf('/notifications?limit=200')).length >= 50, 10_000)
    await new Promise((resolve) => setTimeout(resolve, 300))
    const told = (await listOf('/notifications?limit=200')).map(
      ({ threadId }: { threadId: string }) => threadId,
    )
    expect(told).toHaveLength(50)
    for (let i = 0; i < 5; i++) expect(told).not.toContain(`many-${i}`)
  })
})

describe('what was told', () => {
  test('is seen and put away, one by one or up to an event, and open again when it happens again', async () => {
    const { id } = await newThread('home')
    for (const key of ['a', 'b', 'c']) await tellThread(parts(), id, notice(key))
    const statusOf = async () =>
      Object.fromEntries(
        (await listOf('/threads/home/notifications')).map((item: { dedupeKey: string; status: string }) => [
          item.dedupeKey,
          item.status,
        ]),
      )
    const [c, b, a] = await listOf('/threads/home/notifications')
    expect([c, b, a].map(({ summary }) => summary)).toEqual(['Happened: c', 'Happened: b', 'Happened: a'])
    expect((await call('POST', `/notifications/${b.id}/dismiss`)).body).toEqual({ success: true })
    await call('POST', '/threads/home/notifications/seen', { through: b.sequence })
    expect(await statusOf()).toEqual({ a: 'seen', b: 'dismissed', c: 'delivered' })
    for (let i = 0; i < 2; i++) expect((await call('POST', `/notifications/${c.id}/seen`)).status).toBe(200)
    await call('POST', `/notifications/${b.id}/seen`)
    expect(await statusOf()).toEqual({ a: 'seen', b: 'dismissed', c: 'seen' })
    expect(
      (await listOf('/notifications?status=seen')).map(({ seenAt }: { seenAt: string }) => seenAt),
    ).toEqual([expect.any(String), expect.any(String)])
    await tellThread(parts(), id, notice('b', 1))
    expect(await statusOf()).toEqual({ a: 'seen', b: 'pending', c: 'seen' })
  })

  test('pages through everything once', async () => {
    const { id } = await newThread('home')
    for (let i = 0; i < 7; i++) await tellThread(parts(), id, notice(`n${i}`))
    const seen: string[] = []
    for (let path = '/notifications?limit=3'; path; ) {
      const { body } = await call('GET', path)
      seen.push(...body.items.map((item: { dedupeKey: string }) => item.dedupeKey))
      path = body.nextCursor ? `/notifications?limit=3&cursor=${body.nextCursor}` : ''
    }
    expect(seen).toEqual(['n6', 'n5', 'n4', 'n3', 'n2', 'n1', 'n0'])
    expect((await call('GET', '/notifications?cursor=made-up')).status).toBe(400)
  })

  test('in a private thread is seen by its owner’s sessions alone', async () => {
    const member = await house.newPerson()
    const team = await newTeamWith(house, person, member)
    const inTeam = { headers: { 'x-workspace-id': team } }
    const body = { threadId: 'mine', visibility: 'private' }
    await house.call('POST', '/api/v1/threads', { token: person.token, body, ...inTeam })
    const { id } = await db()
      .selectFrom('threads')
      .select('id')
      .where('workspace_id', '=', team)
      .executeTakeFirstOrThrow()
    const told = await tellThread(parts(), id, notice('secret'))
    const { body: made } = await house.call('POST', '/api/v1/keys', {
      token: person.token,
      body: { label: 'k' },
      ...inTeam,
    })
    for (const other of [{ token: member.token, ...inTeam }, { key: made.api_key }]) {
      const list = await house.call('GET', '/api/v1/notifications', other)
      expect(list.body.items).toEqual([])
      for (const path of [`/notifications/${told?.id}/seen`, `/notifications/${told?.id}/dismiss`])
        expect((await house.call('POST', `/api/v1${path}`, other)).status).toBe(404)
      expect((await house.call('GET', '/api/v1/threads/mine/notifications', other)).status).toBe(404)
    }
    const own = await house.call('GET', '/api/v1/notifications', { token: person.token, ...inTeam })
    expect(own.body.items).toMatchObject([{ id: told?.id }])
  })

  test('is said on the sockets of the workspace, without what it says', async () => {
    const { body } = await call('GET', '/events/subscribe-url')
    const { pathname, search } = new URL(body.url)
    const socket = new WebSocket(`${house.url.replace('http', 'ws')}${pathname}${search}`)
    const heard: { type: string }[] = []
    socket.addEventListener('message', ({ data }) => heard.push(JSON.parse(data)))
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    const { id } = await newThread('home')
    const told = await tellThread(parts(), id, notice('x'))
    await until(() => heard.some(({ type }) => type === 'notification'), 5000)
    expect(heard.find(({ type }) => type === 'notification')).toEqual({
      type: 'notification',
      id: expect.any(String),
      workspaceId: person.workspaceId,
      at: expect.any(String),
      notificationId: told?.id,
      threadId: 'home',
      kind: 'workflow.completed',
    })
    socket.close()
  })

  test('is read by the agent at its next run, as material and not as the person’s word', async () => {
    const { id } = await newThread('home')
    await tellThread(parts(), id, notice('the report is done'))
    house.serve(false)
    const { body } = await house.send(person, 'home', 'And now?')
    const events = await db()
      .selectFrom('thread_events')
      .selectAll()
      .where('thread_row_id', '=', id)
      .orderBy('sequence')
      .execute()
    const messages = foldLog(
      events.map(({ sequence, type, run_id: runId, payload }) => ({
        sequence,
        type,
        runId,
        payload: JSON.parse(payload),
      })),
      {
        speaker: { userId: person.userId, apiKeyId: null, oauthGrantId: null },
        ownRunId: body.runId.slice('chat_'.length),
      },
    )
    expect(messages).toHaveLength(1)
    expect(messages[0]).toMatchObject({ role: 'user', text: expect.stringContaining('the report is done') })
    expect(messages[0]).toMatchObject({ text: expect.stringContaining('And now?') })
  })
})
