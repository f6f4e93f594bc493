import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { must, newPerson, type Person } from './support/actors.ts'
import { pause } from './support/client.ts'
import { bash, installSkill, list as listExecutions, script } from './support/executions.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import {
  ask,
  begin,
  cancel,
  echo,
  flow,
  framesOf,
  getRun,
  launch,
  listRuns,
  mapping,
  mustInstall,
  mustLaunch,
  nap,
  question,
  reached,
  resume,
  runThrough,
  settled,
  tool,
  watch,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

const waiting = [question, ask]

async function suspend(person: Person): Promise<string> {
  const { run } = await runThrough(person, waiting)
  if (run.status !== 'suspended') throw new Error(`The run did not suspend: ${JSON.stringify(run)}`)
  return run.runId
}

describe('a run', () => {
  test('tells where it stands, and what its steps gave', async () => {
    verifies(
      'runs:record:fields',
      'runs:get:answer',
      'runs:snapshot:result-on-success',
      'runs:steps:status-output',
    )
    const person = await newPerson()
    const { run, steps } = await runThrough(
      person,
      [echo, mapping({ text: { value: 'a' } }), tool('upper')],
      { a: 1 },
    )
    expect(run).toEqual({
      runId: expect.stringMatching(/./),
      workflowId: `${person.workspaceId}:flow`,
      status: 'success',
      resourceId: person.workspaceId,
      updatedAt: expect.stringMatching(isoPattern),
      snapshot: expect.objectContaining({
        status: 'success',
        value: {},
        context: expect.objectContaining({ input: { a: 1 } }),
        result: { text: 'A' },
      }),
    })
    expect(run.snapshot).not.toHaveProperty('error')
    expect(steps).toEqual({
      echo: { status: 'success', output: { a: 1 } },
      map: { status: 'success', output: { text: 'a' } },
      upper: { status: 'success', output: { text: 'A' } },
    })
  })

  test('that fails tells where and why', async () => {
    verifies('runs:snapshot:error-on-failure')
    const { run, steps } = await runThrough(await newPerson(), [echo, tool('fail'), tool('echo', 'after')])
    expect(run.status).toBe('failed')
    expect(run.snapshot.error).toMatchObject({
      code: 'TOOL_FAILED',
      message: 'fail tool always fails',
      stepId: 'fail',
    })
    expect(run.snapshot).not.toHaveProperty('result')
    expect(Object.keys(steps)).toEqual(['echo', 'fail'])
  })

  test('is there as soon as it is launched, and has one of five states', async () => {
    verifies('runs:state:launch-running', 'runs:state:enum')
    const person = await newPerson()
    const graphs = [[echo], [tool('fail')], waiting, [nap], [echo, nap]]
    const ids: string[] = []
    const seen = new Set<string>()
    for (const [index, graph] of graphs.entries()) {
      await mustInstall(person, flow(graph), `flow-${index}`)
      const runId = await mustLaunch(person, {}, `flow-${index}`)
      seen.add((await getRun(person, runId)).run.status)
      ids.push(runId)
    }
    const ends = await Promise.all(ids.slice(0, 3).map((runId) => settled(person, runId)))
    expect(ends.map(({ run }) => run.status)).toEqual(['success', 'failed', 'suspended'])
    must(await cancel(person, ids[3] ?? ''), 200)
    for (const { status, snapshot } of await listRuns(person)) {
      seen.add(status)
      expect(snapshot.status).toBe(status)
    }
    expect([...seen].sort()).toEqual(['canceled', 'failed', 'running', 'success', 'suspended'])
  })

  test('has no steps to show while it is in the first', async () => {
    verifies('runs:get:steps-empty-on-first')
    const person = await newPerson()
    const runId = await begin(person, [nap])
    await reached(person, runId, 'nap')
    const { run, steps } = await getRun(person, runId)
    expect(run.status).toBe('running')
    expect(steps).toEqual({})
  })

  test('keeps what was launched, and makes ids and state itself', async () => {
    verifies('runs:launch:other-fields-ignored')
    const person = await newPerson()
    await mustInstall(person, flow([echo]))
    const body = { inputs: { a: 1 }, state: { x: 1 }, runId: 'mine' }
    const { runId } = must(await person.post<{ runId: string }>('/workflows/flow/launch', body), 201)
    expect(runId).not.toBe('mine')
    const { run } = await settled(person, runId)
    expect(run.snapshot).toMatchObject({ value: {}, result: { a: 1 } })
  })

  test('is not made of inputs that do not fit', async () => {
    verifies('runs:launch:inputs-validated')
    const person = await newPerson()
    const inputSchema = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
    await mustInstall(person, flow([echo], { inputSchema }))
    for (const inputs of [{}, { name: 5 }]) {
      const { details } = expectRefusal(await launch(person, inputs), 400, 'INVALID_INPUT')
      expect(details?.['issues']).toEqual([expect.objectContaining({ message: expect.any(String) })])
    }
    expect(await listRuns(person)).toEqual([])
  })

  test('is not made of what is not there, or does not compile any more', async () => {
    verifies('runs:launch:unknown-404', 'runs:launch:could-not-load-400')
    const person = await newPerson()
    expectRefusal(await launch(person, {}, 'never-was'), 404, 'NOT_FOUND')
    const agent = { slug: 'writer', name: 'Writer', description: 'Writes.', instructions: 'Write.' }
    must(await person.post('/agents', agent), 201)
    const graph = [mapping({ prompt: { value: 'Hi' } }), { type: 'agent', id: 'say', agentId: 'writer' }]
    await mustInstall(person, flow(graph))
    const removed = await person.delete('/agents/writer')
    expect([200, 204]).toContain(removed.status)
    expectRefusal(await launch(person), 400, 'INVALID_INPUT')
    expect(await listRuns(person)).toEqual([])
  })
})

describe('the list', () => {
  test('has fifty, or as many as were asked for', { timeout: 120_000 }, async () => {
    verifies('runs:list:limit-default-50')
    const person = await newPerson()
    await mustInstall(person, flow([echo]))
    for (let count = 0; count < 51; count++) await mustLaunch(person)
    expect(await listRuns(person)).toHaveLength(50)
    expect(await listRuns(person, '?limit=1')).toHaveLength(1)
  })

  test('shows a workspace its own runs, and everything else of others is missing', async () => {
    verifies('runs:list:workspace-scoped', 'runs:isolation:foreign-is-404', 'runs:get:unknown-404')
    const person = await newPerson()
    const runId = await begin(await newPerson(), [nap])
    expect(await listRuns(person)).toEqual([])
    const ways = (id: string) => [
      person.get(`/workflows/runs/${id}`),
      person.get(`/workflows/runs/${id}/events`),
      resume(person, id, {}),
      cancel(person, id),
    ]
    const foreign = await Promise.all(ways(runId))
    const unknown = await Promise.all(ways(`run_${randomUUID()}`))
    for (const answer of unknown) expectRefusal(answer, 404, 'NOT_FOUND')
    expect(foreign.map(({ text }) => text)).toEqual(unknown.map(({ text }) => text))
  })
})

describe('a run that waits for somebody', () => {
  test('is suspended, and goes on with the answer', async () => {
    verifies(
      'runs:state:running-to-suspended',
      'runs:state:suspended-to-running',
      'runs:resume:default-step',
      'runs:resume:answer',
    )
    const person = await newPerson()
    const runId = await suspend(person)
    const answer = await resume(person, runId, { resumeData: 'yes' })
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { runId, status: 'running' },
    })
    const { run } = await settled(person, runId)
    expect(run).toMatchObject({ status: 'success', snapshot: { result: { answer: 'yes' } } })
  })

  test('takes an answer that its tool takes, and stays as it is otherwise', async () => {
    verifies('runs:resume:body')
    const person = await newPerson()
    for (const resumeData of ['yes', { answer: 'yes' }]) {
      const runId = await suspend(person)
      for (const bad of [5, [], { other: 'yes' }, null]) {
        expectRefusal(await resume(person, runId, { resumeData: bad }), 400, 'INVALID_INPUT')
      }
      expectRefusal(await resume(person, runId, { stepId: 5 }), 400, 'INVALID_INPUT')
      expect((await getRun(person, runId)).run.status).toBe('suspended')
      must(await resume(person, runId, { resumeData, stepId: 'ask' }), 200)
      expect((await settled(person, runId)).run.snapshot.result).toEqual({ answer: 'yes' })
    }
  })

  test('wants to know which of several steps is answered', async () => {
    verifies('runs:resume:several-suspended', 'errors:code:step-mismatch')
    const person = await newPerson()
    const two = { type: 'parallel', steps: [tool('ask-human', 'one'), tool('ask-human', 'two')] }
    const { run } = await runThrough(person, [question, two])
    const { runId } = run
    const unnamed = expectRefusal(await resume(person, runId, { resumeData: 'yes' }), 409, 'STEP_MISMATCH')
    expect(unnamed.details?.['suspended']).toMatchObject([{ stepId: 'one' }, { stepId: 'two' }])
    const wrong = await resume(person, runId, { resumeData: 'yes', stepId: 'question' })
    expectRefusal(wrong, 409, 'STEP_MISMATCH')
    expect((await getRun(person, runId)).run.status).toBe('suspended')
    must(await resume(person, runId, { resumeData: 'yes', stepId: 'two' }), 200)
    expect((await settled(person, runId)).run.status).toBe('suspended')
    must(await resume(person, runId, { resumeData: 'no' }), 200)
    expect((await settled(person, runId)).run.snapshot.result).toEqual({
      one: { answer: 'no' },
      two: { answer: 'yes' },
    })
  })

  test('listens to one of all who answer at once', async () => {
    verifies('runs:resume:race-one-wins', 'errors:resume:extra-codes')
    const person = await newPerson()
    const { run } = await runThrough(person, [...waiting, nap])
    const { runId } = run
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => resume(person, runId, { resumeData: `answer ${index}` })),
    )
    const winners = answers.filter(({ status }) => status === 200)
    expect(winners).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer.status).toBe(409)
      const { code } = (answer.body as unknown as { error: { code: string } }).error
      expect(['RESUME_IN_PROGRESS', 'NOT_SUSPENDED']).toContain(code)
    }
    await reached(person, runId, 'nap')
    const { steps } = await getRun(person, runId)
    const winner = answers.findIndex(({ status }) => status === 200)
    expect(steps['ask']).toEqual({ status: 'success', output: { answer: `answer ${winner}` } })
    expectRefusal(await cancel(person, `run_${randomUUID()}`), 404, 'NOT_FOUND')
  })

  test('is refused an answer when it does not wait', async () => {
    verifies('errors:code:not-suspended')
    const person = await newPerson()
    const runId = await begin(person, [nap])
    expectRefusal(await resume(person, runId, { resumeData: 'yes' }), 409, 'NOT_SUSPENDED')
  })

  test('is refused one in a shape of its own once it has ended', async () => {
    verifies('errors:resume:finished-shape', 'runs:state:suspended-to-canceled')
    const person = await newPerson()
    const succeeded = await runThrough(person, [echo])
    const failed = await runThrough(person, [tool('fail')])
    const runId = await suspend(person)
    must(await cancel(person, runId), 200)
    expect((await getRun(person, runId)).run).toMatchObject({
      status: 'canceled',
      snapshot: { status: 'canceled' },
    })
    const ended = { success: succeeded.run.runId, failed: failed.run.runId, canceled: runId }
    for (const [status, id] of Object.entries(ended)) {
      const answer = await resume(person, id, { resumeData: 'yes' })
      expect(answer.status).toBe(409)
      expect(answer.body).toEqual({
        cancelled: true,
        code: 'NOT_SUSPENDED',
        error: `Workflow run is already ${status}`,
      })
    }
  })
})

describe('cancel', () => {
  test('ends a run that sleeps, once and for all', async () => {
    verifies(
      'runs:state:running-to-canceled',
      'runs:cancel:answer',
      'runs:cancel:finished',
      'runs:state:spelling-canceled',
    )
    const person = await newPerson()
    const runId = await begin(person, [echo, nap, tool('echo', 'after')])
    const stream = await watch(runId, person)
    await stream.next(({ data }) => data.includes('"nap"'))
    const answer = await cancel(person, runId)
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { success: true, runId },
    })
    const { run } = await getRun(person, runId)
    expect(run).toMatchObject({ status: 'canceled', snapshot: { status: 'canceled' } })
    expect((await listRuns(person))[0]?.status).toBe('canceled')
    await stream.next(({ data }) => data.includes('canceled'))
    expect(framesOf(stream).at(-1)).toMatchObject({ status: 'canceled', snapshot: { status: 'canceled' } })
    stream.close()
    expect(JSON.stringify(framesOf(stream))).not.toContain('cancelled')
    expect((await cancel(person, runId)).status).toBe(200)
    for (const graph of [[echo], [tool('fail')]]) {
      const ended = await runThrough(person, graph)
      const refusal = expectRefusal(await cancel(person, ended.run.runId), 409, 'CONFLICT')
      expect(refusal.message).toContain(ended.run.status)
    }
  })

  test('stops what a run is doing', async () => {
    verifies('runs:cancel:aborts-in-flight')
    const person = await newPerson()
    await installSkill(person)
    const input = script({ say: 'Working.', tools: [bash('sleep 4')] }, { say: 'Done.' })
    const skill = mapping({ slug: { value: 'errand' }, input: { value: input } })
    const runId = await begin(person, [skill, tool('execute-skill', 'skill'), tool('echo', 'after')])
    await expect
      .poll(async () => (await listExecutions(person)).items[0]?.status, { timeout: 20_000, interval: 500 })
      .toBe('working')
    must(await cancel(person, runId), 200)
    await pause(5000)
    const { run, steps } = await getRun(person, runId)
    expect(run.status).toBe('canceled')
    expect(Object.keys(run.snapshot.context)).toEqual(['input', 'map', 'skill'])
    expect(steps['skill']?.status).toBe('canceled')
    expect((await listExecutions(person)).items[0]).toMatchObject({
      status: 'failed',
      stopReason: 'interrupt',
    })
  })
})
