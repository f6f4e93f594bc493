import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { must, newKey, newPerson, type Person } from './support/actors.ts'
import type { Caller } from './support/client.ts'
import { errand, installSkill, lasting, list, newRunner, script, statusOf } from './support/executions.ts'
import { expectRefusal } from './support/shapes.ts'
import { frameOf, send, subscribe } from './support/threads.ts'
import { listTraces, newTrace, traceOf, turnsOf } from './support/traces.ts'
import {
  cancel,
  echo,
  flow,
  getRun,
  launch,
  mapping,
  mustInstall,
  reached,
  tool,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

/** What becomes of a chat beyond its thread: its trace, the workflows that it starts, who may reach it. */
const hello = script({ say: 'Hello.' })

/** One message to the workspace's agent, answered. */
async function chat(person: Person, message = hello): Promise<{ threadId: string; traceId: string }> {
  const answer = await person.post<{ threadId: string }>('/chat/assistant', { message, stream: false })
  const { threadId } = must(answer, 200)
  const { traceId } = must(await person.get<{ traceId: string }>(`/threads/${threadId}`), 200)
  return { threadId, traceId }
}

test('a chat makes a trace of its own kind, whose turns are those of the thread', async () => {
  verifies('traces:record:kind-enum-chat', 'traces:turns:resolved-from-thread')
  const person = await newPerson()
  const { traceId } = await chat(person)
  expect(await traceOf(person, traceId)).toMatchObject({ kind: 'chat', status: 'completed' })
  const { items } = await turnsOf(person, traceId)
  expect(items.map(({ type, origin }) => [type, origin])).toEqual([
    ['user.message', 'producer'],
    ['agent.text', 'producer'],
  ])
  expect(JSON.stringify(items[1]?.payload)).toContain('Hello.')
})

test('traces are found by their kind, and chats by the agent they are with', async () => {
  verifies('traces:record:kind-enum-chat', 'traces:list:filter-kind-chat', 'traces:list:filter-agent-chat')
  const person = await newRunner()
  const { traceId } = await chat(person)
  const other = await newTrace(person)
  const ids = async (query: string) => (await listTraces(person, query)).items.map(({ id }) => id)
  expect(await ids('?kind=chat')).toEqual([traceId])
  expect(await ids('?kind=execution')).not.toContain(traceId)
  expect((await listTraces(person)).items.map(({ kind }) => kind).toSorted()).toEqual(['chat', 'execution'])
  expect(await ids('?agent=assistant')).toEqual([traceId])
  expect(await ids('?agent=nobody')).toEqual([])
  expect(other).toBeDefined()
})

test('a key with every scope may write to agents', async () => {
  verifies('keys:scopes:wildcard-full-access-chat')
  const person = await newPerson()
  const key = await newKey(person)
  const sent = await send(key, { resourceId: person.workspaceId, threadId: 'all', message: hello })
  expect(sent.status, sent.text).toBe(202)
})

const calls: Readonly<Record<string, (caller: Caller, id: string) => ReturnType<Caller['get']>>> = {
  get: (caller, id) => caller.get(`/threads/${id}`),
  messages: (caller, id) => caller.get(`/threads/${id}/messages`),
  runs: (caller, id) => caller.get(`/threads/${id}/runs`),
  notifications: (caller, id) => caller.get(`/threads/${id}/notifications`),
  interrupt: (caller, id) => caller.post(`/threads/${id}/interrupt`),
  delete: (caller, id) => caller.send('DELETE', `/threads/${id}`),
}

test('a thread of another workspace is not there', async () => {
  verifies('errors:code:not-found-byte-equal-thread')
  const [owner, stranger] = [await newPerson(), await newPerson()]
  const { threadId } = await chat(owner)
  for (const [name, call] of Object.entries(calls)) {
    const missing = await call(stranger, `thread_${randomUUID()}`)
    expectRefusal(missing, 404, 'NOT_FOUND')
    const foreign = await call(stranger, threadId)
    expect([foreign.status, foreign.text], name).toEqual([404, missing.text])
  }
  const message = { threadId: 'mine', message: hello }
  const elsewhere = [owner.workspaceId, randomUUID()]
  const answers = []
  for (const resourceId of elsewhere) answers.push(await send(stranger, { resourceId, ...message }))
  expect(answers.map(({ status }) => status)).toEqual([404, 404])
  expect(answers[0]?.text).toBe(answers[1]?.text)
  must(await owner.get(`/threads/${threadId}`), 200)
})

/** Has the agent launch the workflow `flow`, and gives the id of its run. */
async function launchInThread(person: Person, threadId: string): Promise<string> {
  const stream = await subscribe(person, { resourceId: person.workspaceId, threadId })
  await frameOf(stream, 'thread.ready')
  const message = script(
    { tools: [{ name: 'launch_workflow', input: { slug: 'flow' } }] },
    { say: 'It runs.' },
  )
  must(await send(person, { resourceId: person.workspaceId, threadId, message }), 202)
  const { payload } = await frameOf(stream, 'agent.tool_result')
  stream.close()
  const launched = JSON.parse(String(payload['summary']))
  expect(launched).toMatchObject({ status: 'started', conversationId: threadId })
  return launched.runId
}

test('a workflow that was started in a thread says so, and its end is told there', async () => {
  verifies('runs:record:conversation-id-chat-only', 'threads:notify:chat-started-workflow')
  const person = await newPerson()
  await mustInstall(person, flow([echo]))
  const stream = await subscribe(person, { resourceId: person.workspaceId, threadId: 'launching' })
  await frameOf(stream, 'thread.ready')
  const runId = await launchInThread(person, 'launching')
  const told = await frameOf(stream, 'notification')
  expect(told.payload).toMatchObject({ kind: 'workflow.completed', dedupeKey: `${runId}:success` })
  stream.close()
  expect((await getRun(person, runId)).run).toMatchObject({ conversationId: 'launching' })
  const launched = must(await launch(person), 201)
  expect(launched).not.toHaveProperty('conversationId')
  expect((await getRun(person, launched.runId)).run).not.toHaveProperty('conversationId')
})

test('canceling a run that was started in a thread ends the execution it waits for', async () => {
  verifies('runs:cancel:chat-tears-down-sandbox')
  const person = await newPerson()
  await installSkill(person)
  const what = mapping({ slug: { value: errand }, input: { value: lasting } }, 'what')
  await mustInstall(person, flow([what, tool('execute-skill', 'skill')]))
  const runId = await launchInThread(person, 'canceling')
  await reached(person, runId, 'skill')
  const working = await vi.waitFor(
    async () => {
      const { items } = await list(person)
      expect(items.map(({ status }) => status)).toEqual(['working'])
      return items[0]?.executionId ?? ''
    },
    { timeout: 20_000, interval: 200 },
  )
  expect(must(await cancel(person, runId), 200).success).toBe(true)
  await vi.waitFor(
    async () =>
      expect(await statusOf(person, working)).toMatchObject({ status: 'failed', stopReason: 'interrupt' }),
    { timeout: 20_000, interval: 200 },
  )
})
