import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { repairRuns } from '#running/runs/repair.ts'
import { RunOpener } from '#running/runs/run-opener.ts'
import { RunWriter } from '#running/runs/run-writer.ts'
import { settleQuestions } from '#running/runs/settle-questions.ts'
import { claimQueued, claimResume, findRunById, listSteps } from '#running/runs/store.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import { runParts } from '../support/runs.ts'

/** What holds a row longer than it should, and what such things leave behind. */
const graph = [
  { type: 'mapping', id: 'm', mapConfig: '{"question":{"value":"Go?"}}' },
  { type: 'tool', id: 'ask', toolId: 'ask-human' },
]

let databaseUrl: string
let house: House
let person: Person
let holder: pg.Client

beforeAll(async () => {
  databaseUrl = await createDatabase()
  // No run gets a place by itself, so that launching needs no engine.
  house = await openHouse({ DATABASE_URL: databaseUrl, DEV_TOOLS: '1', RUNS_PER_WORKSPACE: '0' })
  person = await house.newPerson()
  await runsOf(house, person).install('asking', definitionOf('asking', graph))
  holder = new pg.Client({ connectionString: databaseUrl })
  await holder.connect()
})

afterEach(() => db().updateTable('workflow_runs').set({ queued_at: null }).execute())
afterAll(async () => {
  await holder?.end()
  await house?.close()
})

const db = () => house.deps.database.db
const rowOf = (runId: string) => findRunById(db(), runId)
const update = (runId: string, change: Record<string, unknown>) =>
  db().updateTable('workflow_runs').set(change).where('run_id', '=', runId).execute()
const queued = () => runsOf(house, person).start('asking')

async function launched(): Promise<string> {
  const runId = await queued()
  await update(runId, { queued_at: null, advancing: true, invocation_id: 'none' })
  return runId
}

/** Holds a run's row until what is given has been done. */
async function whileHeld<T>(runId: string, work: () => Promise<T>): Promise<T> {
  await holder.query('begin')
  await holder.query('select from workflow_runs where run_id = $1 for update', [runId])
  try {
    return await work()
  } finally {
    await holder.query('rollback')
  }
}

const question = { stepId: 'ask', index: 0, iteration: 0, key: 'ask:0:0', payload: {}, suspendedAt: 2 }
const asking = {
  stepId: 'ask',
  position: [1],
  record: { status: 'suspended' as const, payload: {}, startedAt: 1, metadata: { waiting: [question] } },
  revision: 1,
}

async function suspended(): Promise<string> {
  const runId = await launched()
  const writer = new RunWriter(house.deps.database)
  await writer.write({ runId, opened: 0, advancing: false, steps: [asking], status: 'suspended', pause: 1 })
  await settleQuestions(runParts(house), runId)
  return runId
}

const questionsOf = (runId: string) =>
  db().selectFrom('approval_requests').select(['status', 'expires_at']).where('subject', '=', runId).execute()
const open = { status: 'pending', expires_at: null }

describe('a run whose row somebody holds', () => {
  test('keeps no other from being written, and is written in its order once it is free', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, launched))
    const [held = '', ...others] = ids
    const writer = new RunWriter(house.deps.database)
    const end = (runId: string) =>
      writer.write({ runId, opened: 0, advancing: false, steps: [], status: 'success', result: 1 })
    const ends: string[] = []
    const late = await whileHeld(held, async () => {
      const step = { ...asking, record: { status: 'success' as const, payload: {}, startedAt: 1 } }
      const first = writer.write({ runId: held, opened: 0, advancing: true, steps: [step] })
      const all = [first.then(() => ends.push('step')), end(held).then(() => ends.push('end'))]
      // All of these wait for the lock where one statement is for all, and this one is given up with it.
      expect((await Promise.all(others.map(end))).map((row) => row?.status)).toEqual(
        others.map(() => 'success'),
      )
      // Nor is a connection kept by it: all of them are free for others.
      await Promise.all(others.map((runId) => rowOf(runId)))
      expect(ends).toEqual([])
      return all
    })
    await Promise.all(late)
    expect(ends).toEqual(['step', 'end'])
    expect(await rowOf(held)).toMatchObject({ status: 'success', result: 1 })
    expect(await listSteps(db(), held)).toHaveLength(1)
  })

  test('keeps no other from being opened', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, launched))
    const [held = '', ...others] = ids
    const opener = new RunOpener(house.deps.database)
    const late = await whileHeld(held, async () => {
      const all = ids.map((runId) => opener.open(runId, 'invocation'))
      const rows = await Promise.all(all.slice(1))
      expect(rows.map((row) => [row?.run_id, row?.opened])).toEqual(others.map((runId) => [runId, 1]))
      return all
    })
    expect(await late[0]).toMatchObject({ run_id: held, opened: 1 })
    // Asked twice at once, each opening has a number of its own.
    const twice = await Promise.all([opener.open(held, 'a'), opener.open(held, 'a')])
    expect(twice.map((row) => row?.opened)).toEqual([2, 3])
    expect(await opener.open('nobody', 'a')).toBeUndefined()
  })

  test('keeps no other of its workspace from getting a place', async () => {
    const [held, next] = [await queued(), await queued()]
    await whileHeld(held, async () => {
      expect(await claimQueued(db(), person.workspaceId, 1000)).toBe(next)
    })
    expect(await claimQueued(db(), person.workspaceId, 1000)).toBe(held)
  })
})

test('a write that PostgreSQL gave up for its locks or its time is repeated, however often', async () => {
  const runId = await launched()
  await holder.query(`create sequence tries;
    create function give_up() returns trigger language plpgsql as $$ begin
      case nextval('tries') % 2 when 0 then raise 'busy' using errcode = '57014'; else raise 'busy' using errcode = '55P03'; end case;
    end $$;
    create trigger give_up before update on workflow_runs for each row execute function give_up()`)
  const writer = new RunWriter(house.deps.database)
  const written = writer.write({
    runId,
    opened: 0,
    advancing: false,
    steps: [],
    status: 'success',
    result: 1,
  })
  const tries = async () => Number((await holder.query('select last_value from tries')).rows[0].last_value)
  while ((await tries()) < 6) await new Promise((resolve) => setTimeout(resolve, 20))
  await holder.query('drop trigger give_up on workflow_runs; drop function give_up; drop sequence tries')
  expect(await written).toMatchObject({ status: 'success' })
})

describe('what should not be is put right', () => {
  const repair = async () => {
    await shiftClock(databaseUrl, 5)
    await repairRuns(runParts(house))
    await shiftClock(databaseUrl, 0)
  }

  test('places of runs that wait for people or for a place, or have ended', async () => {
    const ids = await Promise.all([suspended(), suspended(), launched(), launched()])
    const [asks = '', canceled = '', waits = '', advances = ''] = ids
    await update(asks, { advancing: true })
    await update(canceled, { advancing: true, status: 'canceled' })
    await update(waits, { queued_at: new Date() })
    await repair()
    expect((await Promise.all(ids.map(rowOf))).map((row) => row?.advancing)).toEqual([
      false,
      false,
      false,
      true,
    ])
    expect(await rowOf(advances)).toMatchObject({ status: 'running', advancing: true })
  })

  test('a suspended run that nobody was asked for', async () => {
    const runId = await launched()
    const writer = new RunWriter(house.deps.database)
    await writer.write({ runId, opened: 0, advancing: false, steps: [asking], status: 'suspended', pause: 1 })
    expect(await questionsOf(runId)).toEqual([])
    await repair()
    expect(await questionsOf(runId)).toEqual([open])
    expect(await rowOf(runId)).toMatchObject({ asked: 1, pauses: 1 })
  })

  test('a suspended run whose answer was taken back and whose question stayed closed', async () => {
    const runId = await suspended()
    await db()
      .updateTable('approval_requests')
      .set({ status: 'granted', decided_at: new Date().toISOString(), expires_at: new Date().toISOString() })
      .where('subject', '=', runId)
      .execute()
    await update(runId, { asked: 0 })
    await repair()
    expect(await questionsOf(runId)).toEqual([open])
  })

  test('a question of a run that has ended', async () => {
    const runId = await suspended()
    await update(runId, { status: 'failed' })
    await repair()
    expect((await questionsOf(runId))[0]?.expires_at).not.toBeNull()
    expect(await rowOf(runId)).toMatchObject({ asked: 0 })
  })

  test('a run that goes on keeps the questions that it will come back to', async () => {
    const runId = await suspended()
    await update(runId, { status: 'running' })
    await repair()
    expect(await questionsOf(runId)).toEqual([open])
  })
})

describe('an answer that could not be handed over', () => {
  test('is taken back with its question, or not at all', async () => {
    const runId = await suspended()
    // What fails after the run's row was changed has to undo that.
    await holder.query(`create function refuse() returns trigger language plpgsql as $$ begin
        if new.status = 'pending' then raise 'not now'; end if; return new; end $$;
      create trigger refuse before update on approval_requests for each row execute function refuse()`)
    const places = await openHouse({ DATABASE_URL: databaseUrl, DEV_TOOLS: '1' })
    const answers = runsOf(places, person)
    // Neither happened, so the answer stands; the engine is told of it again.
    expect((await answers.resume(runId, { resumeData: 'yes' })).status).toBe(200)
    expect(await rowOf(runId)).toMatchObject({ status: 'running', resume_taken_at: null })
    expect(await questionsOf(runId)).toMatchObject([{ status: 'granted' }])
    await holder.query('drop trigger refuse on approval_requests; drop function refuse')
    const second = await suspended()
    const answer = await answers.resume(second, { resumeData: 'yes' })
    expect(answer.body.error.code).toBe('RESUME_FAILED')
    expect(await rowOf(second)).toMatchObject({ status: 'suspended', resume_id: null, advancing: false })
    expect(await questionsOf(second)).toEqual([open])
    await places.close()
  })

  test('an answer to a pause that is over is let through by nobody', async () => {
    const row = await rowOf(await suspended())
    if (!row) throw new Error('no such run')
    const answer = { id: randomUUID(), key: question.key, data: '"yes"' }
    expect(await claimResume(db(), { ...row, pauses: 0 }, answer, 10)).toBeUndefined()
  })
})
