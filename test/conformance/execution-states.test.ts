import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Person } from './support/actors.ts'
import { pause } from './support/client.ts'
import { withClock } from './support/clock.ts'
import { withDatabase } from './support/database.ts'
import { openStream } from './support/event-streams.ts'
import {
  bash,
  broken,
  cancel,
  interrupt,
  itemOf,
  lasting,
  message,
  mustRun,
  newRunner,
  only,
  post,
  prepare,
  quick,
  readLog,
  rerun,
  run,
  runThrough,
  script,
  seen,
  statusOf,
  stopReasonOf,
  streamUrl,
  typesOf,
} from './support/executions.ts'
import { expectRefusal } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

const ways: [string, (person: Person, executionId: string) => Promise<unknown>][] = [
  ['POST cancel', cancel],
  ['user.interrupt', (person, executionId) => post(person, executionId, interrupt)],
]

describe('an idle execution', () => {
  test('runs nothing and holds no slot', async () => {
    verifies('executions:state:create-idle', 'executions:state:idle-holds-no-slot')
    const person = await newRunner()
    const [first, second] = [await prepare(person), await prepare(person)]
    const stream = await openStream(await streamUrl(person, first))
    await pause(3000)
    for (const executionId of [first, second]) {
      expect((await statusOf(person, executionId)).status).toBe('idle')
    }
    expect(stream.frames).toEqual([])
    stream.close()
    expect((await run(person, quick)).status).toBe(200)
  })

  test('works once it is told something', async () => {
    verifies('executions:state:idle-to-working')
    const person = await newRunner()
    const executionId = await prepare(person, { input: lasting })
    const { status, body } = await post(person, executionId, message(lasting))
    expect(status).toBe(200)
    expect(typesOf(body.data)).toContain('session.status_running')
    expect((await statusOf(person, executionId)).status).toBe('working')
    expect((await seen(person, executionId, 'session.status_running')).payload).toEqual({})
    await cancel(person, executionId)
  })

  test.each(ways)('is ended by %s at no cost', async (_way, end) => {
    verifies('executions:state:idle-cancel')
    const person = await newRunner()
    const executionId = await prepare(person)
    await end(person, executionId)
    const state = { status: 'failed', cost: 0, stopReason: 'interrupt' }
    expect(await statusOf(person, executionId)).toMatchObject(state)
    expect(await itemOf(person, executionId)).toMatchObject(state)
    expect(stopReasonOf(await readLog(person, executionId))).toEqual({ type: 'interrupt' })
  })

  stackOnly('ends by itself after a day', () => {
    verifies('executions:state:idle-24-hours')
    return withClock(async (clock) => {
      const person = await newRunner()
      const executionId = await prepare(person)
      await clock.setAhead({ hours: 23, minutes: 59 })
      await pause(2500)
      expect((await statusOf(person, executionId)).status).toBe('idle')
      await clock.setAhead({ hours: 24, seconds: 1 })
      const log = await readLog(person, executionId)
      expect(stopReasonOf(log)).toEqual({ type: 'error', code: 'EXECUTION_EXPIRED' })
      expect(await statusOf(person, executionId)).toMatchObject({ status: 'failed', cost: 0 })
    })
  })
})

describe('a working execution', () => {
  test('is completed when the agent finishes', async () => {
    verifies('executions:state:working-to-completed', 'events:stop:end-turn')
    const person = await newRunner()
    const { executionId, log } = await runThrough(person, quick)
    expect(await statusOf(person, executionId)).toMatchObject({ status: 'completed', stopReason: 'end_turn' })
    expect(typesOf(log.slice(-2))).toEqual(['execution.result', 'session.status_idle'])
    expect(log.at(-1)?.payload).toEqual({ stop_reason: { type: 'end_turn' } })
  })

  test.each(ways)('is ended by %s, and the workspace is free again', async (_way, end) => {
    verifies(
      'executions:state:working-to-failed-interrupt',
      'events:stop:interrupt',
      'events:post:interrupt-cancels',
      'events:type:user-interrupt-echo',
    )
    const person = await newRunner()
    const executionId = await mustRun(person, lasting)
    await seen(person, executionId, 'agent.tool_use')
    await end(person, executionId)
    expect(await statusOf(person, executionId)).toMatchObject({ status: 'failed', stopReason: 'interrupt' })
    const log = await readLog(person, executionId)
    expect(stopReasonOf(log)).toEqual({ type: 'interrupt' })
    expect(typesOf(log.slice(-2))).toEqual(['user.interrupt', 'session.status_idle'])
    expect(log.at(-2)?.payload).toEqual({})
    expect((await run(person, quick)).status).toBe(200)
  })

  test('fails when its model does', async () => {
    verifies('executions:state:working-to-failed-error', 'events:stop:error')
    const person = await newRunner()
    const { executionId, log } = await runThrough(person, broken)
    expect(await statusOf(person, executionId)).toMatchObject({ status: 'failed', stopReason: 'error' })
    expect(stopReasonOf(log)).toEqual({ type: 'error', code: 'MODEL_FAILED' })
    expect(only(log, 'execution.result')).toEqual([])
  })

  stackOnly('is ended after 65 minutes', () => {
    verifies('limits:execution:timeout-65-minutes')
    // The start is moved and not the clock: by a clock that leaps its worker would be taken for dead before.
    return withDatabase(async (database) => {
      const person = await newRunner()
      const executionId = await mustRun(person, lasting)
      await seen(person, executionId, 'agent.tool_use')
      const setAge = (seconds: number) =>
        database.query(
          `update executions set started_at = guild_now() - $2 * interval '1 second' where execution_id = $1`,
          [executionId, seconds],
        )
      await setAge(3890)
      await pause(2500)
      expect((await statusOf(person, executionId)).status).toBe('working')
      await setAge(3900)
      const log = await readLog(person, executionId)
      expect(stopReasonOf(log)).toEqual({ type: 'error', code: 'EXECUTION_TIMEOUT' })
      expect((await statusOf(person, executionId)).status).toBe('failed')
      expect((await run(person, quick)).status).toBe(200)
    })
  })
})

describe('an ended execution', () => {
  test.each([
    ['completed', quick],
    ['failed', broken],
  ])('that is %s takes no more messages, and says where to go on', async (status, input) => {
    verifies('executions:state:finished-message-conflict')
    const person = await newRunner()
    const { executionId, log } = await runThrough(person, input)
    const error = expectRefusal(await post(person, executionId, message(quick)), 409, 'CONFLICT')
    expect(error.details?.['continue']).toMatch(/^\/api\/v1\/traces\/[^/]+\/continue$/)
    expect((await statusOf(person, executionId)).status).toBe(status)
    expect(await readLog(person, executionId)).toEqual(log)
  })

  test('has one session.status_idle as its last event, also when a cancel raced its finish', async () => {
    verifies('events:order:idle-exactly-once-last')
    await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const person = await newRunner()
        for (let round = 0; round < 3; round++) {
          const executionId = await mustRun(person, script({ say: 'Working.' }, { say: 'Done.' }))
          await pause(index * 60 + Math.random() * 60)
          const { success } = await cancel(person, executionId)
          const log = await readLog(person, executionId)
          expect(only(log, 'session.status_idle')).toEqual([log.at(-1)])
          expect(stopReasonOf(log).type).toBe(success ? 'interrupt' : 'end_turn')
          expect((await statusOf(person, executionId)).status).toBe(success ? 'failed' : 'completed')
          expect(await readLog(person, executionId)).toEqual(log)
        }
      }),
    )
  })
})

describe('canceling', () => {
  test('says what became of the process', async () => {
    verifies('executions:cancel:answer', 'executions:cancel:process-killed-truthful')
    const person = await newRunner()
    const idle = await prepare(person)
    expect(await cancel(person, idle)).toMatchObject({ success: true, processKilled: false })
    const executionId = await mustRun(person, script({ tools: [bash('while :; do date; sleep 0.1; done')] }))
    await seen(person, executionId, 'agent.tool_use')
    const answer = await cancel(person, executionId)
    expect(answer).toEqual({
      success: true,
      message: expect.stringMatching(/./),
      processKilled: true,
      actualStatus: 'failed',
    })
    expect((await statusOf(person, executionId)).status).toBe(answer.actualStatus)
    const log = await readLog(person, executionId)
    await pause(1000)
    expect(await readLog(person, executionId)).toEqual(log)
    expect(log.at(-1)?.type).toBe('session.status_idle')
  })

  test('changes nothing once it has ended', async () => {
    verifies('executions:cancel:finished')
    const person = await newRunner()
    const { executionId, log } = await runThrough(person, quick)
    expect(await cancel(person, executionId)).toEqual({
      success: false,
      message: expect.stringMatching(/./),
      processKilled: false,
      actualStatus: 'completed',
    })
    expect(await readLog(person, executionId)).toEqual(log)
    const unknown = await person.post(`/executions/exec_${randomUUID()}/cancel`)
    expectRefusal(unknown, 404, 'NOT_FOUND')
    expect((await rerun(person, executionId, quick)).status).toBe(200)
  })
})
