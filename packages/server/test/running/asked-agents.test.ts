import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** One agent asks another, over the whole way: a thread of its own, one budget, and no longer than who asked. */
let house: ChatHouse
let person: Person
let threads = 0

beforeAll(async () => {
  house = await openChatHouse()
  person = await house.newPerson({ mode: 'basedmode' })
  await call('PATCH', '/agents/assistant', { tools: ['agents'] })
  const made = await call('POST', '/agents', {
    slug: 'helper',
    name: 'Helper',
    instructions: 'Help.',
    tools: ['agents'],
  })
  expect(made.status, made.text).toBe(201)
})

afterAll(() => house?.close())

const call = (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: person.token, ...(body === undefined ? {} : { body }) })
const eventually = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 60_000, interval: 50 })
const tend = async () => {
  for (const { name, run } of house.reconcilers)
    if (name === 'waits of chats' || name === 'asked agents') await run()
}
const ask = (agent: string, ...steps: Step[]): Step => ({
  tools: [{ name: 'ask_agent', input: { agent, message: scripted(...steps) } }],
})

async function say(steps: Step[], more: object = {}): Promise<string> {
  const threadId = `t${++threads}`
  const sent = await house.send(person, threadId, scripted(...steps), more)
  expect(sent.status, sent.text).toBe(202)
  return threadId
}

const runsOf = () =>
  house.deps.database.db
    .selectFrom('thread_runs as r')
    .innerJoin('threads as t', 't.id', 'r.thread_row_id')
    .selectAll('r')
    .select(['t.thread_id', 't.visibility'])
    .orderBy('r.id')
    .execute()

/** The run of a thread, and those that were asked for it, in order. */
async function familyOf(threadId: string) {
  const runs = await runsOf()
  const [first] = runs.filter((run) => run.thread_id === threadId)
  if (!first) throw new Error('no run')
  const family = [first]
  for (const run of runs) if (family.some(({ id }) => id === run.parent_run)) family.push(run)
  return family
}

const ended = (threadId: string) =>
  eventually(async () => {
    await tend()
    const family = await familyOf(threadId)
    expect(family.map(({ completed_at }) => completed_at)).not.toContain(null)
    return family
  })

async function resultsIn(threadId: string): Promise<string[]> {
  const rows = await house.deps.database.db
    .selectFrom('thread_events as e')
    .innerJoin('threads as t', 't.id', 'e.thread_row_id')
    .select('payload')
    .where('t.thread_id', '=', threadId)
    .where('type', '=', 'agent.tool_result')
    .orderBy('sequence')
    .execute()
  return rows.map(({ payload }) => JSON.parse(payload).summary)
}

test('an agent asks another one and goes on with its answer; what that cost counts to the message', async () => {
  const threadId = await say([ask('helper', { say: 'Forty-two.' }), { say: 'It is 42.' }], { maxCost: 200 })
  const [asker, asked] = await ended(threadId)
  expect([asker?.status, asked?.status]).toEqual(['completed', 'completed'])
  expect(asked).toMatchObject({ agent_slug: 'helper', depth: 1, credential_id: asker?.credential_id })
  expect(asked?.cost_milli_ds).toBeGreaterThan(0)
  expect(asker?.delegated_milli_ds).toBe(asked?.cost_milli_ds)
  expect(asked?.max_cost_milli_ds).toBeLessThan(200_000)
  const [result] = await resultsIn(threadId)
  expect(JSON.parse(result ?? '')).toMatchObject({
    agent: 'helper',
    status: 'completed',
    answer: 'Forty-two.',
  })
})

test('agents ask one another twice in a row and no more', async () => {
  const chain = ask('helper', ask('assistant', ask('helper', { say: 'Never.' }), { say: 'Enough.' }), {
    say: 'Middle.',
  })
  const threadId = await say([chain, { say: 'Done.' }])
  const family = await ended(threadId)
  expect(family.map(({ depth }) => depth)).toEqual([0, 1, 2])
  const [refusal] = await resultsIn(family[2]?.thread_id ?? '')
  expect(refusal).toContain('at most 2 times')
})

test('what is asked on from a private thread stays private, and what was read from outside stays known', async () => {
  await call('POST', '/threads', { threadId: 'secret', visibility: 'private' })
  await house.deps.database.db
    .updateTable('threads')
    .set({ tainted: true })
    .where('thread_id', '=', 'secret')
    .execute()
  const message = scripted(ask('helper', { say: 'Hush.' }), { say: 'Hushed.' })
  await house.send(person, 'secret', message)
  const [asker, asked] = await ended('secret')
  expect(asked).toMatchObject({ visibility: 'private', tainted: true })
  expect(asker?.tainted).toBe(true)
})

test('whoever is asked ends with who asked', async () => {
  const threadId = await say([ask('helper', { say: 'Slowly.', delayMs: 60_000 }), { say: 'Late.' }])
  await eventually(async () => {
    expect((await familyOf(threadId)).map(({ status }) => status)).toEqual(['waiting', 'working'])
  })
  expect((await call('POST', `/threads/${threadId}/interrupt`, {})).body.success).toBe(true)
  const family = await ended(threadId)
  expect(family.map(({ stop_reason }) => stop_reason)).toEqual(['interrupt', 'interrupt'])
})

test('an agent that does not exist is told so, and nobody is asked', async () => {
  const threadId = await say([ask('nobody', { say: 'Hm.' }), { say: 'Then not.' }])
  expect(await ended(threadId)).toHaveLength(1)
  expect((await resultsIn(threadId))[0]).toContain('NOT_FOUND')
})
