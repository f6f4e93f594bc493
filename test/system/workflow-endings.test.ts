import type { Approval } from '@guildhall/contract'
import { beforeAll, expect, test } from 'vitest'
import { listOpenCalls, type OpenCall } from '../chaos/engine-evidence.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { newRunner } from '../support/executions.ts'
import { until } from '../support/processes.ts'
import { definitionOf, endStates, type Runs, runsOf } from '../support/workflows.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

/** No run says for ever that it is running: what cannot be kept ends it, and what the engine gives up is taken up. */
let stack: SharedStack
let app: Caller
let person: Person
let runs: Runs

const waitMs = 60_000
const nul = 'a\u0000b'
const given = (values: Record<string, unknown>) => {
  const fields = Object.entries(values).map(([name, value]) => [name, { value }])
  return { type: 'mapping', id: 'given', mapConfig: JSON.stringify(Object.fromEntries(fields)) }
}
const tool = (toolId: string) => ({ type: 'tool', id: 'step', toolId })

beforeAll(async () => {
  stack = await calmStack()
  app = createCaller(stack.baseUrl)
  person = await newRunner(app)
  runs = runsOf(app, person)
})

async function start(slug: string, graph: readonly unknown[]): Promise<string> {
  await runs.install(slug, definitionOf(slug, graph))
  return runs.start(slug)
}

test('a NUL for a skill is an input that is not good', async () => {
  const runId = await start('skill', [given({ slug: 'errand', input: nul }), tool('execute-skill')])
  const { run, steps } = await runs.reaches(runId, endStates, waitMs)
  expect([run.status, steps['step']?.error?.code]).toEqual(['failed', 'STEP_INPUT_INVALID'])
})

test('a NUL for an agent with tools is one too', async () => {
  const agent = { slug: 'hand', name: 'Hand', instructions: 'Help.', tools: ['workflows'] }
  await app.call('POST', '/api/v1/agents', { token: person.token, body: agent })
  const step = { type: 'agent', id: 'step', agentId: 'hand' }
  const runId = await start('agent', [given({ prompt: nul }), step])
  const { run, steps } = await runs.reaches(runId, endStates, waitMs)
  expect([run.status, steps['step']?.error?.code]).toEqual(['failed', 'STEP_INPUT_INVALID'])
})

test('a NUL that a run only passes on, asks about and gives is data like any other', async () => {
  const ask = tool('ask-human')
  const runId = await start('pass', [given({ question: nul }), ask, { ...given({ said: nul }), id: 'end' }])
  await runs.reaches(runId, ['suspended'], waitMs)
  await runs.resume(runId, { resumeData: 'yes' })
  const { run } = await runs.reaches(runId, endStates, waitMs)
  expect([run.status, run.snapshot.result]).toEqual(['success', { said: nul }])
})

test('a run that asks more than the inbox takes of it asks the rest as it is answered', async () => {
  const steps = Array.from({ length: 22 }, (_, at) => ({ ...tool('ask-human'), id: `ask${at}` }))
  const runId = await start('many', [given({ question: 'Whose?' }), { type: 'parallel', steps }])
  await runs.reaches(runId, ['suspended'], waitMs)
  const answered = new Set<string>()
  while (answered.size < steps.length) {
    const path = '/api/v1/approvals?kind=workflow&status=pending&limit=100'
    const { body } = await app.call('GET', path, { token: person.token })
    const open = (body.items as Approval[]).filter(({ workflow }) => workflow?.runId === runId)
    expect(open.length).toBeLessThanOrEqual(20)
    for (const { id } of open) {
      const said = { token: person.token, body: { resumeData: 'Mine.' } }
      const answer = await app.call('POST', `/api/v1/approvals/${id}/approve`, said)
      if (answer.status === 200) answered.add(id)
    }
  }
  expect((await runs.reaches(runId, endStates, waitMs)).run.status).toBe('success')
})

/** Many short sleeps: the engine puts aside at once what its worker waits in, and not what it has suspended itself. */
const naps = Array.from({ length: 12 }, (_, at) => ({ type: 'sleep', id: `nap${at}`, duration: 200 }))

async function callOf(runId: string): Promise<OpenCall | undefined> {
  return (await listOpenCalls(stack)).find(({ key, handler }) => key === runId && handler === 'run')
}

async function putAside(runId: string): Promise<void> {
  await until(async () => {
    const call = await callOf(runId)
    if (call?.status === 'paused') return true
    if (call) await fetch(`${stack.restateAdminUrl}/invocations/${call.id}/pause`, { method: 'PATCH' })
    return false
  }, waitMs)
}

test('what the engine has put aside is taken up again, and goes on where it was', async () => {
  const runId = await start('aside', [given({ said: 'hello' }), ...naps])
  await putAside(runId)
  const { run } = await runs.reaches(runId, endStates, waitMs)
  expect([run.status, run.snapshot.result]).toEqual(['success', { said: 'hello' }])
})
