import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ThreadCall } from '#platform/engine-client.ts'
import { threadReconcilers } from '#running/threads/reconcile.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { reconcileOnce } from '../support/reconcile.ts'
import { rejoin } from '../support/rejoin.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** Who may write as a run, whatever happened to whoever had it before. */
let house: ChatHouse
let person: Person
let call: ThreadCall

beforeAll(async () => {
  house = await openChatHouse()
})

afterAll(() => house?.close())

const never = () => new AbortController().signal
const db = () => house.deps.database.db
const reconcile = () => reconcileOnce(threadReconcilers({ ...house.deps, bus: house.bus }))
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString()
const run = () =>
  db().selectFrom('thread_runs').selectAll().where('run_id', '=', call.runId).executeTakeFirstOrThrow()
const change = (to: Record<string, unknown>) =>
  db().updateTable('thread_runs').set(to).where('run_id', '=', call.runId).execute()
const said = async () =>
  (
    await db()
      .selectFrom('thread_events')
      .selectAll()
      .where('thread_row_id', '=', call.threadRowId)
      .orderBy('sequence')
      .execute()
  ).map(({ type }) => type)

beforeEach(async () => {
  house.serve(false)
  person = await house.newPerson()
})

async function begin(...steps: Parameters<typeof scripted>): Promise<void> {
  const before = house.calls().length
  const sent = await house.send(person, 'fenced', scripted(...steps))
  expect(sent.status, sent.text).toBe(202)
  await until(() => house.calls().length > before, 5000)
  call = house.calls().at(-1) as ThreadCall
}

test('of two workers that are called for a segment, only the later one writes', async () => {
  await begin({ say: 'Once.', delayMs: 400 })
  const [frozen, other] = [house.newRunner(), house.newRunner()]
  const requests = house.endpoint.stats().requests
  const first = frozen.carry(call.threadRowId, call, never()).catch((error: Error) => error)
  await until(() => house.endpoint.stats().requests > requests, 5000)
  await other.carry(call.threadRowId, call, never())
  // Refused at its write; whether the run had ended by then says whether the engine is asked to call again.
  await first
  expect(await said()).toEqual(['user.message', 'run.started', 'agent.message', 'run.cost', 'run.finished'])
  expect(await run()).toMatchObject({ status: 'completed', steps: 1, attempt: expect.any(Number) })
})

test('a call that the engine gave up before it was begun takes nothing from anybody', async () => {
  await begin({ say: 'Hello.' })
  const given = new AbortController()
  given.abort(new Error('given up'))
  await expect(house.newRunner().carry(call.threadRowId, call, given.signal)).rejects.toThrow()
  expect((await run()).attempt).toBe(0)
  await house.newRunner().carry(call.threadRowId, call, never())
  // Called again for what is done, a worker finds nothing to do.
  await house.newRunner().carry(call.threadRowId, call, never())
  expect((await run()).status).toBe('completed')
  expect(await said()).toHaveLength(5)
})

test('an interrupt ends the run at once, and the worker that speaks stops', async () => {
  await begin({ say: 'Never heard.', delayMs: 60_000 })
  const requests = house.endpoint.stats().requests
  const work = house.newRunner().carry(call.threadRowId, call, never())
  await until(() => house.endpoint.stats().requests > requests, 5000)
  const begun = performance.now()
  const answer = await house.call('POST', '/api/v1/threads/fenced/interrupt', {
    token: person.token,
    body: {},
  })
  expect(answer.body).toMatchObject({ success: true, status: 'failed' })
  await work
  expectWithin(performance.now() - begun, 3000, 'the end', 60_000)
  expect((await said()).at(-1)).toBe('run.finished')
  const again = await house.call('POST', '/api/v1/threads/fenced/interrupt', {
    token: person.token,
    body: {},
  })
  expect(again.body).toEqual({ success: false, runId: null, status: null })
})

test('a worker that stops finishes its reply and leaves the rest to another', async () => {
  await begin({ say: 'First.', delayMs: 300 })
  const runner = house.newRunner()
  const requests = house.endpoint.stats().requests
  const work = runner.carry(call.threadRowId, call, never()).catch((error: Error) => error)
  await until(() => house.endpoint.stats().requests > requests, 5000)
  await house.send(person, 'fenced', scripted({ say: 'Second.' }))
  await runner.close(10_000)
  expect(await work).toBeInstanceOf(Error)
  expect((await run()).status).toBe('working')
  await expect(runner.carry(call.threadRowId, call, never())).rejects.toThrow()
  await house.newRunner().carry(call.threadRowId, call, never())
  expect((await said()).filter((type) => type === 'agent.message')).toHaveLength(2)
  expect((await run()).status).toBe('completed')
})

test('who lost the right to write is stopped before the next step', async () => {
  await begin({ say: 'One.', delayMs: 300 })
  const { secret, id } = await house.newKey(person)
  house.serve(true)
  const body = {
    resourceId: person.workspaceId,
    threadId: 'keyed',
    message: scripted({ say: 'Key.', delayMs: 5000 }),
  }
  const requests = house.endpoint.stats().requests
  const sent = await house.call('POST', '/api/v1/agents/assistant/send-message', { key: secret, body })
  expect(sent.status, sent.text).toBe(202)
  // A worker that begins once the key is revoked ends the run itself, and nothing is left to stop.
  await until(() => house.endpoint.stats().requests > requests, 5000)
  const revoked = await house.call('DELETE', `/api/v1/keys/${id}?stopRunning=true`, { token: person.token })
  expect(revoked.status, revoked.text).toBe(200)
  expect(revoked.body).toMatchObject({ stopped: 1, stoppedRuns: 1 })
  const { items } = (await house.call('GET', '/api/v1/threads/keyed/runs', { token: person.token })).body
  expect(items[0]).toMatchObject({ status: 'failed', stopReason: 'interrupt' })
  const key = await house.newKey(person)
  const queued = { ...body, threadId: 'fenced', message: 'Later' }
  expect(
    (await house.call('POST', '/api/v1/agents/assistant/send-message', { key: key.secret, body: queued }))
      .status,
  ).toBe(202)
  await house.call('DELETE', `/api/v1/keys/${key.id}`, { token: person.token })
  await house.newRunner().carry(call.threadRowId, call, never())
  await until(async () => (await said()).filter((type) => type === 'run.finished').length === 2, 5000)
  const runs = (await house.call('GET', '/api/v1/threads/fenced/runs', { token: person.token })).body.items
  expect(runs[0]).toMatchObject({ status: 'failed', errorCode: 'ACCESS_ENDED' })
})

test('what was not handed over is, what nobody took ends, what is silent is offered anew', async () => {
  const { ingress } = house
  await begin({ say: 'Hello.' })
  const count = () => house.calls().filter(({ runId }) => runId === call.runId).length
  await change({ sent_at: null, ready_at: ago(3) })
  await reconcile()
  expect(count()).toBe(2)
  await change({ touched_at: ago(16 * 60) })
  await reconcile()
  expect(house.calls().at(-1)).toMatchObject({ runId: call.runId, offer: 1 })
  await change({ ready_at: ago(11 * 60) })
  await reconcile()
  expect(await run()).toMatchObject({ status: 'failed', error_code: 'NO_WORKER' })
  expect(ingress.asked.length).toBeGreaterThan(0)
})

test('what somebody wrote before they were put out of the workspace is not gone on with when they are back', async () => {
  await begin({ say: 'One.' })
  await rejoin(db(), person)
  await house.newRunner().carry(call.threadRowId, call, never())
  expect(await run()).toMatchObject({ status: 'failed', error_code: 'ACCESS_ENDED', cost_milli_ds: 0 })
  await begin({ say: 'Anew.' })
  await house.newRunner().carry(call.threadRowId, call, never())
  expect((await run()).status).toBe('completed')
})
