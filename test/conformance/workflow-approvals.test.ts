import { describe, expect, test } from 'vitest'
import {
  addMember,
  inWorkspace,
  type Key,
  must,
  newKey,
  newPerson,
  newWorkspace,
  type Person,
} from './support/actors.ts'
import type { Caller } from './support/client.ts'
import { errand, installSkill, quick, readLog, type Started, stopReasonOf } from './support/executions.ts'
import { expectRefusal } from './support/shapes.ts'
import {
  ask,
  cancel,
  flow,
  getRun,
  type Launched,
  mapping,
  mustInstall,
  question,
  resume,
  runThrough,
  settled,
  tool,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

interface Item {
  id: string
  kind: string
  status: string
  workspace: { id: string }
  key: { id: number } | null
  workflow?: { runId: string; workflowId: string; stepId: string; payload: unknown }
  budget?: { executionId: string; limit: number }
}

async function inbox(person: Person, query: string): Promise<Item[]> {
  return must(await person.get<{ items: Item[] }>(`/approvals?${query}`), 200).items
}

async function onlyItem(person: Person, query: string): Promise<Item> {
  // A run that waits is shown as waiting a moment before its question is.
  await expect.poll(() => inbox(person, query), { timeout: 10_000, interval: 500 }).not.toEqual([])
  const [item, ...others] = await inbox(person, query)
  if (!item || others.length > 0) throw new Error(`Not one item: ${JSON.stringify([item, ...others])}`)
  return item
}

function decide(person: Person, { id }: Item, how: 'approve' | 'deny', body?: unknown) {
  return person.post(`/approvals/${id}/${how}`, body)
}

/** The first one's, with the second one in it. */
async function newTeam(owner: Person, member: Person): Promise<string> {
  const { id } = await newWorkspace(owner)
  await addMember(owner, id, member)
  return id
}

describe('a step that waits for somebody', () => {
  test('is shown to every member, and whoever decides first has decided', async () => {
    verifies('approvals:workflow:any-member')
    const owner = await newPerson()
    const member = await newPerson()
    const workspaceId = await newTeam(owner, member)
    await mustInstall(owner, flow([question, ask]), 'flow', inWorkspace(workspaceId))
    const launched = await owner.post<Launched>('/workflows/flow/launch', {}, inWorkspace(workspaceId))
    const { runId } = must(launched, 201)
    await expect
      .poll(() => inbox(member, 'kind=workflow'), { timeout: 10_000, interval: 500 })
      .toHaveLength(1)
    const item = await onlyItem(member, 'status=pending')
    expect(item).toMatchObject({
      kind: 'workflow',
      workspace: { id: workspaceId },
      workflow: {
        runId,
        workflowId: `${workspaceId}:flow`,
        stepId: 'ask',
        payload: { kind: 'question', question: 'Go on?' },
      },
    })
    expect(await inbox(owner, 'kind=workflow')).toEqual([item])
    expectRefusal(await decide(await newPerson(), item, 'approve'), 404, 'NOT_FOUND')
    expectRefusal(await decide(member, item, 'approve', { resumeData: 5 }), 400, 'INVALID_INPUT')
    must(await decide(member, item, 'approve', { resumeData: 'yes' }), 200)
    expectRefusal(await decide(owner, item, 'approve', { resumeData: 'no' }), 409, 'CONFLICT')
    const ended = () =>
      owner.get<{ run: { status: string } }>(`/workflows/runs/${runId}`, inWorkspace(workspaceId))
    await expect
      .poll(async () => (await ended()).body.run, { timeout: 10_000, interval: 500 })
      .toMatchObject({ status: 'success', snapshot: { result: { answer: 'yes' } } })
    expect((await onlyItem(owner, 'kind=workflow')).status).toBe('granted')
  })

  test('is told of a refusal, if it asked for leave', async () => {
    verifies('approvals:workflow:deny')
    const person = await newPerson()
    const leave = [mapping({ action: { value: 'Publish' } }), tool('request-approval')]
    const { run } = await runThrough(person, leave)
    const item = await onlyItem(person, 'kind=workflow')
    must(await decide(person, item, 'deny', { reason: 'Too soon' }), 200)
    const { run: after } = await settled(person, run.runId)
    expect(after.snapshot.result).toEqual({ approved: false, note: 'Too soon' })
    expect((await onlyItem(person, 'kind=workflow')).status).toBe('denied')
    const asking = await runThrough(person, [question, ask])
    const asked = await onlyItem(person, 'status=pending')
    expectRefusal(await decide(person, asked, 'deny'), 400, 'INVALID_INPUT')
    expect((await getRun(person, asking.run.runId)).run.status).toBe('suspended')
  })

  test('leaves the inbox with its run', async () => {
    verifies('approvals:workflow:closed-by-run')
    const person = await newPerson()
    const answered = await runThrough(person, [question, ask])
    const first = await onlyItem(person, 'kind=workflow')
    must(await resume(person, answered.run.runId, { resumeData: 'yes' }), 200)
    expect((await onlyItem(person, 'kind=workflow')).status).toBe('granted')
    expectRefusal(await decide(person, first, 'approve', { resumeData: 'no' }), 409, 'CONFLICT')
    const canceled = await runThrough(person, [question, ask])
    const second = await onlyItem(person, 'status=pending')
    must(await cancel(person, canceled.run.runId), 200)
    expect(await inbox(person, 'status=pending')).toEqual([])
    expectRefusal(await decide(person, second, 'approve', { resumeData: 'no' }), 409, 'CONFLICT')
  })
})

test('a key that reaches its limit has its owner asked for more', async () => {
  verifies('approvals:budget:raises-limit')
  const owner = await newPerson()
  const member = await newPerson()
  const workspaceId = await newTeam(owner, member)
  const team = inWorkspace(workspaceId)
  await installSkill(owner, errand, team)
  const key = await newKey(owner, { spendLimit: 0.01 }, team)
  const other = await newKey(owner, { spendLimit: 0.01 }, team)
  const runOut = async (key: Caller) => {
    const { executionId } = must(await key.post<Started>(`/skills/${errand}/run`, { input: quick }), 200)
    expect(stopReasonOf(await readLog(key, executionId))).toEqual({
      type: 'limit_reached',
      code: 'KEY_SPEND_LIMIT',
    })
    return executionId
  }
  const limitOf = async (key: Key) => {
    const keys = must(await owner.get<{ id: number; spend: { limit: number } }[]>('/keys'), 200)
    return keys.find(({ id }) => id === key.id)?.spend.limit
  }
  const executionId = await runOut(key)
  await runOut(key)
  const item = await onlyItem(owner, 'kind=budget')
  expect(item).toMatchObject({
    status: 'pending',
    workspace: { id: workspaceId },
    key: { id: key.id },
    budget: { executionId, limit: 0.01 },
  })
  expect(await inbox(member, 'kind=budget')).toEqual([])
  expectRefusal(await decide(member, item, 'approve'), 404, 'NOT_FOUND')
  must(await decide(owner, item, 'deny', { reason: 'Not now' }), 200)
  expect(await limitOf(key)).toBe(0.01)
  await runOut(key)
  const again = await onlyItem(owner, 'kind=budget&status=pending')
  must(await decide(owner, again, 'approve', { amount: 100 }), 200)
  expectRefusal(await decide(owner, again, 'approve', { amount: 100 }), 409, 'CONFLICT')
  expect(await limitOf(key)).toBe(100.01)
  await runOut(other)
  must(await decide(owner, await onlyItem(owner, 'kind=budget&status=pending'), 'approve'), 200)
  expect(await limitOf(other)).toBe(50.01)
  const started = must(await key.post<Started>(`/skills/${errand}/run`, { input: quick }), 200)
  expect(stopReasonOf(await readLog(key, started.executionId))).toEqual({ type: 'end_turn' })
})
