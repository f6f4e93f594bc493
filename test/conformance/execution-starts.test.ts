import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { patienceFor } from '../support/sizes.ts'
import { must, newKey, type Person } from './support/actors.ts'
import { pause } from './support/client.ts'
import { openStream } from './support/event-streams.ts'
import {
  cancel,
  errand,
  lasting,
  list,
  message,
  mustRun,
  newRunner,
  post,
  prepare,
  quick,
  readLog,
  run,
  runThrough,
  script,
  statusOf,
  stopReasonOf,
  streamUrl,
  typesOf,
} from './support/executions.ts'
import { expectFlatRefusal, expectRefusal, isoPattern } from './support/shapes.ts'
import { cancel as cancelRun, flow, listRuns, mustInstall, nap } from './support/workflows.ts'
import { verifies } from './verifies.ts'

test('starts that are willing to wait are served in the order in which they came', async () => {
  verifies('executions:queue:first-come', 'limits:concurrency:refusal-says-how-long')
  const person = await newRunner()
  const waiting = [await prepare(person), await prepare(person), await prepare(person)]
  const busy = await mustRun(person, lasting)
  const reserved = async () => (await person.get<{ reserved: number }>('/billing')).body.reserved
  const before = await reserved()
  for (const [index, executionId] of waiting.entries()) {
    const { status, body } = await post(person, executionId, message(quick), { ifBusy: 'queue' })
    expect(status).toBe(200)
    expect(typesOf(body.data)).toEqual(['user.message'])
    expect(await statusOf(person, executionId)).toMatchObject({
      status: 'idle',
      queuedAt: expect.stringMatching(isoPattern),
      startedAt: null,
    })
    const answer = await post(person, executionId, message(quick))
    const again = expectFlatRefusal(answer, 429, 'EXECUTION_RUNNING')
    expect(again).toMatchObject({ executionId: busy, queuePosition: index + 1 })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1)
  }
  expect(await reserved()).toBe(before)
  const answer = await run(person, quick)
  const refused = expectFlatRefusal(answer, 429, 'EXECUTION_RUNNING')
  expect(refused['executionId']).toBe(busy)
  expect(refused).not.toHaveProperty('queuePosition')
  expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1)
  const [first = '', dropped = '', last = ''] = waiting
  expect(await cancel(person, dropped)).toMatchObject({ success: true, processKilled: false })
  await cancel(person, busy)
  for (const executionId of [first, last]) {
    const log = await readLog(person, executionId)
    expect(typesOf(log.slice(0, 2))).toEqual(['user.message', 'session.status_running'])
    expect(stopReasonOf(log)).toEqual({ type: 'end_turn' })
  }
  const [earlier, later] = [await statusOf(person, first), await statusOf(person, last)]
  expect(Date.parse(earlier.completedAt ?? '')).toBeLessThanOrEqual(Date.parse(later.startedAt ?? ''))
  expect(await statusOf(person, dropped)).toMatchObject({ status: 'failed', startedAt: null, cost: 0 })
})

describe('a start repeated under one Idempotency-Key is one start', () => {
  const paths = {
    'skill run': () => `/skills/${errand}/run`,
    'POST /executions': () => '/executions',
    rerun: async (person: Person) => `/executions/${(await runThrough(person, quick)).executionId}/rerun`,
    'user.message': async (person: Person) => `/executions/${await prepare(person)}/events`,
    launch: async (person: Person) => {
      await mustInstall(person, flow([nap]))
      return '/workflows/flow/launch'
    },
  }
  const bodies = {
    'POST /executions': (input: string) => ({ skill_slug: errand, input }),
    'user.message': (input: string) => ({ events: [message(input)] }),
    launch: (input: string) => ({ inputs: { text: input } }),
  }

  test.each(Object.entries(paths))('%s', async (name, pathFor) => {
    verifies('executions:start:idempotency-key')
    const person = await newRunner()
    const path = await pathFor(person)
    const body = bodies[name as keyof typeof bodies] ?? ((input: string) => ({ input }))
    const options = { headers: { 'idempotency-key': randomUUID() } }
    const there = async () => ({
      executions: (await list(person, '?limit=50')).items.map(({ executionId }) => executionId),
      runs: (await listRuns(person)).map(({ runId }) => runId),
    })
    const first = await person.post(path, body(lasting), options)
    expect(first.status, first.text).toBe(name === 'launch' ? 201 : 200)
    const started = await there()
    const again = async () => {
      const { status, text } = await person.post(path, body(lasting), options)
      expect([status, text]).toEqual([first.status, first.text])
      expectRefusal(await person.post(path, body(quick), options), 409, 'CONFLICT')
      expect(await there()).toEqual(started)
    }
    await again()
    for (const runId of started.runs) must(await cancelRun(person, runId), 200)
    for (const { executionId, status } of (await list(person)).items)
      if (status === 'idle' || status === 'working') await cancel(person, executionId)
    await again()
  })
})

describe('a key that is revoked', () => {
  test('leaves what it started, or takes it along', async () => {
    verifies('executions:key:stop-running')
    const person = await newRunner()
    const slow = script({ say: 'Slowly.', delayMs: 1500 })
    const left = await newKey(person)
    const kept = await mustRun(left, slow)
    expect((await person.delete(`/keys/${left.id}`)).body).toMatchObject({ success: true })
    expect(stopReasonOf(await readLog(person, kept))).toEqual({ type: 'end_turn' })
    const stopping = await newKey(person)
    const [idle, working] = [await prepare(stopping), await mustRun(stopping, lasting)]
    const others = await prepare(person)
    const answer = await person.delete(`/keys/${stopping.id}?stopRunning=true`)
    expect(answer.body).toMatchObject({ success: true, stopped: 2, stoppedRuns: 0 })
    for (const executionId of [idle, working]) {
      expect(stopReasonOf(await readLog(person, executionId))).toEqual({ type: 'interrupt' })
    }
    expect((await statusOf(person, others)).status).toBe('idle')
  })

  test('loses its streams, and so does a session that ends', async () => {
    verifies('stream:revocation:closes')
    const person = await newRunner()
    const [key, other] = [await newKey(person), await newKey(person)]
    const executionId = await prepare(person)
    const unused = await streamUrl(key, executionId)
    const [ofKey, ofOther, ofSession] = [
      await openStream(await streamUrl(key, executionId)),
      await openStream(await streamUrl(other, executionId)),
      await openStream(await streamUrl(person, executionId)),
    ]
    const inTime = (ended: Promise<void>) => Promise.race([ended.then(() => true), pause(patienceFor(3000))])
    must(await person.delete(`/keys/${key.id}`), 200)
    expect(await inTime(ofKey.ended)).toBe(true)
    expect((await openStream(unused)).status).toBe(401)
    must(await person.post('/auth/sign-out'), 200)
    expect(await inTime(ofSession.ended)).toBe(true)
    expect((await post(other, executionId, message(quick))).status).toBe(200)
    await ofOther.ended
    expect(ofOther.frames.length).toBeGreaterThan(2)
    expect([ofKey.frames, ofSession.frames]).toEqual([[], []])
  })
})

test('who asks for them gets pieces of text as they come, and nobody gets them twice', async () => {
  verifies('stream:deltas:live-only')
  const person = await newRunner()
  const text = 'A long story, told in many pieces. '.repeat(8)
  const executionId = await prepare(person, { input: script({ say: text, chunkDelayMs: 30 }) })
  const [along, plain] = [
    await openStream(await streamUrl(person, executionId, '&deltas=1')),
    await openStream(await streamUrl(person, executionId)),
  ]
  must(await post(person, executionId, message('Tell it.')), 200)
  await Promise.all([along.ended, plain.ended])
  const pieces = along.frames.filter(({ id }) => id === undefined).map(({ data }) => JSON.parse(data))
  expect(pieces.length).toBeGreaterThan(1)
  expect(pieces.map(({ payload }) => payload.text).join('')).toBe(text)
  expect(new Set(pieces.map(({ type }) => type))).toEqual(new Set(['agent.message_delta']))
  const whole = along.frames.findIndex(({ data }) => JSON.parse(data).type === 'agent.message')
  expect(along.frames.slice(whole).every(({ id }) => id !== undefined)).toBe(true)
  const replayed = await openStream(await streamUrl(person, executionId, '&deltas=1'))
  await replayed.ended
  for (const { frames } of [plain, replayed]) {
    expect(frames).toEqual(along.frames.filter(({ id }) => id !== undefined))
  }
})
