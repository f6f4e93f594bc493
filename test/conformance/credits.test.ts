import { describe, expect, test } from 'vitest'
import { must, newKey, type Person } from './support/actors.ts'
import type { Caller } from './support/client.ts'
import {
  bash,
  broken,
  cancel,
  itemOf,
  lasting,
  list,
  message,
  mustRun,
  newRunner,
  only,
  post,
  prepare,
  quick,
  rerun,
  run,
  runThrough,
  script,
  statusOf,
  stopReasonOf,
} from './support/executions.ts'
import { expectFlatRefusal, expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

interface Account {
  balance: number
  availableBalance: number
  reserved: number
  minimumRequired: number
  limits: { maxCost: number }
}

async function account(caller: Caller): Promise<Account> {
  return must(await caller.get<Account>('/billing'), 200)
}

/** In Ds, found out by a run, so that nothing hangs on what this deployment asks for its models. */
async function priceOfInputToken(person: Person): Promise<number> {
  const input = script({ say: 'Measured.', usage: { input: 100_000, output: 0 } })
  const { executionId } = await runThrough(person, input)
  return (await statusOf(person, executionId)).cost / 100_000
}

/** What a run costs is what its model says it used. */
async function spendDown(person: Person, price: number, leave: number): Promise<void> {
  for (;;) {
    const { balance, limits } = await account(person)
    if (balance <= leave) return
    const input = Math.floor(Math.min(limits.maxCost, balance - leave) / price)
    await runThrough(person, script({ say: 'Expensive.', usage: { input, output: 0 } }))
  }
}

describe('what an execution costs', () => {
  test('is told by its result and by the list, and taken from the account', async () => {
    verifies('billing:execution:costs-credits')
    const person = await newRunner()
    const before = await account(person)
    const { executionId, log } = await runThrough(
      person,
      script({ tools: [bash('true')], usage: { input: 1000, output: 100 } }, { say: 'Done.' }),
    )
    const { cost } = await itemOf(person, executionId)
    expect(cost).toBeGreaterThan(0)
    expect(only(log, 'execution.result').map(({ payload }) => payload['cost'])).toEqual([cost])
    const after = await account(person)
    expect(after.balance).toBeCloseTo(before.balance - cost, 6)
    expect(after).toMatchObject({ reserved: 0, availableBalance: after.balance })
  })

  test('is set aside while it works, and what is not used comes back', async () => {
    verifies('billing:execution:costs-credits')
    const person = await newRunner()
    const before = await account(person)
    const executionId = await mustRun(person, lasting, { maxCost: 120 })
    expect(await account(person)).toMatchObject({
      reserved: 120,
      availableBalance: before.availableBalance - 120,
    })
    await cancel(person, executionId)
    const { cost } = await statusOf(person, executionId)
    const after = await account(person)
    expect(after.reserved).toBe(0)
    expect(after.availableBalance).toBeCloseTo(before.availableBalance - cost, 6)
  })
})

describe('a run that may cost so much', () => {
  test.each([
    ['its own limit', 100],
    ['the most a run may cost here', undefined],
  ])('ends when %s is reached', async (_limit, maxCost) => {
    verifies('executions:state:working-to-failed-limit', 'events:stop:limit-reached')
    const person = await newRunner()
    const most = maxCost ?? (await account(person)).limits.maxCost
    const price = await priceOfInputToken(person)
    const step = {
      say: 'More.',
      tools: [bash('true')],
      usage: { input: Math.floor((most * 0.45) / price), output: 0 },
    }
    const before = await account(person)
    const input = script(...Array.from({ length: 10 }, () => step))
    const { executionId, log } = await runThrough(person, input, maxCost ? { maxCost } : {})
    expect(stopReasonOf(log)).toEqual({ type: 'limit_reached' })
    const { status, stopReason, cost } = await statusOf(person, executionId)
    expect({ status, stopReason }).toEqual({ status: 'failed', stopReason: 'limit_reached' })
    expect(cost).toBeLessThanOrEqual(most)
    expect(cost).toBeGreaterThan(most * 0.4)
    expect(only(log, 'span.model_request_end').length).toBeLessThan(4)
    expect((await account(person)).balance).toBeCloseTo(before.balance - cost, 6)
  })
})

test('somebody with less than 50 Ds starts nothing', { timeout: 120_000 }, async () => {
  verifies(
    'billing:minimum:50-ds',
    'billing:key-limit:refusal',
    'errors:run:insufficient-credits-numbers',
    'errors:run:flat-shape',
    'executions:errors:codes',
  )
  // Of somebody else's money: every start counts for the rate of a person.
  const price = await priceOfInputToken(await newRunner())
  const person = await newRunner()
  const earlier = await runThrough(person, broken)
  const idle = await prepare(person)
  await spendDown(person, price, 50)
  expect((await account(person)).availableBalance).toBe(50)
  await spendDown(person, price, 49)
  const before = await list(person)
  const numbers = { balance: 49, availableBalance: 49, minimumRequired: 50 }
  const refused = expectFlatRefusal(await run(person, quick), 402, 'INSUFFICIENT_CREDITS')
  expect(refused).toMatchObject(numbers)
  expect(refused).not.toHaveProperty('keyLimit')
  for (const start of [
    () => rerun(person, earlier.executionId, quick),
    () => post(person, idle, message(quick)),
  ]) {
    const { details } = expectRefusal(await start(), 402, 'INSUFFICIENT_CREDITS')
    expect(details).toMatchObject(numbers)
  }
  expect(await list(person)).toEqual(before)
  expect(await account(person)).toMatchObject({ balance: 49, reserved: 0 })
})

test('a start is refused for its input before its credits, and for its credits before the slot', async () => {
  verifies('executions:errors:codes', 'errors:run:flat-shape')
  const person = await newRunner()
  const busy = await mustRun(person, lasting)
  expectFlatRefusal(await run(person, 5), 400, 'INVALID_INPUT')
  const key = await newKey(person, { spendLimit: 0 })
  expectFlatRefusal(await run(key, quick), 402, 'INSUFFICIENT_CREDITS')
  expectFlatRefusal(await run(person, quick), 429, 'EXECUTION_RUNNING')
  await cancel(person, busy)
})

test('a key that has spent what it may is told how much that was', async () => {
  verifies('billing:key-limit:refusal')
  const person = await newRunner()
  const { executionId } = await runThrough(person, quick)
  const key = await newKey(person)
  const own = await runThrough(key, script({ say: 'Paid.', usage: { input: 1000, output: 0 } }))
  const idle = await prepare(key)
  const { cost } = await statusOf(key, own.executionId)
  must(await person.patch(`/keys/${key.id}`, { spendLimit: cost }), 200)
  const keyLimit = { limit: cost, spent: cost, remaining: 0 }
  expect(expectFlatRefusal(await run(key, quick), 402, 'INSUFFICIENT_CREDITS')).toMatchObject({ keyLimit })
  for (const start of [() => rerun(key, executionId, quick), () => post(key, idle, message(quick))]) {
    expect(expectRefusal(await start(), 402, 'INSUFFICIENT_CREDITS').details).toMatchObject({ keyLimit })
  }
})
