import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StepWrite } from '#machinery/engine/drive.ts'
import { runReconcilers } from '#running/runs/reconcile.ts'
import { RunWriter } from '#running/runs/run-writer.ts'
import { claimQueued, findRunById, listSteps } from '#running/runs/store.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { definitionOf, type Runs, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import { isThereOnly, openIngress } from '../support/ingress.ts'
import { reconcileOnce } from '../support/reconcile.ts'
import { runParts } from '../support/runs.ts'

const asking = definitionOf('asking', [
  { type: 'mapping', id: 'm', mapConfig: '{"question":{"value":"Go?"}}' },
  { type: 'tool', id: 'ask', toolId: 'ask-human' },
])

let databaseUrl: string
let house: House
let person: Person
let runs: Runs
let places: House

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl, DEV_TOOLS: '1' })
  // In this one no run may advance, so that every launch waits and needs no engine.
  places = await openHouse({ DATABASE_URL: databaseUrl, DEV_TOOLS: '1', RUNS_PER_WORKSPACE: '0' })
  person = await house.newPerson()
  runs = runsOf(house, person)
  await runs.install('asking', asking)
})

afterAll(async () => {
  await places?.close()
  await house?.close()
})

const rowOf = (runId: string) => findRunById(house.deps.database.db, runId)
const update = (runId: string, change: Record<string, unknown>) =>
  house.deps.database.db.updateTable('workflow_runs').set(change).where('run_id', '=', runId).execute()

/** A run that the engine has, as far as the records go. */
async function driven(): Promise<string> {
  const answer = await runsOf(places, person).launch('asking')
  expect(answer.status, answer.text).toBe(201)
  await update(answer.body.runId, { queued_at: null, advancing: true, invocation_id: 'none' })
  return answer.body.runId
}

const question = {
  stepId: 'ask',
  index: 0,
  iteration: 0,
  key: 'ask:0:0',
  payload: { kind: 'question', question: 'Go?' },
  suspendedAt: 2,
}
const askingRecord = {
  status: 'suspended' as const,
  payload: {},
  startedAt: 1,
  suspendPayload: question.payload,
  suspendedAt: 2,
  metadata: { waiting: [question] },
}
const write = (revision: number, record: StepWrite['record'] = askingRecord): StepWrite => ({
  stepId: 'ask',
  position: [1],
  record,
  revision,
})

async function suspended(): Promise<string> {
  const runId = await driven()
  const writer = new RunWriter(house.deps.database)
  await writer.write({ runId, opened: 0, advancing: false, steps: [write(3)], status: 'suspended', pause: 1 })
  return runId
}

describe('launch', () => {
  test('without the engine: 503, and no run is made', async () => {
    const answer = await runs.launch('asking')
    expect(answer.status).toBe(503)
    expect(answer.body.error.code).toBe('SERVICE_UNAVAILABLE')
    const list = await house.call('GET', '/api/v1/workflows/runs', { token: person.token })
    expect(list.body.runs.filter(({ status }: { status: string }) => status === 'running')).toEqual([])
    const rows = await house.deps.database.db
      .selectFrom('workflow_runs')
      .select(['status', 'advancing'])
      .execute()
    expect(rows).toEqual([{ status: 'void', advancing: false }])
  })

  test('an Idempotency-Key whose launch was refused launches once the engine is there, and then once', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const ask = (of: House) =>
      of.call('POST', '/api/v1/workflows/asking/launch', { token: person.token, headers, body: {} })
    expect((await ask(house)).status).toBe(503)
    expect((await ask(house)).status).toBe(503)
    const launched = await ask(places)
    expect(launched.status).toBe(201)
    expect((await ask(places)).body).toEqual(launched.body)
  })

  test('an unknown workflow is 404, inputs that do not fit are 400 with issues', async () => {
    expect((await runs.launch('nothing')).status).toBe(404)
    const strict = { ...asking, id: 'strict', inputSchema: { type: 'object', required: ['name'] } }
    await runs.install('strict', strict)
    const answer = await runs.launch('strict', {})
    expect(answer.status).toBe(400)
    expect(answer.body.error.details.issues).toHaveLength(1)
  })

  test('a declared id of several workflows is 400 with the candidates', async () => {
    await runs.install('twin-a', { ...asking, id: 'twins' })
    await runs.install('twin-b', { ...asking, id: 'twins' })
    const answer = await runs.launch('twins')
    expect(answer.status).toBe(400)
    expect(answer.body.error.details.candidates).toEqual(['twin-a', 'twin-b'])
  })

  test('a launch that nobody confirmed is void after a minute, and gives its place back', async () => {
    const runId = await driven()
    await update(runId, { status: 'launching', invocation_id: null })
    await reconcileOnce(runReconcilers(runParts(house)))
    expect((await rowOf(runId))?.status).toBe('launching')
    await shiftClock(databaseUrl, 61)
    await reconcileOnce(runReconcilers(runParts(house)))
    await shiftClock(databaseUrl, 0)
    expect(await rowOf(runId)).toMatchObject({ status: 'void', advancing: false })
    expect((await runs.get(runId)).status).toBe(404)
  })
})

describe('places', () => {
  test('beyond the places a run waits: 201, running, shown as queued, first come first served', async () => {
    const owner = await house.newPerson()
    const waiting = runsOf(places, owner)
    await waiting.install('asking', asking)
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push(await waiting.start('asking'))
    const queue = await house.call('GET', '/api/v1/workflows/queue', { token: owner.token })
    expect(queue.body.total).toBe(3)
    expect(queue.body.queued.map((job: { runId: string }) => job.runId)).toEqual(ids)
    expect(queue.body.queued[0]).toMatchObject({ workflowSlug: 'asking', status: 'queued' })
    expect((await waiting.get(ids[0] ?? '')).body.run.status).toBe('running')
    const { db } = house.deps.database
    expect(await claimQueued(db, owner.workspaceId, 2)).toBe(ids[0])
    expect(await claimQueued(db, owner.workspaceId, 2)).toBe(ids[1])
    expect(await claimQueued(db, owner.workspaceId, 2)).toBeUndefined()
  })

  test('launches at once never take more places than there are', async () => {
    const owner = await house.newPerson()
    const ingress = await openIngress(isThereOnly)
    const three = await openHouse({
      DATABASE_URL: databaseUrl,
      DEV_TOOLS: '1',
      RUNS_PER_WORKSPACE: '3',
      RESTATE_INGRESS_URL: ingress.url,
    })
    const many = runsOf(three, owner)
    await many.install('asking', asking)
    // With an engine that takes nothing a launch that got a place is refused and gives it back, so at most three at a time are.
    const seen: number[] = []
    const watch = setInterval(async () => {
      const rows = await house.deps.database.db
        .selectFrom('workflow_runs')
        .select('id')
        .where('workspace_id', '=', owner.workspaceId)
        .where('advancing', '=', true)
        .execute()
      seen.push(rows.length)
    }, 1)
    const answers = await Promise.all(Array.from({ length: 30 }, () => many.launch('asking')))
    clearInterval(watch)
    await three.close()
    await ingress.close()
    expect(Math.max(...seen)).toBeLessThanOrEqual(3)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 503]))
  })

  test('a queued run is canceled off the queue', async () => {
    const owner = await house.newPerson()
    const waiting = runsOf(places, owner)
    await waiting.install('asking', asking)
    const runId = await waiting.start('asking')
    const path = `/api/v1/workflows/queue/${runId}`
    const deleted = await house.call('DELETE', path, { token: owner.token })
    expect(deleted.body).toEqual({ success: true })
    expect(await rowOf(runId)).toMatchObject({ status: 'canceled', queued_at: null })
    expect((await house.call('DELETE', path, { token: person.token })).status).toBe(404)
  })
})

describe('what the engine writes', () => {
  test('a step only goes forward', async () => {
    const runId = await driven()
    const writer = new RunWriter(house.deps.database)
    const done = { status: 'success' as const, payload: {}, startedAt: 1, endedAt: 2, output: 'late\u0000' }
    await writer.write({ runId, opened: 0, advancing: true, steps: [write(5, done)] })
    await writer.write({ runId, opened: 0, advancing: true, steps: [write(4)] })
    const [step] = await listSteps(house.deps.database.db, runId)
    expect(step).toMatchObject({ record: done, revision: 5, position: [1] })
  })

  test('a pause that is written again after it was answered changes nothing', async () => {
    const runId = await suspended()
    await update(runId, { status: 'running' })
    const writer = new RunWriter(house.deps.database)
    const again = {
      runId,
      opened: 0,
      advancing: false,
      steps: [write(9)],
      status: 'suspended' as const,
      pause: 1,
    }
    expect(await writer.write(again)).toBeUndefined()
    expect((await rowOf(runId))?.status).toBe('running')
    expect(await writer.write({ ...again, pause: 2 })).toMatchObject({ status: 'suspended' })
  })

  test('a canceled run never moves again, nor do its steps', async () => {
    const runId = await suspended()
    expect((await runs.cancel(runId)).body).toEqual({ success: true, runId })
    const writer = new RunWriter(house.deps.database)
    const late = {
      runId,
      opened: 0,
      advancing: false,
      steps: [write(99)],
      status: 'success' as const,
      result: 1,
    }
    expect(await writer.write(late)).toBeUndefined()
    const { run, steps } = (await runs.get(runId)).body
    expect(run.status).toBe('canceled')
    expect(steps.ask).toEqual({ status: 'canceled' })
    expect((await runs.cancel(runId)).status).toBe(200)
  })

  test('writes of many runs go together and each gets its own answer', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, driven))
    const writer = new RunWriter(house.deps.database)
    const ended = ids.map((runId, index) =>
      writer.write({ runId, opened: 0, advancing: false, steps: [], status: 'success', result: { index } }),
    )
    const unknown = writer.write({ runId: 'nobody', opened: 0, advancing: false, steps: [] })
    expect(await unknown).toBeUndefined()
    expect((await Promise.all(ended)).map((row) => row?.run_id)).toEqual(ids)
    expect((await rowOf(ids[7] ?? ''))?.result).toEqual({ index: 7 })
  })
})

describe('resume', () => {
  test('without the engine: RESUME_FAILED, and the run waits as before', async () => {
    const runId = await suspended()
    const answer = await runs.resume(runId, { resumeData: 'yes' })
    expect(answer.status).toBe(500)
    expect(answer.body.error.code).toBe('RESUME_FAILED')
    expect(await rowOf(runId)).toMatchObject({ status: 'suspended', resume_id: null, advancing: false })
  })

  test('an answer that the tool does not take is 400, and the run waits as before', async () => {
    const runId = await suspended()
    const answer = await runs.resume(runId, { resumeData: 3 })
    expect(answer.status).toBe(400)
    expect((await rowOf(runId))?.status).toBe('suspended')
  })

  test('while another answer is being taken, while running, and at a step that does not wait', async () => {
    const runId = await suspended()
    const mismatch = await runs.resume(runId, { resumeData: 'yes', stepId: 'm' })
    expect(mismatch.body.error.code).toBe('STEP_MISMATCH')
    expect(mismatch.body.error.details.suspended).toMatchObject([{ stepId: 'ask' }])
    await update(runId, { status: 'running', resume_id: 'r1', resume_key: 'ask:0:0' })
    const second = await runs.resume(runId, { resumeData: 'yes' })
    expect([second.status, second.body.error.code]).toEqual([409, 'RESUME_IN_PROGRESS'])
    await update(runId, { resume_taken_at: new Date() })
    const running = await runs.resume(runId, { resumeData: 'yes' })
    expect([running.status, running.body.error.code]).toEqual([409, 'NOT_SUSPENDED'])
  })

  test('a run that is marked suspended without a question is NO_SUSPEND_FRAME', async () => {
    const runId = await driven()
    await update(runId, { status: 'suspended' })
    const answer = await runs.resume(runId, { resumeData: 'yes' })
    expect([answer.status, answer.body.error.code]).toEqual([409, 'NO_SUSPEND_FRAME'])
  })

  test('a run of another workspace is like one that never was', async () => {
    const runId = await suspended()
    const stranger = runsOf(house, await house.newPerson())
    for (const act of [stranger.cancel, (id: string) => stranger.resume(id, { resumeData: 'yes' })]) {
      const [foreign, unknown] = [await act(runId), await act(`run_${randomUUID()}`)]
      expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
    }
    expect((await rowOf(runId))?.status).toBe('suspended')
  })
})
