import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** What chats set aside and spend, by the numbers of the ledger. A thousand tokens are one Ds here. */
let house: ChatHouse

beforeAll(async () => {
  house = await openChatHouse({ STARTING_CREDITS: '1000', CHAT_RUNS_PER_WORKSPACE: '30' })
})

afterAll(() => house?.close())

const eventually = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 60_000, interval: 50 })
const costing = (ds: number, step: Step): Step => ({ ...step, usage: { input: 0, output: ds * 1000 } })
const asking = (agent: string, ...steps: Step[]): Step => ({
  tools: [{ name: 'ask_agent', input: { agent, message: scripted(...steps) } }],
})

const accountOf = ({ userId }: Person) =>
  house.deps.database.db
    .selectFrom('credit_accounts')
    .selectAll()
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()

const runsOf = ({ workspaceId }: Person) =>
  house.deps.database.db
    .selectFrom('thread_runs')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('id')
    .execute()

async function tend(): Promise<void> {
  for (const { name, run } of house.reconcilers) if (name.includes('chats')) await run()
}

const allEnd = (person: Person) =>
  eventually(async () => {
    await tend()
    const runs = await runsOf(person)
    expect(runs.map(({ completed_at }) => completed_at)).not.toContain(null)
    return runs
  })

async function settled(person: Person): Promise<number> {
  const { sum } = await house.deps.database.db
    .selectFrom('ledger')
    .select((e) => e.fn.sum<number>('amount_milli_ds').as('sum'))
    .where('user_id', '=', person.userId)
    .where('kind', '=', 'settle')
    .executeTakeFirstOrThrow()
  return Number(sum)
}

test('ten chats start beside each other with a thousand Ds, and none sets aside what it may never need', async () => {
  const person = await house.newPerson()
  const steps = [costing(1, { say: 'Cheap.', delayMs: 300 })]
  const sent = await Promise.all(
    Array.from({ length: 10 }, (_, n) => house.send(person, `side-${n}`, scripted(...steps))),
  )
  expect(sent.map(({ status, body }) => [status, body.delivery])).toEqual(
    Array.from({ length: 10 }, () => [202, 'woke']),
  )
  const runs = await allEnd(person)
  expect(runs.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'completed'))
  expect(await settled(person)).toBe(10_000)
  expect(await accountOf(person)).toMatchObject({ available_milli_ds: 990_000, reserved_milli_ds: 0 })
})

test('what a dear reply needs is set aside before it is asked for', async () => {
  const person = await house.newPerson()
  // Twice what a start sets aside: without more of it this could not be charged.
  await house.send(person, 'dear', scripted(costing(45, look), costing(90, look), { say: 'Dear.' }))
  const [run] = await allEnd(person)
  expect(run).toMatchObject({ error_code: null, stop_reason: 'end_turn', status: 'completed' })
  expect(run?.cost_milli_ds).toBeGreaterThanOrEqual(135_000)
  expect(await settled(person)).toBe(run?.cost_milli_ds)
  const entries = await house.deps.database.db
    .selectFrom('ledger')
    .select('kind')
    .where('user_id', '=', person.userId)
    .where('kind', '=', 'reserve')
    .execute()
  expect(entries.length).toBeGreaterThan(1)
})

test('twenty chats that want more than there is spend all of it and not a thousandth more', async () => {
  const person = await house.newPerson()
  const steps = Array.from({ length: 4 }, () => costing(40, { ...look, delayMs: 20 }))
  const sent = await Promise.all(
    Array.from({ length: 20 }, (_, n) => house.send(person, `much-${n}`, scripted(...steps))),
  )
  expect(sent.filter(({ status }) => status === 202).length).toBeGreaterThan(10)
  const runs = await allEnd(person)
  const account = await accountOf(person)
  const cost = runs.reduce((sum, { cost_milli_ds }) => sum + cost_milli_ds, 0)
  expect(await settled(person)).toBe(cost)
  expect(cost).toBeLessThanOrEqual(1_000_000)
  expect(account).toMatchObject({ reserved_milli_ds: 0, available_milli_ds: 1_000_000 - cost })
  // Those that came too late were told by what they were stopped.
  const stopped = runs.filter(({ status }) => status === 'failed')
  expect(stopped.map(({ stop_reason }) => stop_reason)).toEqual(stopped.map(() => 'limit_reached'))
})

test('a message of sixty Ds and all the agents that are asked for it cost no more than sixty', async () => {
  const person = await house.newPerson({ mode: 'basedmode' })
  const { token } = person
  await house.call('PATCH', '/api/v1/agents/assistant', { token, body: { tools: ['agents', 'workflows'] } })
  const helper = { slug: 'helper', name: 'Helper', instructions: 'Help.' }
  await house.call('POST', '/api/v1/agents', { token, body: helper })
  const ask = asking('helper', costing(25, { say: 'Mine.' }))
  const steps = [costing(5, ask), costing(5, ask), costing(5, ask), costing(5, { say: 'Done.' })]
  await house.send(person, 'sixty', scripted(...steps), { maxCost: 60 })
  const [first, ...asked] = await allEnd(person)
  expect(asked.length).toBeGreaterThanOrEqual(2)
  const total = await settled(person)
  expect(total).toBeLessThanOrEqual(60_000)
  // It was used, and not merely refused.
  expect(total).toBeGreaterThan(50_000)
  expect(total).toBe((first?.cost_milli_ds ?? 0) + (first?.delegated_milli_ds ?? 0))
})

test('a run whose key has reached its limit waits for a higher one and goes on after it', async () => {
  const person = await house.newPerson({ mode: 'basedmode' })
  const { secret, id: keyId } = await house.newKey(person, {
    access: 'declared',
    scopes: ['agent:message'],
    spendLimit: 30,
  })
  const message = scripted(costing(30, look), costing(10, look), costing(1, { say: 'After all.' }))
  const body = { resourceId: person.workspaceId, threadId: 'limited', message }
  const sent = await house.call('POST', '/api/v1/agents/assistant/send-message', { key: secret, body })
  expect(sent.status, sent.text).toBe(202)
  const waiting = await eventually(async () => {
    const [run] = await runsOf(person)
    expect(run?.status).toBe('waiting')
    return run
  })
  expect(await settled(person)).toBe(30_000)
  expect(await accountOf(person)).toMatchObject({ reserved_milli_ds: 0 })
  const approved = await house.call('POST', `/api/v1/approvals/${waiting?.wait_ref}/approve`, {
    token: person.token,
    body: { spend_limit: 100 },
  })
  expect(approved.status, approved.text).toBe(200)
  const [run] = await allEnd(person)
  expect(run).toMatchObject({ status: 'completed', cost_milli_ds: 41_000 })
  const key = await house.deps.database.db
    .selectFrom('api_keys')
    .select(['spent_milli_ds', 'reserved_milli_ds'])
    .where('id', '=', keyId)
    .executeTakeFirstOrThrow()
  expect(key).toEqual({ spent_milli_ds: 41_000, reserved_milli_ds: 0 })
})

const look: Step = { tools: [{ name: 'list_workflows', input: {} }] }
