import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { must, newPerson, type Person } from './support/actors.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import {
  ask,
  begin,
  echo,
  flow,
  getQueue,
  getRun,
  type Launched,
  mapping,
  mustInstall,
  nap,
  question,
  runThrough,
  settled,
  tool,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

describe('the queue', () => {
  test('has runs from their launch to their end', async () => {
    verifies(
      'queue:list:answer',
      'queue:job:fields',
      'queue:list:queued-and-running',
      'queue:list:workspace-scoped',
      'queue:delete:success',
    )
    const person = await newPerson()
    const other = await newPerson()
    expect(await getQueue(person)).toEqual({ queued: [], total: 0 })
    const runId = await begin(person, [nap])
    await begin(other, [nap])
    const job = {
      runId,
      workflowSlug: 'flow',
      enqueuedAt: expect.stringMatching(isoPattern),
      status: 'running',
    }
    expect(await getQueue(person)).toEqual({ queued: [job], total: 1 })
    const done = await runThrough(person, [echo])
    expect((await getQueue(person)).queued.map((one) => one.runId)).not.toContain(done.run.runId)
    const answer = await person.delete(`/workflows/queue/${runId}`)
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: { success: true } })
    expect(await getQueue(person)).toEqual({ queued: [], total: 0 })
    expect((await getRun(person, runId)).run.status).toBe('canceled')
    expect((await getQueue(other)).total).toBe(1)
  })

  test('knows no job of others', async () => {
    verifies('queue:delete:unknown-404')
    const person = await newPerson()
    const foreign = await begin(await newPerson(), [nap])
    const unknown = await person.delete(`/workflows/queue/run_${randomUUID()}`)
    expectRefusal(unknown, 404, 'NOT_FOUND')
    expect((await person.delete(`/workflows/queue/${foreign}`)).text).toBe(unknown.text)
  })

  test('knows no run that waits for a person or has ended', async () => {
    verifies('queue:delete:unknown-404')
    const person = await newPerson()
    const unknown = await person.delete(`/workflows/queue/run_${randomUUID()}`)
    const asking = await begin(person, [question, ask])
    const waiting = await settled(person, asking)
    expect(waiting.run.status).toBe('suspended')
    const ended = await runThrough(person, [echo])
    const canceled = await begin(person, [nap])
    must(await person.delete(`/workflows/queue/${canceled}`), 200)
    for (const [runId, status] of [
      [asking, 'suspended'],
      [ended.run.runId, 'success'],
      [canceled, 'canceled'],
    ] as const) {
      expect((await person.delete(`/workflows/queue/${runId}`)).text).toBe(unknown.text)
      expect((await getRun(person, runId)).run.status).toBe(status)
    }
  })
})

describe('rerun', () => {
  interface Rerun extends Launched {
    parentRunId: string
    reused: string[]
  }
  const rerun = (person: Person, runId: string, body?: unknown) =>
    person.post<Rerun>(`/workflows/runs/${runId}/rerun`, body)

  test('does a run again, as a whole or from a step on', async () => {
    verifies('runs:rerun:from-step')
    const person = await newPerson()
    const graph = [echo, mapping({ text: { initData: true, path: 'text' } }), tool('upper')]
    const { run } = await runThrough(person, graph, { text: 'a' })
    await mustInstall(person, flow([mapping({ other: { value: 1 } })]))
    const answer = await rerun(person, run.runId, { fromStep: 'upper' })
    const again = must(answer, 201)
    expect(again).toEqual({
      runId: expect.stringMatching(/./),
      parentRunId: run.runId,
      workflowId: run.workflowId,
      status: 'started',
      reused: ['echo', 'map'],
    })
    expect(again.runId).not.toBe(run.runId)
    const { run: second } = await settled(person, again.runId)
    expect(second).toMatchObject({
      status: 'success',
      parentRunId: run.runId,
      snapshot: { result: { text: 'A' } },
    })
    const { echo: kept, upper: redone } = second.snapshot.context
    expect(kept).toEqual(run.snapshot.context['echo'])
    expect(redone?.startedAt).toBeGreaterThan(
      run.snapshot.context['upper']?.endedAt ?? Number.POSITIVE_INFINITY,
    )
    const whole = must(await rerun(person, run.runId, { inputs: { text: 'b' } }), 201)
    expect(whole.reused).toEqual([])
    expect((await settled(person, whole.runId)).run.snapshot.result).toEqual({ text: 'B' })
  })

  test('is refused where there is nothing to go on from', async () => {
    verifies('runs:rerun:refusals')
    const person = await newPerson()
    const failed = await runThrough(person, [echo, tool('fail'), tool('echo', 'after')])
    expectRefusal(await rerun(person, failed.run.runId, { fromStep: 'after' }), 409, 'CONFLICT')
    expectRefusal(await rerun(person, failed.run.runId, { fromStep: 'nowhere' }), 400, 'INVALID_INPUT')
    expectRefusal(await rerun(person, `run_${randomUUID()}`), 404, 'NOT_FOUND')
    const running = await begin(person, [nap])
    expectRefusal(await rerun(person, running), 409, 'CONFLICT')
    expect(must(await rerun(person, failed.run.runId, { fromStep: 'fail' }), 201).reused).toEqual(['echo'])
  })
})
