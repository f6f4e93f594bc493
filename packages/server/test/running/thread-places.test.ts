import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { listWaitsOver } from '#running/threads/wait-store.ts'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** Runs that waited take a place as others do; and who looks for them, and how often. */
let house: ChatHouse
let person: Person
const places = 2

beforeAll(async () => {
  house = await openChatHouse({ CHAT_RUNS_PER_WORKSPACE: String(places) })
  person = await house.newPerson({ mode: 'basedmode' })
  await house.call('PATCH', '/api/v1/agents/assistant', {
    token: person.token,
    body: { tools: ['http-request', 'workflows'] },
  })
})

afterAll(() => house?.close())

const db = () => house.deps.database.db
const eventually = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 60_000, interval: 20 })
const fetching: Step = { tools: [{ name: 'http-request', input: { url: 'https://nowhere.invalid/' } }] }
const states = async () => {
  const rows = await db()
    .selectFrom('thread_runs')
    .select('status')
    .where('workspace_id', '=', person.workspaceId)
    .execute()
  return rows.map(({ status }) => status)
}

test('of many that are decided at once only as many go on as there are places, and all of them in the end', async () => {
  const many = 6
  for (let n = 0; n < many; n++) {
    await house.send(person, `w${n}`, scripted(fetching, { say: 'Done.', delayMs: 150 }))
    await eventually(async () => expect((await states()).filter((s) => s === 'waiting')).toHaveLength(n + 1))
  }
  // No word reaches anybody: what was decided is found by looking.
  await db().updateTable('approval_requests').set({ status: 'denied' }).where('kind', '=', 'tool').execute()
  let most = 0
  const tend = house.reconcilers.find(({ name }) => name === 'waits of chats')
  await eventually(async () => {
    await tend?.run()
    const now = await states()
    most = Math.max(most, now.filter((status) => status === 'working').length)
    expect(now.every((status) => status === 'completed')).toBe(true)
  })
  expect(most).toBe(places)
})

test('a decision brings its run on at once, without anybody looking', async () => {
  await house.send(person, 'at-once', scripted(fetching, { say: 'Done.' }))
  const asked = await eventually(async () => {
    const row = await db()
      .selectFrom('thread_runs')
      .selectAll()
      .where('status', '=', 'waiting')
      .executeTakeFirst()
    expect(row?.wait_ref).toBeTruthy()
    return row
  })
  await house.call('POST', `/api/v1/approvals/${asked?.wait_ref}/deny`, { token: person.token, body: {} })
  await eventually(async () => expect((await states()).includes('waiting')).toBe(false))
})

test('whoever has waited goes on before a message that came later', async () => {
  const slow = scripted({ say: 'Slow.', delayMs: 2000 })
  await house.send(person, 'waited', scripted(fetching, { say: 'Done.' }))
  const asked = await eventually(async () => {
    const row = await db()
      .selectFrom('thread_runs')
      .selectAll()
      .where('status', '=', 'waiting')
      .executeTakeFirst()
    expect(row?.wait_ref).toBeTruthy()
    return row
  })
  for (let n = 0; n < places; n++) await house.send(person, `slow-${n}`, slow)
  await house.call('POST', `/api/v1/approvals/${asked?.wait_ref}/deny`, { token: person.token, body: {} })
  const late = await house.send(person, 'late', scripted({ say: 'Late.' }))
  expect(late.body.delivery).toBe('queued')
  await eventually(async () => expect((await states()).every((status) => status === 'completed')).toBe(true))
  const [first, second] = await db()
    .selectFrom('thread_runs as r')
    .innerJoin('threads as t', 't.id', 'r.thread_row_id')
    .select(['t.thread_id', 'r.ready_at'])
    .where('t.thread_id', 'in', ['waited', 'late'])
    .orderBy('r.ready_at')
    .execute()
  expect([first?.thread_id, second?.thread_id]).toEqual(['waited', 'late'])
  expect(await listWaitsOver(db(), 10)).toEqual([])
})
