import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEngineClient } from '#machinery/engine/client.ts'
import type { EngineClient } from '#platform/engine-client.ts'
import { startReconcilers } from '#platform/reconcile.ts'
import { executionReconcilers } from '#running/executions/reconcile.ts'
import { claimWork } from '#running/executions/store.ts'
import { runReconcilers } from '#running/runs/reconcile.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { installErrand, runErrand } from '../../../../test/support/executions.ts'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { patienceFor } from '../../../../test/support/sizes.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { awakeableId, type Ingress, invocationId, openIngress, takes } from '../support/ingress.ts'
import { runParts } from '../support/runs.ts'

const nap = definitionOf('nap', [{ type: 'sleep', id: 's', duration: 60_000 }])
/** What the engine was asked and neither answered nor was given up. */
const unanswered = new Set<string>()
const hangs: Parameters<Ingress['behave']>[0] = ({ path }, response) => {
  unanswered.add(path)
  response.once('close', () => unanswered.delete(path))
}
const isUnanswered = (...words: string[]) =>
  [...unanswered].some((path) => words.every((word) => path.includes(word)))

let ingress: Ingress
let house: House

beforeAll(async () => {
  ingress = await openIngress()
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
  })
})

afterAll(async () => {
  await house?.close()
  await ingress?.close()
})

async function newRunner(): Promise<Person> {
  const person = await house.newPerson()
  await installErrand(house, person)
  return person
}

/** The execution that a worker has, as far as the record goes. */
async function taken(person: Person): Promise<number> {
  const answer = await runErrand(house, person, 'Go.')
  expect(answer.status, answer.text).toBe(200)
  const { db } = house.deps.database
  const { id } = await db
    .selectFrom('executions')
    .select('id')
    .where('execution_id', '=', answer.body.executionId)
    .executeTakeFirstOrThrow()
  await claimWork(db, id, 'somewhere')
  return id
}

const change = (id: number, to: Record<string, unknown>) =>
  house.deps.database.db.updateTable('executions').set(to).where('id', '=', id).execute()

test('every call to an engine that hangs comes to an end', async () => {
  const silent = await openIngress()
  silent.behave(hangs)
  const client = createEngineClient(silent.url, silent.url)
  const runId = `run_${randomUUID()}`
  const calls: { [Name in keyof EngineClient]: Parameters<EngineClient[Name]> } = {
    runExecution: [{ executionRowId: 1, attempt: 1, offer: 0 }],
    carryThread: [{ threadRowId: 1, runId: randomUUID(), segment: 0, offer: 0 }],
    launchRun: [runId],
    answerRun: [runId, { key: 'k', resumeId: 'r' }],
    cancelRun: [runId, invocationId],
    resolveAwakeable: [awakeableId],
    listPaused: [1],
    resumePaused: [invocationId],
    endPaused: [invocationId],
    isAnswering: [],
    check: [],
  }
  expect(Object.keys(client).sort()).toEqual(Object.keys(calls).sort())
  const begun = performance.now()
  const ends = Object.entries(calls).map(async ([name, args]) => {
    const call = client[name as keyof EngineClient] as (...args: unknown[]) => Promise<unknown>
    const outcome = await call(...args).catch((error: Error) => error)
    return { name, outcome, tookMs: performance.now() - begun }
  })
  const late = new Promise<never>((_resolve, reject) =>
    setTimeout(() => reject(new Error('a call has no deadline')), patienceFor(12_000)).unref(),
  )
  const ended = await Promise.race([Promise.all(ends), late])
  expect(silent.asked.length).toBeGreaterThanOrEqual(ended.length)
  for (const { name, outcome } of ended) {
    if (name === 'check') expect(outcome).toEqual({ engine: false, workers: false })
    else if (name === 'isAnswering') expect(outcome).toBe(false)
    else expect(outcome, name).toBeInstanceOf(Error)
  }
  await silent.close()
})

describe('while the engine hangs', () => {
  test('what is due ends, whatever else waits for the engine', async () => {
    ingress.behave(takes)
    const people = await Promise.all(Array.from({ length: 4 }, newRunner))
    const [lost = 0, overdue = 0, ...awaited] = await Promise.all(people.map(taken))
    const [canceler] = people
    const runs = runsOf(house, canceler as Person)
    await runs.install('nap', nap)
    const leaving = await Promise.all(Array.from({ length: 12 }, () => runs.start('nap')))
    ingress.behave(hangs)
    const long = new Date(Date.now() - 70 * 60_000).toISOString()
    const { db } = house.deps.database
    for (const id of awaited) await change(id, { status: 'completed', awakeable_id: awakeableId })
    await db
      .updateTable('workflow_runs')
      .set({ status: 'canceled', ended_at: new Date(Date.now() - 5000).toISOString() })
      .where('run_id', 'in', leaving)
      .execute()
    await until(() => house.deps.database.steadyMs > 5000, 10_000)
    const parts = { ...house.deps, bus: house.bus }
    const reconciling = startReconcilers(house.deps, [
      ...executionReconcilers(parts),
      ...runReconcilers(runParts(house)),
    ])
    // By now every part that asks the engine waits for it.
    await until(
      () => ['cancel', 'resolve'].every((word) => ingress.asked.some(({ path }) => path.includes(word))),
      5000,
    )
    await change(lost, { lease_until: new Date(Date.now() - 1).toISOString(), cost_milli_ds: 1 })
    await change(overdue, { started_at: long })
    const begun = performance.now()
    const codes = () =>
      db.selectFrom('executions').select('error_code').where('id', 'in', [lost, overdue]).execute()
    await until(async () => (await codes()).every(({ error_code }) => error_code !== null), 20_000)
    const tookMs = performance.now() - begun
    reconciling.stop()
    expect((await codes()).map(({ error_code }) => error_code).sort()).toEqual([
      'EXECUTION_TIMEOUT',
      'SANDBOX_LOST',
    ])
    expectWithin(tookMs, 4000)
  })

  test('a cancel is answered by the row, and the engine is told beside it', async () => {
    ingress.behave(takes)
    const person = await newRunner()
    const runs = runsOf(house, person)
    await runs.install('nap', nap)
    const runIds = await Promise.all(Array.from({ length: 4 }, () => runs.start('nap')))
    ingress.behave(hangs)
    const begun = performance.now()
    // Each answer is there while the engine has not said a word about it, nor been given up.
    for (const runId of runIds) {
      expect((await runs.cancel(runId)).status).toBe(200)
      await until(() => isUnanswered(runId, 'cancel'), 1000)
    }
    expectWithin(performance.now() - begun, 1000)
    for (const runId of runIds) expect((await runs.get(runId)).body.run.status).toBe('canceled')
  })

  test('an execution ends without waiting for the next one to be handed over', async () => {
    ingress.behave(takes)
    const person = await newRunner()
    await taken(person)
    const prepared = await house.call('POST', '/api/v1/executions', {
      token: person.token,
      body: { skill_slug: 'errand', input: 'Next.' },
    })
    const queued = await house.call('POST', `/api/v1/executions/${prepared.body.id}/events`, {
      token: person.token,
      body: {
        events: [{ type: 'user.message', content: [{ type: 'text', text: 'Next.' }] }],
        ifBusy: 'queue',
      },
    })
    expect(queued.status, queued.text).toBe(200)
    ingress.behave(hangs)
    const { items } = (await house.call('GET', '/api/v1/executions', { token: person.token })).body
    const working = items.find(({ status }: { status: string }) => status === 'working')
    await change(working.id, { worker_id: null })
    const begun = performance.now()
    const canceled = await house.call('POST', `/api/v1/executions/${working.executionId}/cancel`, {
      token: person.token,
    })
    expect(canceled.body.success, canceled.text).toBe(true)
    expectWithin(performance.now() - begun, 900)
    await until(async () => {
      const { body } = await house.call('GET', '/api/v1/executions', { token: person.token })
      return body.items[0].status === 'working'
    }, 3000)
  })
})
