import { describe, expect, test } from 'vitest'
import { inWorkspace, must, newKey, newPerson, newVisitor, newWorkspace } from './support/actors.ts'
import {
  bash,
  broken,
  cancel,
  installSkill,
  lasting,
  message,
  mustRun,
  newRunner,
  post,
  prepare,
  quick,
  readLog,
  rerun,
  script,
  seen,
  statusOf,
} from './support/executions.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import {
  append,
  continuationOf,
  listTraces,
  newIdleTrace,
  newTrace,
  said,
  traceIdOf,
  traceOf,
} from './support/traces.ts'
import { verifies } from './verifies.ts'

describe('the record of a trace', () => {
  test('tells what ran, who had it run and what came of it', async () => {
    verifies(
      'traces:record:fields',
      'traces:record:target-union',
      'traces:record:kind-enum',
      'traces:list:answer',
      'traces:get:same-projection',
    )
    const person = await newRunner()
    const { id, executionId } = await newTrace(person)
    const { items, nextCursor } = await listTraces(person)
    expect(nextCursor).toBeNull()
    expect(items).toHaveLength(1)
    expect(items[0]).toEqual({
      id,
      kind: 'execution',
      title: expect.stringMatching(/./),
      status: 'completed',
      actor: { userId: person.userId, apiKeyId: null, agentSlug: null },
      target: { kind: 'execution', executionId },
      totalCost: expect.any(Number),
      ownCost: expect.any(Number),
      startedAt: expect.stringMatching(isoPattern),
      lastActivityAt: expect.stringMatching(isoPattern),
      traceKey: expect.stringMatching(/./),
      parentTraceId: null,
      lastSeq: expect.any(Number),
      holder: null,
    })
    expect(await traceOf(person, id)).toEqual(items[0])
  })

  test('is running, completed or failed as its execution is', async () => {
    verifies('traces:record:status-values', 'traces:list:filter-status')
    const person = await newRunner()
    const { id: done } = await newTrace(person)
    const { id: failed } = await newTrace(person, broken)
    const working = await mustRun(person, lasting)
    const running = await traceIdOf(person, working)
    for (const [status, id] of Object.entries({ completed: done, failed, running })) {
      expect((await traceOf(person, id)).status).toBe(status)
      expect((await listTraces(person, `?status=${status}`)).items.map((item) => item.id)).toEqual([id])
    }
    expect((await listTraces(person, '?status=never-was')).items).toEqual([])
    await cancel(person, working)
    expect((await traceOf(person, running)).status).toBe('failed')
  })

  test('names the key, and the agent as it calls itself', async () => {
    verifies('traces:record:actor', 'traces:list:filter-api-key', 'traces:list:filter-agent')
    const person = await newRunner()
    const [one, other] = [await newKey(person), await newKey(person)]
    const { id: bySession } = await newTrace(person)
    const { id: byKey } = await newTrace(person, quick, one)
    const named = await prepare(other, {}, { headers: { 'x-agent-slug': 'night-owl' } })
    const byAgent = await traceIdOf(person, named)
    const odd = await traceIdOf(
      person,
      await prepare(other, {}, { headers: { 'x-agent-slug': 'Not A Slug' } }),
    )
    expect((await traceOf(person, bySession)).actor).toEqual({
      userId: person.userId,
      apiKeyId: null,
      agentSlug: null,
    })
    expect((await traceOf(person, byKey)).actor.apiKeyId).toBe(one.id)
    expect((await traceOf(person, byAgent)).actor).toEqual({
      userId: person.userId,
      apiKeyId: other.id,
      agentSlug: 'night-owl',
    })
    expect((await traceOf(person, odd)).actor.agentSlug).toBeNull()
    const ids = async (query: string) => (await listTraces(person, query)).items.map((item) => item.id)
    expect(await ids(`?apiKey=${one.id}`)).toEqual([byKey])
    expect((await ids(`?apiKey=${other.id}`)).sort()).toEqual([byAgent, odd].sort())
    expect(await ids('?apiKey=999999999')).toEqual([])
    expect(await ids('?agent=night-owl')).toEqual([byAgent])
    expect(await ids('?agent=nobody')).toEqual([])
    expect(await ids(`?agent=night-owl&apiKey=${one.id}`)).toEqual([])
    const all = `?agent=night-owl&apiKey=${other.id}&kind=execution&status=idle`
    expect(await ids(all)).toEqual([byAgent])
  })

  test('takes the name that comes with a start', async () => {
    verifies('traces:list:filter-agent')
    const person = await newRunner()
    const started = await prepare(person)
    const options = { headers: { 'x-agent-slug': 'starter' } }
    const body = { events: [message(quick)] }
    must(await person.post(`/executions/${started}/events`, body, options), 200)
    await readLog(person, started)
    const again = must(
      await person.post<{ executionId: string }>(`/executions/${started}/rerun`, { input: quick }, options),
      200,
    )
    await readLog(person, again.executionId)
    const run = await mustRun(person, quick, {}, options)
    await readLog(person, run)
    const ids = await Promise.all([started, again.executionId, run].map((id) => traceIdOf(person, id)))
    const { items } = await listTraces(person, '?agent=starter')
    expect(items.map((item) => item.id).sort()).toEqual(ids.sort())
  })
})

describe('what a lineage costs', () => {
  const costly = (tokens: number) => script({ say: 'Worked.', usage: { input: tokens, output: tokens } })

  test('adds up over runs, reruns and continuations, and is the same on all its traces', async () => {
    verifies('traces:cost:accumulates', 'traces:lineage:rerun-inherits')
    const person = await newRunner()
    const first = await newTrace(person, costly(4000))
    const again = must(await rerun(person, first.executionId, costly(8000)), 200).executionId
    await readLog(person, again)
    const rerunTrace = await traceIdOf(person, again)
    const { continueWith } = await continuationOf(person, first.id)
    const next = must(await person.post<{ id: string }>('/executions', continueWith.body), 200).id
    must(await post(person, next, message(costly(2000))), 200)
    await readLog(person, next)
    const costs = await Promise.all(
      [first.executionId, again, next].map(async (id) => (await statusOf(person, id)).cost),
    )
    expect(Math.min(...costs)).toBeGreaterThan(0)
    const sum = costs.reduce((total, cost) => total + cost, 0)
    const traces = [await traceOf(person, first.id), await traceOf(person, rerunTrace)]
    expect(traces.map(({ traceKey }) => traceKey)).toEqual([traces[0]?.traceKey, traces[0]?.traceKey])
    for (const { totalCost } of traces) expect(totalCost).toBeCloseTo(sum, 6)
    expect(traces.map(({ ownCost }) => ownCost).reduce((a, b) => a + b)).toBeCloseTo(sum, 6)
    expect(traces[1]?.parentTraceId).toBe(first.id)
  })

  test('never falls, whatever ends and is appended', async () => {
    verifies('traces:cost:never-decreases')
    const person = await newRunner()
    const input = script(
      { usage: { input: 5000, output: 500 }, tools: [bash('sleep 60')] },
      { say: 'Never.' },
    )
    const executionId = await mustRun(person, input)
    const id = await traceIdOf(person, executionId)
    let last = 0
    const look = async () => {
      const { totalCost } = await traceOf(person, id)
      expect(totalCost).toBeGreaterThanOrEqual(last)
      last = totalCost
    }
    await look()
    await seen(person, executionId, 'agent.tool_use')
    while (last === 0) await look()
    const used = last
    await cancel(person, executionId)
    await look()
    must(await append(person, id, [said('What happened?')]), 201)
    await look()
    expect(last).toBe(used)
  })

  test('begins anew with a remix', async () => {
    verifies('traces:lineage:remix-fresh')
    const person = await newRunner()
    const { id, executionId } = await newTrace(person)
    const remix = await traceOf(
      person,
      await traceIdOf(person, await prepare(person, { remixOf: executionId })),
    )
    expect(remix.traceKey).not.toBe((await traceOf(person, id)).traceKey)
    expect(remix.parentTraceId).toBe(id)
    expect(remix.totalCost).toBe(0)
  })
})

describe('the list of traces', () => {
  test('takes one kind, and refuses what is none', async () => {
    verifies('traces:list:filter-kind')
    const person = await newRunner()
    const id = await newIdleTrace(person)
    expect((await listTraces(person, '?kind=execution')).items.map((item) => item.id)).toEqual([id])
    expect((await listTraces(person, '?kind=chat')).items).toEqual([])
    expectRefusal(await person.get('/traces?kind=dream'), 400, 'INVALID_INPUT')
  })

  test('takes bounds over the last activity', async () => {
    verifies('traces:list:since-inclusive', 'traces:list:until-exclusive', 'traces:list:date-formats')
    const person = await newRunner()
    const [early, late] = [await newIdleTrace(person), await newIdleTrace(person)]
    const { lastActivityAt } = await traceOf(person, late)
    const ids = async (query: Record<string, string>) =>
      (await listTraces(person, `?${new URLSearchParams(query)}`)).items.map((item) => item.id)
    const justAfter = new Date(Date.parse(lastActivityAt) + 1).toISOString()
    expect(await ids({ since: lastActivityAt })).toEqual([late])
    expect(await ids({ since: justAfter })).toEqual([])
    expect(await ids({ until: lastActivityAt })).toEqual([early])
    expect(await ids({ until: justAfter })).toEqual([late, early])
    expect(await ids({ since: '2026-01-01' })).toEqual([late, early])
    expect(await ids({ until: '2026-01-01' })).toEqual([])
    expect(await ids({ since: lastActivityAt.replace('Z', '+00:00') })).toEqual([late])
    for (const name of ['since', 'until']) {
      expectRefusal(await person.get(`/traces?${name}=yesterday`), 400, 'INVALID_INPUT')
      expectRefusal(await person.get(`/traces?${name}=2026-02-30`), 400, 'INVALID_INPUT')
    }
  })

  test('gives fifty at a time unless told otherwise, and never refuses a number', async () => {
    verifies('traces:list:limit-default-50', 'traces:list:limit-clamped', 'traces:list:last-page-cursor')
    const person = await newRunner()
    for (let made = 0; made < 51; made++) await prepare(person)
    const first = await listTraces(person)
    expect(first.items).toHaveLength(50)
    expect(first.nextCursor).toEqual(expect.any(String))
    const rest = await listTraces(person, `?cursor=${first.nextCursor}`)
    expect(rest.items).toHaveLength(1)
    expect(rest.nextCursor).toBeNull()
    expect((await listTraces(person, '?limit=0')).items).toHaveLength(1)
    expect((await listTraces(person, '?limit=-5')).items).toHaveLength(1)
    expect((await listTraces(person, '?limit=1000')).items).toHaveLength(51)
    expectRefusal(await person.get('/traces?limit=many'), 400, 'INVALID_INPUT')
  })

  test('walks to the end by cursor, past whatever comes in meanwhile', async () => {
    verifies('traces:list:cursor-keyset')
    const person = await newRunner()
    const older: string[] = []
    for (let made = 0; made < 8; made++) older.unshift(await newIdleTrace(person))
    const walked: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page = await listTraces(person, `?limit=1${cursor && `&cursor=${cursor}`}`)
      walked.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
      await prepare(person)
    }
    expect(walked).toEqual(older)
    expectRefusal(await person.get('/traces?cursor=nonsense'), 400, 'INVALID_INPUT')
  })

  test('shows the traces of its own workspace', async () => {
    verifies('traces:list:workspace-scoped')
    const person = await newRunner()
    const team = await newWorkspace(person)
    await installSkill(person, undefined, inWorkspace(team.id))
    await prepare(person)
    await prepare(person, {}, inWorkspace(team.id))
    const [own] = (await listTraces(person)).items
    const inTeam = (await listTraces(person, '', inWorkspace(team.id))).items
    expect(inTeam).toHaveLength(1)
    expect(inTeam[0]?.id).not.toBe(own?.id)
    expect((await listTraces(await newPerson())).items).toEqual([])
  })
})

test('the keys of receipts are there for everybody, public halves alone', async () => {
  const { keys } = must(
    await newVisitor().get<{ keys: unknown[] }>('root:/.well-known/guildhall-receipt-keys'),
    200,
  )
  expect(keys.length).toBeGreaterThan(0)
  for (const key of keys)
    expect(Object.keys(key as object).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
})
