import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunStatus, StepRecord } from '#machinery/graph/graph.ts'
import { RunWriter } from '#running/runs/run-writer.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { until as untilWithin } from '../../../../test/support/processes.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** The stream of a run for who stays through questions, and for who only wants what is different; and what it runs. */
const definition = definitionOf('leave', [
  { type: 'tool', id: 'first', toolId: 'echo' },
  { type: 'tool', id: 'ask', toolId: 'ask-human' },
])

let house: House
let second: House
let person: Person

beforeAll(async () => {
  // No run may advance here, so that launches and answers wait in the records and need no engine.
  const env = { DATABASE_URL: await createDatabase(), DEV_TOOLS: '1', RUNS_PER_WORKSPACE: '0' }
  house = await openHouse(env)
  second = await openHouse(env)
  person = await house.newPerson()
  await runsOf(house, person).install('leave', definition)
})

afterAll(async () => {
  await house?.close()
  await second?.close()
})

let revision = 0
const waiting = { stepId: 'ask', index: 0, iteration: 0, key: 'ask:0:0', payload: {}, suspendedAt: 2 }
const asking: StepRecord = {
  status: 'suspended',
  payload: {},
  startedAt: 1,
  suspendPayload: {},
  suspendedAt: 2,
  metadata: { waiting: [waiting] },
}
const done = (output: unknown): StepRecord => ({
  status: 'success',
  payload: {},
  startedAt: 1,
  endedAt: 2,
  output,
})

/** What the engine would write. */
async function write(
  runId: string,
  records: Record<string, StepRecord>,
  status?: Exclude<RunStatus, 'running'>,
) {
  const steps = Object.entries(records).map(([stepId, record], index) => ({
    stepId,
    position: [index],
    record,
    revision: ++revision,
  }))
  const more = status === 'suspended' ? { pause: 1 } : status === 'success' ? { result: { done: true } } : {}
  await new RunWriter(house.deps.database).write({
    runId,
    opened: 0,
    advancing: false,
    steps,
    ...(status && { status }),
    ...more,
  })
  house.bus.wake(`workflow-run:${runId}`)
}

async function goOn(runId: string): Promise<void> {
  await house.deps.database.db
    .updateTable('workflow_runs')
    .set((e) => ({ status: 'running', version: e('version', '+', 1) }))
    .where('run_id', '=', runId)
    .execute()
  house.bus.wake(`workflow-run:${runId}`)
}

async function start(): Promise<string> {
  const runId = await runsOf(house, person).start('leave')
  await house.deps.database.db
    .updateTable('workflow_runs')
    .set({ queued_at: null, advancing: true, invocation_id: 'none' })
    .where('run_id', '=', runId)
    .execute()
  return runId
}

// biome-ignore lint/suspicious/noExplicitAny: the frames are looked into field by field
type Frame = { id: number; data: any }

async function open(runId: string, query: string, at: House = house) {
  const url = `${at.url}/api/v1/workflows/runs/${runId}/events${query}`
  const leaving = new AbortController()
  const headers = { 'x-auth-token': person.token }
  const response = await fetch(url, { headers, signal: leaving.signal })
  const frames: Frame[] = []
  const seen = { text: '', isOver: false }
  const reading = (async () => {
    for await (const part of response.body ?? []) {
      seen.text += Buffer.from(part).toString()
      const blocks = seen.text.split('\n\n').filter((block) => block.startsWith('id: '))
      frames.splice(0, frames.length, ...blocks.map(read))
    }
  })()
    .catch(() => {})
    .finally(() => {
      seen.isOver = true
    })
  return { response, frames, seen, reading, leave: () => leaving.abort() }
}

function read(block: string): Frame {
  const [id = '', data = ''] = block.split('\ndata: ')
  return { id: Number(id.slice(4)), data: JSON.parse(data) }
}

const until = (isSo: () => boolean) => untilWithin(isSo, 10_000)

/** As the contract says that a client puts them together. */
function follow(frames: readonly Frame[]) {
  let snapshot = frames[0]?.data.snapshot
  for (const { data } of frames.slice(1)) {
    const context = { ...snapshot.context, ...data.changed.context }
    for (const name of data.removed) delete context[name]
    snapshot = { ...snapshot, ...data.changed, context }
  }
  return snapshot
}

describe('the stream of a run', () => {
  test('has the version as the id of each frame', async () => {
    const runId = await start()
    const stream = await open(runId, '')
    await until(() => stream.frames.length === 1)
    await write(runId, { first: done(1) })
    await until(() => stream.frames.length === 2)
    await write(runId, {}, 'success')
    await stream.reading
    const ids = stream.frames.map(({ id }) => id)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
    expect(new Set(ids).size).toBe(ids.length)
    expect(stream.frames.every(({ data }) => data.type === 'workflow-snapshot')).toBe(true)
  })

  test('stays open through a question for who asks for that, and ends with the run', async () => {
    const runId = await start()
    const plain = await open(runId, '')
    const patient = await open(runId, '?through=suspended', second)
    await write(runId, { ask: asking }, 'suspended')
    await plain.reading
    await until(() => patient.frames.at(-1)?.data.status === 'suspended')
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(patient.seen.isOver).toBe(false)
    await goOn(runId)
    await until(() => patient.frames.at(-1)?.data.status === 'running')
    await write(runId, { ask: done('Ada') }, 'success')
    await patient.reading
    expect(patient.frames.at(-1)?.data).toMatchObject({
      status: 'success',
      snapshot: { result: { done: true } },
    })
  })

  test('tells only what is different to who asks for changes, and it comes to the same', async () => {
    const runId = await start()
    const stream = await open(runId, '?changes=1&through=suspended')
    const other = await open(runId, '?changes=1', second)
    await until(() => stream.frames.length === 1)
    expect(stream.frames[0]?.data.type).toBe('workflow-snapshot')
    await write(runId, { first: done('a'.repeat(10_000)) })
    await until(() => stream.frames.length === 2)
    await write(runId, { ask: asking }, 'suspended')
    await until(() => stream.frames.length === 3)
    expect(stream.frames[2]?.data).toMatchObject({
      type: 'workflow-changes',
      status: 'suspended',
      since: stream.frames[1]?.id,
      removed: [],
    })
    // That one ends here, at whatever time the other process hears of it.
    await other.reading
    // What the step before gave is not told again.
    expect(Object.keys(stream.frames[2]?.data.changed.context)).toEqual(['ask'])
    await goOn(runId)
    await write(runId, { ask: done('Ada') }, 'success')
    await stream.reading
    const whole = await house.call('GET', `/api/v1/workflows/runs/${runId}`, { token: person.token })
    expect(follow(stream.frames)).toEqual(whole.body.run.snapshot)
    expect(other.frames.at(-1)?.data.status).toBe('suspended')
    const bytes = Buffer.byteLength(JSON.stringify(stream.frames.slice(2)))
    expect(bytes).toBeLessThan(5000)
  })

  test('refuses what it cannot stay through', async () => {
    const runId = await start()
    const answer = await house.call('GET', `/api/v1/workflows/runs/${runId}/events?through=success`, {
      token: person.token,
    })
    expect(answer.status).toBe(400)
  })
})

describe('the definition of a run', () => {
  const read = (runId: string, token = person.token) =>
    house.call('GET', `/api/v1/workflows/runs/${runId}/definition`, { token })

  test('is what it was launched with, and says whether that is installed now', async () => {
    const runId = await start()
    const before = await read(runId)
    expect(before.body).toMatchObject({ definition: { id: 'leave' }, current: true })
    expect(before.body.checksum).toMatch(/^[0-9a-f]{64}$/)
    await runsOf(house, person).install('leave', { ...definition, description: 'newer' })
    const after = await read(runId)
    expect(after.body).toEqual({ ...before.body, current: false })
    await runsOf(house, person).install('leave', definition)
    expect((await read(runId)).body.current).toBe(true)
  })

  test('is not there for others', async () => {
    const runId = await start()
    const { token } = await house.newPerson()
    expect((await read(runId, token)).text.replace(/"[0-9a-f-]{36}"/g, '')).toBe(
      (await read('run_00000000-0000-4000-8000-000000000000', token)).text.replace(/"[0-9a-f-]{36}"/g, ''),
    )
    expect((await read(runId, token)).status).toBe(404)
  })
})
