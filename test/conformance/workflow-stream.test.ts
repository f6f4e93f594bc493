import { describe, expect, test } from 'vitest'
import { expectWithin } from '../support/proof.ts'
import { must, newPerson } from './support/actors.ts'
import { pause } from './support/client.ts'
import type { OpenStream } from './support/event-streams.ts'
import { isoPattern } from './support/shapes.ts'
import {
  ask,
  begin,
  cancel,
  echo,
  framesOf,
  getRun,
  nap,
  question,
  reached,
  resume,
  runThrough,
  tool,
  watch,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

/** Milliseconds from the last frame to the end of the stream, which must come. */
async function endOf(stream: OpenStream, status: string): Promise<number> {
  await stream.next(({ data }) => (JSON.parse(data) as { status: string }).status === status)
  const from = performance.now()
  await stream.ended
  return performance.now() - from
}

const short = { type: 'sleep', id: 'short', duration: 1500 }

test('a stream begins with the run as it is, in frames of one shape', async () => {
  verifies('run-stream:headers:sse', 'run-stream:connect:snapshot-first', 'run-stream:frame:shape')
  const person = await newPerson()
  const runId = await begin(person, [nap])
  await reached(person, runId, 'nap')
  const from = performance.now()
  const stream = await watch(runId, person)
  expect(stream.status).toBe(200)
  expect(stream.headers['content-type']).toMatch(/^text\/event-stream/)
  await stream.next(() => true)
  expectWithin(performance.now() - from, 1000)
  const { run } = await getRun(person, runId)
  const [frame] = framesOf(stream)
  expect(frame).toEqual({
    type: 'workflow-snapshot',
    runId,
    workflowId: `${person.workspaceId}:flow`,
    status: 'running',
    updatedAt: expect.stringMatching(isoPattern),
    snapshot: run.snapshot,
  })
  stream.close()
})

test('a change is a frame, and there is none without one', async () => {
  verifies('run-stream:change:one-frame-each')
  const person = await newPerson()
  const runId = await begin(person, [echo, { ...short, duration: 5000 }, tool('echo', 'after')])
  await reached(person, runId, 'short')
  const stream = await watch(runId, person)
  await stream.next(() => true)
  await pause(2500)
  expect(stream.frames).toHaveLength(1)
  await stream.ended
  const frames = framesOf(stream)
  expect(new Set(frames.map(({ snapshot }) => JSON.stringify(snapshot))).size).toBe(frames.length)
  expect(frames.at(-1)?.snapshot.context['after']?.status).toBe('success')
})

test('a change is seen soon', async () => {
  verifies('run-stream:poll:once-a-second')
  const person = await newPerson()
  const runId = await begin(person, [short, nap])
  const stream = await watch(runId, person)
  await stream.next(({ data }) => data.includes('"nap"'))
  const { startedAt } = framesOf(stream).at(-1)?.snapshot.context['nap'] ?? { startedAt: 0 }
  expectWithin(Date.now() - startedAt, 2000)
  stream.close()
})

test('a stream opened right after the launch is there', async () => {
  verifies('run-stream:heartbeat:comment')
  const person = await newPerson()
  const runId = await begin(person, [nap])
  const from = performance.now()
  const stream = await watch(runId, person)
  expect(stream.status).toBe(200)
  await stream.next(() => true)
  expectWithin(performance.now() - from, 2000)
  stream.close()
})

describe('the server closes the stream', () => {
  test('of a run that succeeds', async () => {
    verifies('run-stream:close:success')
    const person = await newPerson()
    const stream = await watch(await begin(person, [short, echo]), person)
    expectWithin(await endOf(stream, 'success'), 2000)
    expect(framesOf(stream).at(-1)).toMatchObject({ status: 'success', snapshot: { status: 'success' } })
  })

  test('of a run that fails', async () => {
    verifies('run-stream:close:failed')
    const person = await newPerson()
    const stream = await watch(await begin(person, [short, tool('fail')]), person)
    expectWithin(await endOf(stream, 'failed'), 2000)
    expect(framesOf(stream).at(-1)).toMatchObject({
      status: 'failed',
      snapshot: { error: { stepId: 'fail' } },
    })
  })

  test('of a run that waits for somebody; one opened after the answer goes on', async () => {
    verifies('run-stream:close:suspended', 'run-stream:suspended:resubscribe')
    const person = await newPerson()
    const runId = await begin(person, [short, question, ask, { ...short, id: 'again' }])
    const stream = await watch(runId, person)
    expectWithin(await endOf(stream, 'suspended'), 2000)
    expect(framesOf(stream).at(-1)?.status).toBe('suspended')
    must(await resume(person, runId, { resumeData: 'yes' }), 200)
    const anew = await watch(runId, person)
    await anew.ended
    const statuses = framesOf(anew).map(({ status }) => status)
    expect(statuses[0]).toBe('running')
    expect(statuses.at(-1)).toBe('success')
    expect(statuses).not.toContain('suspended')
  })

  test('of a canceled run only half a minute later', { timeout: 90_000 }, async () => {
    verifies('run-stream:canceled:client-closes')
    const person = await newPerson()
    const runId = await begin(person, [nap])
    const stream = await watch(runId, person)
    await stream.next(() => true)
    must(await cancel(person, runId), 200)
    await stream.next(({ data }) => data.includes('"canceled"'))
    const from = performance.now()
    let isOver = false
    void stream.ended.then(() => {
      isOver = true
    })
    await pause(5000)
    expect(isOver).toBe(false)
    await stream.ended
    expect(performance.now() - from).toBeGreaterThan(25_000)
    expectWithin(performance.now() - from, 35_000)
    expect(framesOf(stream).at(-1)?.status).toBe('canceled')
  })

  test('of a run that has ended, after its last state', async () => {
    verifies('run-stream:terminal:opened-late')
    const person = await newPerson()
    const { run } = await runThrough(person, [echo], { a: 1 })
    const stream = await watch(run.runId, person)
    await stream.ended
    expect(framesOf(stream)).toEqual([
      {
        type: 'workflow-snapshot',
        runId: run.runId,
        workflowId: run.workflowId,
        status: 'success',
        updatedAt: run.updatedAt,
        snapshot: run.snapshot,
      },
    ])
  })
})
