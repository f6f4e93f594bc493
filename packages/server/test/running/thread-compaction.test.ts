import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ThreadCall } from '#platform/engine-client.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** Of the model here: small, so that a conversation is soon too long for it. */
const contextTokens = 8000
let house: ChatHouse

beforeAll(async () => {
  house = await openChatHouse({}, { contextTokens })
})

afterAll(() => house?.close())

const db = () => house.deps.database.db
const never = () => new AbortController().signal

async function begin(person: Person, message: string): Promise<ThreadCall> {
  const before = house.calls().length
  const sent = await house.send(person, 'long', message)
  expect(sent.status, sent.text).toBe(202)
  await until(() => house.calls().length > before, 5000)
  return house.calls().at(-1) as ThreadCall
}

async function carry(person: Person, message: string): Promise<ThreadCall> {
  const call = await begin(person, message)
  await house.newRunner().carry(call.threadRowId, call, never())
  return call
}

const runsOf = ({ threadRowId }: ThreadCall) =>
  db().selectFrom('thread_runs').selectAll().where('thread_row_id', '=', threadRowId).orderBy('id').execute()

async function eventsOf({ threadRowId }: ThreadCall) {
  const rows = await db()
    .selectFrom('thread_events')
    .selectAll()
    .where('thread_row_id', '=', threadRowId)
    .orderBy('sequence')
    .execute()
  return rows.map(({ type, sequence, payload }) => ({ type, sequence, payload: JSON.parse(payload) }))
}

const filler = 'word '.repeat(120)
/** Some 350 tokens of talk. */
const talk = (turn: number) => `Turn ${turn}. ${filler}${scripted({ say: `Answer ${turn}. ${filler}` })}`

test('a long conversation goes on beside a summary of what was said, which is paid', async () => {
  house.serve(false)
  const person = await house.newPerson()
  // Descriptions of tools take room in every prompt.
  const agent = { token: person.token, body: { tools: [] } }
  expect((await house.call('PATCH', '/api/v1/agents/assistant', agent)).status).toBe(200)
  let call: ThreadCall | undefined
  for (let turn = 1; turn <= 30; turn++) call = await carry(person, talk(turn))
  if (!call) throw new Error('nothing was said')
  const runs = await runsOf(call)
  expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'completed'))
  const events = await eventsOf(call)
  const summaries = events.filter(({ type }) => type === 'thread.compacted')
  expect(summaries.length).toBeGreaterThanOrEqual(1)
  expect(summaries.length).toBeLessThanOrEqual(3)
  for (const { payload } of summaries) {
    expect(payload.tokensAfter).toBeLessThan(payload.tokensBefore)
    expect(payload).toMatchObject({ keeps: [], ordinal: 1 })
  }
  const thread = await db()
    .selectFrom('threads')
    .selectAll()
    .where('id', '=', call.threadRowId)
    .executeTakeFirstOrThrow()
  expect(thread.summary_sequence).toBe(summaries.at(-1)?.sequence)
  expect(thread.cost_milli_ds).toBe(runs.reduce((sum, run) => sum + run.cost_milli_ds, 0))
  // What the provider counted: no prompt is longer than the model takes in, and a run with a summary has paid for two.
  const counted = runs.map(({ input_tokens }) => input_tokens)
  expect(counted.filter((tokens) => tokens >= contextTokens).length).toBeLessThanOrEqual(summaries.length)
  expect(counted.at(-1)).toBeLessThan(contextTokens)
  // The log is whole.
  expect(events.filter(({ type }) => type === 'user.message')).toHaveLength(30)
}, 60_000)

test('a worker that dies while the summary is written leaves nothing behind, and another one writes it', async () => {
  house.serve(false)
  const person = await house.newPerson()
  let call: ThreadCall | undefined
  // The record's first script is what the summary is: it comes late.
  await carry(person, scripted({ say: 'Hm.', delayMs: 2500 }))
  for (let turn = 2; turn < 60; turn++) {
    call = await begin(person, talk(turn))
    const requests = house.endpoint.stats().requests
    const killed = new AbortController()
    const work = house
      .newRunner()
      .carry(call.threadRowId, call, killed.signal)
      .catch((error: Error) => error)
    await until(() => house.endpoint.stats().requests > requests, 5000)
    const isQuick = await Promise.race([
      work.then(() => true),
      new Promise((done) => setTimeout(() => done(false), 1600)),
    ])
    if (isQuick) continue
    killed.abort(new Error('killed'))
    await work
    break
  }
  if (!call) throw new Error('nothing was said')
  const { runId } = call
  const runBefore = (await runsOf(call)).find((run) => run.run_id === runId)
  expect(runBefore).toMatchObject({ status: 'working', steps: 0, cost_milli_ds: 0 })
  expect((await eventsOf(call)).filter(({ type }) => type === 'thread.compacted')).toEqual([])
  await house.newRunner().carry(call.threadRowId, call, never())
  const runAfter = (await runsOf(call)).find((run) => run.run_id === runId)
  expect(runAfter).toMatchObject({ status: 'completed', steps: 1 })
  const events = await eventsOf(call)
  expect(events.filter(({ type }) => type === 'thread.compacted')).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'run.finished')).toHaveLength(
    events.filter(({ type }) => type === 'run.started').length,
  )
}, 60_000)

test('what cannot be made short ends the run and not the thread', async () => {
  house.serve(false)
  const person = await house.newPerson()
  const call = await carry(person, 'x'.repeat(40_000))
  const [run] = await runsOf(call)
  expect(run).toMatchObject({ status: 'failed', error_code: 'CONTEXT_TOO_LONG', cost_milli_ds: 0 })
  const told = (await eventsOf(call)).find(({ type }) => type === 'error')
  expect(told?.payload.message).toContain('/brief')
})

test('a run goes on with the agent that it began with, and may cost what that one may', async () => {
  house.serve(false)
  const person = await house.newPerson()
  const patch = (body: object) =>
    house.call('PATCH', '/api/v1/agents/assistant', { token: person.token, body })
  await house.call('GET', '/api/v1/agents', { token: person.token })
  expect((await patch({ instructions: 'Answer as before.', maxCostPerRun: 60 })).status).toBe(200)
  const call = await begin(person, 'Hello')
  expect((await patch({ instructions: 'Answer otherwise. '.repeat(1000) })).status).toBe(200)
  await house.newRunner().carry(call.threadRowId, call, never())
  const [run] = await runsOf(call)
  expect(run).toMatchObject({ status: 'completed', agent_version: 2, max_cost_milli_ds: 60_000 })
  // The later instructions would have been 4,500 tokens more.
  expect(run?.input_tokens).toBeLessThan(2000)
})
