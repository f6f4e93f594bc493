import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { newTeamWith } from '../support/house.ts'
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

test('what was asked goes with the conversation when that becomes private, and so does what is asked then', async () => {
  const key = (await house.newKey(person)).secret
  const chain = ask('helper', ask('assistant', { say: 'Deep.' }), { say: 'Asked.' })
  const threadId = await say([chain, { say: 'Done.' }])
  const family = await ended(threadId)
  const asked = family.slice(1).map((run) => run.thread_id)
  expect(asked).toHaveLength(2)
  const seen = async () => {
    const paths = asked.flatMap((id) => [`/threads/${id}`, `/threads/${id}/messages`])
    const answers = await Promise.all(paths.map((path) => house.call('GET', `/api/v1${path}`, { key })))
    const { items } = (await house.call('GET', '/api/v1/threads', { key })).body
    const listed = items.some(({ id }: { id: string }) => asked.includes(id))
    return [...answers.map(({ status }) => status), listed]
  }
  const { body } = await house.call('GET', '/api/v1/traces?kind=chat', { key })
  expect(await seen()).toEqual([200, 200, 200, 200, true])
  expect((await call('PATCH', `/threads/${threadId}`, { visibility: 'private' })).status).toBe(200)
  expect(await seen()).toEqual([404, 404, 404, 404, false])
  const left = (await house.call('GET', '/api/v1/traces?kind=chat', { key })).body
  expect(left.items).toHaveLength(body.items.length - 3)
  // Its owner still has all of it.
  for (const id of asked) expect((await call('GET', `/threads/${id}`)).status).toBe(200)
  const message = scripted(ask('helper', { say: 'Again.' }), { say: 'Again done.' })
  await house.send(person, threadId, message)
  await eventually(async () => {
    await tend()
    const rows = (await runsOf()).filter(
      ({ parent_run, thread_id }) => parent_run !== null && !asked.includes(thread_id),
    )
    expect(rows.at(-1)).toMatchObject({ visibility: 'private', status: 'completed' })
  })
})

test('what a member had asked in a thread of somebody else goes to whose thread it is', async () => {
  const member = await house.newPerson({ mode: 'basedmode' })
  const team = await newTeamWith(house, person, member)
  const inTeam = ({ token }: Person) => ({ token, headers: { 'x-workspace-id': team } })
  const as = (who: Person, method: string, path: string, body?: object) =>
    house.call(method, `/api/v1${path}`, { ...inTeam(who), ...(body && { body }) })
  await as(person, 'PATCH', '/agents/assistant', { tools: ['agents'] })
  await as(person, 'POST', '/agents', { slug: 'helper', name: 'Helper', instructions: 'Help.' })
  await as(person, 'POST', '/threads', { threadId: 'shared' })
  const message = scripted(ask('helper', { say: 'Yours.' }), { say: 'Done.' })
  await as(member, 'POST', '/agents/assistant/send-message', {
    resourceId: team,
    threadId: 'shared',
    message,
  })
  const [, asked] = await ended('shared')
  const path = `/threads/${asked?.thread_id}`
  expect((await as(member, 'GET', path)).status).toBe(200)
  await as(person, 'PATCH', '/threads/shared', { visibility: 'private' })
  expect([(await as(member, 'GET', path)).status, (await as(person, 'GET', path)).status]).toEqual([404, 200])
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
