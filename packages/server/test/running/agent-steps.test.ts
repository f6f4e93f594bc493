import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { listEntriesOf } from '#accounts/billing/billing.ts'
import type { StepWork } from '#machinery/engine/drive.ts'
import type { StepCall } from '#machinery/graph/graph.ts'
import { createModels } from '#machinery/models/models.ts'
import { createStepWork } from '#running/runs/runs.ts'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { runParts } from '../support/runs.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** Agents of workflows that use tools: a thread for each attempt of a step, whose end is the step's outcome. */
let house: ChatHouse
let person: Person
let work: StepWork

const slug = 'helper'
const graph = [{ type: 'agent', id: 'ask', agentId: slug }]

beforeAll(async () => {
  house = await openChatHouse()
  work = createStepWork({ ...runParts(house), models: createModels(house.deps.config.models) })
})

afterAll(() => house?.close())

beforeEach(async () => {
  person = await house.newPerson({ mode: 'basedmode' })
  await make({ tools: ['workflows', 'http-request'] })
  await runsOf(house, person).install('flow', definitionOf('flow', graph))
})

const api = (method: string, path: string, body?: unknown, who: Person = person) =>
  house.call(method, `/api/v1${path}`, { token: who.token, ...(body === undefined ? {} : { body }) })
const eventually = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 60_000, interval: 50 })
const { signal } = new AbortController()

async function make(agent: object): Promise<void> {
  const made = await api('POST', '/agents', { slug, name: slug, instructions: 'Help.', ...agent })
  expect(made.status, made.text).toBe(201)
}

/** A run that the engine has, as far as the records go. */
async function launched(key?: string): Promise<string> {
  const credential = key === undefined ? { token: person.token } : { key }
  const answer = await house.call('POST', '/api/v1/workflows/flow/launch', {
    ...credential,
    body: { inputs: {} },
  })
  expect(answer.status, answer.text).toBe(201)
  return answer.body.runId
}

const callerOf = (apiKeyId: number | null = null) => {
  const { workspaceId, userId } = person
  return { workspaceId, userId, apiKeyId }
}

function callOf(runId: string, steps: Step[], outputSchema?: object, attempt = 0): StepCall {
  const turn = { stepId: 'ask', index: 0, iteration: 0, attempt, alone: true, mayRetry: false }
  const idempotencyKey = `${runId}:ask:0:0:${attempt}`
  const target = { kind: 'agent', slug, ...(outputSchema && { outputSchema }) }
  const call = { runId, questionKey: 'q', idempotencyKey, target, input: { prompt: scripted(...steps) } }
  return { ...turn, ...call } as StepCall
}

const awakeable = () => `sign_1${randomUUID().replaceAll('-', '').slice(0, 30)}AAAAAAAA`

async function begin(call: StepCall, caller = callerOf(), awakeableId = awakeable()): Promise<number> {
  const begun = await work.perform(caller, call, awakeableId, signal)
  if (begun.kind !== 'begun') throw new Error(JSON.stringify(begun))
  return begun.agentRunId
}

const runOf = (id: number) =>
  house.deps.database.db
    .selectFrom('thread_runs as r')
    .innerJoin('threads as t', 't.id', 'r.thread_row_id')
    .selectAll('r')
    .select(['t.thread_id', 't.kind', 't.trace_id'])
    .where('r.id', '=', id)
    .executeTakeFirstOrThrow()

const reaches = (id: number, ...states: string[]) =>
  eventually(async () => {
    for (const { name, run } of house.reconcilers) if (name.includes('chats')) await run()
    const run = await runOf(id)
    expect(states).toContain(run.status)
    return run
  })
const ends = (id: number) => reaches(id, 'completed', 'failed')

const look: Step = { tools: [{ name: 'list_workflows', input: {} }] }
const fetching: Step = { tools: [{ name: 'http-request', input: { url: 'https://nowhere.invalid/' } }] }

describe('a step whose agent uses tools', () => {
  test('runs in a thread that no list shows, and its answer is what the step gives', async () => {
    const runId = await launched()
    const call = callOf(runId, [look, { say: 'There is one.' }])
    const awakeableId = awakeable()
    const id = await begin(call, callerOf(), awakeableId)
    const run = await ends(id)
    expect(run).toMatchObject({ kind: 'step', workflow_run_id: runId, status: 'completed' })
    expect(run).toMatchObject({ user_id: person.userId, depth: 0 })
    expect(run.steps).toBe(2)
    expect(await work.collectAgent(call, id)).toMatchObject({
      kind: 'success',
      output: { text: 'There is one.' },
    })
    // The step that waits is told, once, and that it was is noted.
    await eventually(async () => expect((await runOf(id)).awakeable_id).toBeNull())
    expect(house.ingress.asked.some(({ path }) => path.includes(awakeableId))).toBe(true)
    expect((await api('GET', '/threads')).body.items).toEqual([])
    expect((await api('GET', '/workflows/queue')).body.jobs ?? []).not.toContainEqual(
      expect.objectContaining({ workflowSlug: `agent:${slug}` }),
    )
    // Whoever knows its id may read it, and its trace is of the run's lineage.
    expect((await api('GET', `/threads/${run.thread_id}`)).body.cost).toBeGreaterThan(0)
    const trace = await api('GET', `/traces/${run.trace_id}`)
    expect(JSON.stringify(trace.body)).toContain(runId)
    // Paid among what the run cost, by numbers of the ledger.
    const paid = await listEntriesOf(house.deps.database.db, { namesBelow: runId })
    const charged = paid.filter(({ kind }) => kind === 'settle').reduce((sum, { amount }) => sum + amount, 0)
    expect(charged).toBe(run.cost_milli_ds)
    const billing = await api('GET', '/billing')
    expect(billing.body.reserved).toBe(0)
  })

  test('begins one conversation however often and from wherever the step is tried', async () => {
    const call = callOf(await launched(), [look, { say: 'Once.' }])
    const ids = await Promise.all([begin(call), begin(call), begin(call)])
    expect(new Set(ids).size).toBe(1)
    const [id = 0] = ids
    await ends(id)
    // An engine that lost what it had tries it anew, under another awakeable: that one is told too.
    const another = awakeable()
    expect(await begin(call, callerOf(), another)).toBe(id)
    await ends(id)
    await eventually(async () => {
      for (const { name, run } of house.reconcilers) if (name === 'word of chats') await run()
      expect(house.ingress.asked.filter(({ path }) => path.includes(another))).toHaveLength(1)
      expect((await runOf(id)).awakeable_id).toBeNull()
    })
    // Another attempt is another conversation.
    expect(await begin({ ...call, idempotencyKey: `${call.idempotencyKey}1` })).not.toBe(id)
  })

  test('asks the person before it reaches outside, whatever it was asked to do', async () => {
    const id = await begin(callOf(await launched(), [fetching, { say: 'Fetched.' }]))
    const run = await reaches(id, 'waiting')
    expect(run).toMatchObject({ wait_kind: 'approval', tainted: true })
    const pending = await api('GET', '/approvals?status=pending&kind=tool')
    expect(pending.body.items).toMatchObject([{ id: run.wait_ref, action: { tool: 'http-request' } }])
    await api('POST', `/approvals/${run.wait_ref}/approve`, {})
    expect((await ends(id)).status).toBe('completed')
  })

  test('is told once what is wrong with its value, also by a worker that was not there then', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const fits = callOf(await launched(), [look, { object: { n: 7 } }], schema)
    const id = await begin(fits)
    expect((await ends(id)).steps).toBe(2)
    expect(await work.collectAgent(fits, id)).toMatchObject({ kind: 'success', output: { n: 7 } })

    const wrong = callOf(await launched(), [{ object: { n: 'seven' } }], schema)
    const repaired = await begin(wrong)
    // Without a script in what it is told, the scripted model gives what fits.
    expect((await ends(repaired)).steps).toBe(2)
    expect(await work.collectAgent(wrong, repaired)).toMatchObject({ kind: 'success' })

    const list = { type: 'array', items: { type: 'string' } }
    const values = callOf(await launched(), [{ object: { answer: ['a'] } }], list)
    const listed = await begin(values)
    await ends(listed)
    expect(await work.collectAgent(values, listed)).toMatchObject({ kind: 'success', output: ['a'] })
  })

  test('fails its step with the reason when it ends without an answer', async () => {
    const call = callOf(await launched(), [{ fail: { status: 400, times: 9 } }])
    const id = await begin(call)
    const run = await ends(id)
    expect(await work.collectAgent(call, id)).toMatchObject({
      kind: 'failed',
      error: { code: 'AGENT_FAILED', details: { reason: 'MODEL_FAILED', threadId: run.thread_id } },
    })
  })

  test('ends with its run, and does not begin for one that has ended', async () => {
    const runId = await launched()
    const id = await begin(callOf(runId, [{ say: 'Slowly.', delayMs: 60_000 }]))
    await reaches(id, 'working')
    expect((await api('POST', `/workflows/runs/${runId}/cancel`)).status).toBe(200)
    expect(await ends(id)).toMatchObject({ stop_reason: 'interrupt' })
    const late = callOf(runId, [{ say: 'Late.' }], undefined, 1)
    expect(await work.perform(callerOf(), late, awakeable(), signal)).toMatchObject({ kind: 'canceled' })
    expect((await api('GET', '/billing')).body.reserved).toBe(0)
  })

  test('is nobody else’s to write to, and stays while its step waits for it', async () => {
    const runId = await launched()
    const id = await begin(callOf(runId, [fetching, { say: 'Done.' }]))
    const { thread_id: threadId } = await reaches(id, 'waiting')
    const sent = await house.send(person, threadId, 'Do this instead.')
    expect(sent.status, sent.text).toBe(409)
    expect((await api('DELETE', `/threads/${threadId}`)).status).toBe(409)
    const stranger = await house.newPerson()
    expect((await api('GET', `/threads/${threadId}`, undefined, stranger)).status).toBe(404)
    await api('POST', `/workflows/runs/${runId}/cancel`)
    await ends(id)
    expect((await api('DELETE', `/threads/${threadId}`)).status).toBe(200)
    expect(await work.collectAgent(callOf(runId, []), id)).toMatchObject({ kind: 'failed' })
  })

  test('acts by what launched its run: a key, as long as it is good, and a person also signed out', async () => {
    const { id: keyId, secret } = await house.newKey(person, {
      access: 'declared',
      scopes: ['tool:execute', 'workspace:files:read'],
    })
    const byKey = await begin(callOf(await launched(secret), [look, { say: 'By key.' }]), callerOf(keyId))
    expect(await ends(byKey)).toMatchObject({
      status: 'completed',
      credential_kind: 'key',
      credential_id: keyId,
    })
    const call = callOf(await launched(secret), [{ ...look, delayMs: 500 }, { say: 'Late.' }])
    const revoked = await begin(call, callerOf(keyId))
    await api('DELETE', `/keys/${keyId}`)
    await ends(revoked)
    expect(await work.collectAgent(call, revoked)).toMatchObject({ error: { code: 'ACCESS_ENDED' } })

    const mine = callOf(await launched(), [look, { say: 'Seen.' }])
    expect((await api('POST', '/auth/sign-out')).status).toBeLessThan(300)
    const id = await begin(mine)
    expect((await ends(id)).status).toBe('completed')
    const results = await house.deps.database.db
      .selectFrom('thread_events')
      .select('payload')
      .where('thread_row_id', '=', (await runOf(id)).thread_row_id)
      .where('type', '=', 'agent.tool_result')
      .execute()
    expect(results.map(({ payload }) => JSON.parse(payload).isError)).toEqual([false])
  })
})

test('an agent without tools and skills is asked in place, as ever', async () => {
  await api('PATCH', `/agents/${slug}`, { tools: [] })
  const call = callOf(await launched(), [{ say: 'Plainly.' }])
  expect(await work.perform(callerOf(), call, awakeable(), signal)).toMatchObject({
    kind: 'success',
    output: { text: 'Plainly.' },
  })
  await api('PATCH', `/agents/${slug}`, { skills: ['errand'] })
  const skilled = await begin(callOf(await launched(), [{ tools: [{ name: 'search_skills', input: {} }] }]))
  expect((await ends(skilled)).status).toBe('completed')
  const { rows } = { rows: await runOf(skilled) }
  expect(rows.kind).toBe('step')
})
