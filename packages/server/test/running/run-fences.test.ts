import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { closeQuestion } from '#access/approvals/approvals.ts'
import type { OpenRun, RunRecords, StepWrite } from '#machinery/engine/drive.ts'
import { createModels } from '#machinery/models/models.ts'
import { actorBehind } from '#operations/actor.ts'
import { cancelRun } from '#running/runs/cancel.ts'
import { createRunRecords } from '#running/runs/runs.ts'
import { claimResume, findRunById, listSteps } from '#running/runs/store.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { runParts } from '../support/runs.ts'

/*
 * The engine calls one worker at a time, but one that it has given up may stand still, not know, and write later. Two
 * workers are two sets of records here, and the engine is the order in which the tests ask them.
 */
const graph = [
  { type: 'mapping', id: 'm', mapConfig: '{"question":{"value":"Go?"}}' },
  { type: 'tool', id: 'ask', toolId: 'ask-human' },
]

let house: House
let person: Person

beforeAll(async () => {
  // No run gets a place by itself, so that launching needs no engine.
  house = await openHouse({ DATABASE_URL: await createDatabase(), DEV_TOOLS: '1', RUNS_PER_WORKSPACE: '0' })
  person = await house.newPerson()
  await runsOf(house, person).install('asking', definitionOf('asking', graph))
})

/** So that no run waits for the places of the next test. */
afterEach(() => db().updateTable('workflow_runs').set({ queued_at: null }).execute())
afterAll(() => house?.close())

const db = () => house.deps.database.db

function newWorker(places = 1000): RunRecords {
  const parts = runParts(house)
  const config = { ...parts.config, runsPerWorkspace: places }
  return createRunRecords({ ...parts, config, models: createModels(parts.config.models) })
}

/** Accepted, with a place, and handed to the engine. */
async function launched(): Promise<string> {
  const runId = await runsOf(house, person).start('asking')
  const change = { queued_at: null, advancing: true, invocation_id: 'invocation' }
  await db().updateTable('workflow_runs').set(change).where('run_id', '=', runId).execute()
  return runId
}

async function opened(worker: RunRecords, runId: string): Promise<OpenRun> {
  const run = await worker.open(runId, 'invocation')
  if (!run) throw new Error('there is nothing to open')
  return run
}

const record = (n: number) => ({ status: 'running' as const, payload: { n }, startedAt: n })
const question = (n: number) => {
  const asked = { stepId: 'ask', index: 0, iteration: 0, key: `ask:0:${n}`, payload: { n }, suspendedAt: n }
  return { ...record(n), status: 'suspended' as const, metadata: { waiting: [asked] } }
}
const write = (revision: number, shown: StepWrite['record'] = record(revision)): StepWrite => ({
  stepId: 'ask',
  position: [1],
  record: shown,
  revision,
})

async function answer(runId: string, n: number, places = 1000): Promise<void> {
  const row = await findRunById(db(), runId)
  if (!row) throw new Error('no such run')
  const said = { id: randomUUID(), key: `ask:0:${n}`, data: '"yes"' }
  await house.deps.database.transaction(async (tx) => {
    expect(await claimResume(tx, row, said, places)).toBeDefined()
    await closeQuestion(tx, actorBehind(row), runId, said.key, 'yes')
  })
}

async function everythingOf(runId: string) {
  const row = await findRunById(db(), runId)
  const questions = await db()
    .selectFrom('approval_requests')
    .select(['id', 'status', 'expires_at'])
    .where('subject', '=', runId)
    .orderBy('id')
    .execute()
  return { row, steps: await listSteps(db(), runId), questions }
}

/** What is so of every run at every moment at which no worker is in the middle of something. */
async function expectSound(runId: string): Promise<void> {
  const { row, questions } = await everythingOf(runId)
  const isOpen = questions.some(({ status, expires_at }) => status === 'pending' && expires_at === null)
  expect({ status: row?.status, isOpen }).toEqual({
    status: row?.status,
    isOpen: row?.status === 'suspended',
  })
  if (row?.status !== 'running') expect(row?.advancing).toBe(false)
}

const end = { at: 9, records: new Map() }

type Act = (worker: RunRecords, run: OpenRun) => Promise<unknown>

const acts: Record<string, Act> = {
  'that it advances': (worker, { opening }) => worker.write(opening, [write(50)], 'advancing'),
  'that it sleeps': (worker, { opening }) => worker.write(opening, [write(51)], 'asleep'),
  'that it has woken up': (worker, { opening, caller }) => worker.wake(opening, caller, 'place:9'),
  'the question it has asked': (worker, { opening }) => worker.pause(opening, [write(52, question(1))], 1),
  'a later question': (worker, { opening }) => worker.pause(opening, [write(53, question(2))], 2),
  'its success': (worker, { opening }) =>
    worker.close(opening, [write(54)], { ...end, status: 'success', result: 1 }),
  'its cancellation': (worker, { opening }) =>
    worker.close(opening, [write(55)], { ...end, status: 'canceled' }),
}

type Bring = (worker: RunRecords, run: OpenRun, runId: string) => Promise<unknown>

const suspend: Bring = (worker, { opening }) => worker.pause(opening, [write(3, question(1))], 1)
const states: Record<string, Bring> = {
  'has only been opened': async () => {},
  advances: (worker, { opening }) => worker.write(opening, [write(2)], 'advancing'),
  sleeps: (worker, { opening }) => worker.write(opening, [write(2)], 'asleep'),
  'waits for a place': async (worker, { opening, caller }) => {
    await worker.write(opening, [write(2)], 'asleep')
    await newWorker(0).wake(opening, caller, 'place:1')
  },
  'waits for people': suspend,
  'was answered': async (worker, run, runId) => {
    await suspend(worker, run, runId)
    await answer(runId, 1)
  },
  'was answered and waits for a place': async (worker, run, runId) => {
    await suspend(worker, run, runId)
    await answer(runId, 1, 0)
  },
  'has ended': (worker, { opening }) =>
    worker.close(opening, [write(4)], { ...end, status: 'success', result: 7 }),
  'was canceled': (_worker, _run, runId) => cancelRun(runParts(house), runId, 'operator'),
}

describe('what an opening writes that is not the last changes nothing', () => {
  for (const [state, bring] of Object.entries(states))
    for (const [act, late] of Object.entries(acts))
      test(`a run that ${state}: ${act}`, async () => {
        const [stale, current] = [newWorker(), newWorker()]
        const runId = await launched()
        const before = await opened(stale, runId)
        await bring(current, await opened(current, runId), runId)
        const seen = await everythingOf(runId)
        const isOver = ['success', 'canceled'].includes(seen.row?.status ?? '')
        // Who is still asked by the engine has to hear of it, and opens the run anew.
        const outcome = await late(stale, before).catch((error: Error) => error)
        if (!isOver) expect(outcome).toMatchObject({ message: `the run ${runId} was opened again` })
        expect(await everythingOf(runId)).toEqual(seen)
      })
})

describe('a run comes to the same end wherever a worker stands still', () => {
  /** All that is ever written of a run, in the order in which the engine lets it happen. */
  const story: Act[] = [
    (worker, { opening }) => worker.write(opening, [write(1)], 'advancing'),
    (worker, { opening }) => worker.write(opening, [write(2)], 'asleep'),
    (worker, { opening, caller }) => worker.wake(opening, caller, 'place:1'),
    (worker, { opening }) => worker.pause(opening, [write(3, question(1))], 1),
    (_worker, { launch }) => answer(launch.runId, 1),
    (worker, { opening }) => worker.write(opening, [write(4)], 'advancing'),
    (worker, { opening }) => worker.pause(opening, [write(5, question(2))], 2),
    (_worker, { launch }) => answer(launch.runId, 2),
    (worker, { opening }) =>
      worker.close(opening, [write(6)], { ...end, status: 'success', result: { n: 6 } }),
  ]
  const answers = new Set([4, 7])
  const finished = {
    row: {
      status: 'success',
      result: { n: 6 },
      advancing: false,
      queued_at: null,
      pauses: 2,
      asked: 0,
    },
    steps: [{ revision: 6, record: record(6) }],
    questions: [{ status: 'granted' }, { status: 'granted' }],
  }

  /** Does a part of the story; overtaken by one that the engine does not know any more, it opens the run again. */
  async function tell(worker: RunRecords, run: OpenRun, from: number, to: number): Promise<OpenRun> {
    let mine = run
    for (const act of story.slice(from, to)) {
      await act(worker, mine).catch(async (error: Error) => {
        expect(error.message).toContain('was opened again')
        mine = await opened(worker, run.launch.runId)
        await act(worker, mine)
      })
      await expectSound(run.launch.runId)
    }
    return mine
  }

  for (let still = 0; still < story.length; still++) {
    if (answers.has(still)) continue
    test(`before write ${still + 1}, for as long as the other takes for any number of writes`, async () => {
      for (let until = still; until <= story.length; until++) {
        const [first, second] = [newWorker(), newWorker()]
        const runId = await launched()
        const mine = await tell(first, await opened(first, runId), 0, still)
        // The engine calls the other one, which finds all that was recorded and goes on from there.
        const others = await tell(second, await opened(second, runId), still, until)
        await story[still]?.(first, mine).catch(() => {})
        await expectSound(runId)
        await tell(second, others, until, story.length)
        expect(await everythingOf(runId)).toMatchObject(finished)
      }
    })
    test(`right before it opens the run to make write ${still + 1}`, async () => {
      for (let until = still; until < story.length; until++) {
        const [first, second] = [newWorker(), newWorker()]
        const runId = await launched()
        await tell(first, await opened(first, runId), 0, still)
        const others = await tell(second, await opened(second, runId), still, until)
        await opened(first, runId)
        await tell(second, others, until, story.length)
        expect(await everythingOf(runId)).toMatchObject(finished)
      }
    })
  }

  test('a write that landed before the crash gives way to what the engine had recorded after it', async () => {
    const [first, second] = [newWorker(), newWorker()]
    const runId = await launched()
    const mine = await opened(first, runId)
    await first.write(mine.opening, [write(5, record(1))], 'advancing')
    const others = await opened(second, runId)
    await second.write(others.opening, [write(5, record(2))], 'advancing')
    expect((await listSteps(db(), runId))[0]).toMatchObject({ revision: 5, record: record(2) })
    await second.write(others.opening, [write(4, record(3))], 'advancing')
    expect((await listSteps(db(), runId))[0]).toMatchObject({ revision: 5, record: record(2) })
  })
})
