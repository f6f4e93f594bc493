import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { must, newPerson } from './support/actors.ts'
import type { Caller } from './support/client.ts'
import { newSkillArtifact } from './support/executions.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import {
  echo,
  flow,
  install,
  issuesOf,
  launch,
  listRuns,
  mapping,
  mustInstall,
  mustLaunch,
  newWorkflowArtifact,
  primaryAgent,
  settled,
  tool,
  type WorkflowRecord,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

const constant = (value: unknown) => flow([mapping({ value: { value } })])

async function list(caller: Caller): Promise<WorkflowRecord[]> {
  return must(await caller.get<WorkflowRecord[]>('/workflows'), 200)
}

function get(caller: Caller, slug = 'flow') {
  return caller.get<WorkflowRecord>(`/workflows/${slug}`)
}

test('an installed workflow tells what it is, and its definition as text', async () => {
  verifies(
    'workflows:record:fields',
    'workflows:record:definition-is-json-string',
    'workflows:install:201',
    'workflows:list:bare-array',
    'workflows:get:record',
  )
  const person = await newPerson()
  expect(await list(person)).toEqual([])
  const answer = await install(person, flow([echo]))
  expect(answer.status).toBe(201)
  expect(answer.body).toEqual({
    id: expect.any(Number),
    slug: 'flow',
    name: expect.any(String),
    description: expect.any(String),
    category: expect.any(String),
    storagePath: expect.stringMatching(/./),
    installedAt: expect.stringMatching(isoPattern),
    workspaceId: person.workspaceId,
    requiresConnector: null,
    definition: expect.any(String),
  })
  expect(JSON.parse(answer.body.definition)).toMatchObject({ id: 'flow', graph: [echo] })
  expect((await install(person, flow([echo]))).status).toBe(201)
  const records = await list(person)
  expect(records).toHaveLength(1)
  expect((await get(person)).body).toEqual(records[0])
})

test('the three ways to send a definition store the same, and it is read back from the store', async () => {
  verifies('workflows:install:same-stored', 'workflows:record:definition-read-from-storage')
  const person = await newPerson()
  const definition = flow([echo], { metadata: { order: ['b', 'a'], z: 1, a: 2 } })
  const bodies = {
    content: { content: JSON.stringify(definition) },
    wrapped: { definition },
    bare: definition,
  }
  const stored = []
  for (const [slug, body] of Object.entries(bodies)) {
    const answer = await person.post<WorkflowRecord>(`/workflows/${slug}/install`, body)
    expect(answer.status, answer.text).toBe(201)
    expect((await get(person, slug)).body.definition).toBe(answer.body.definition)
    stored.push(JSON.parse(answer.body.definition))
  }
  expect(stored).toEqual([definition, definition, definition])
})

test('an install over another one replaces it, and the next launch runs the new one', async () => {
  verifies('workflows:install:overwrites', 'workflows:install:two-stores-agree')
  const person = await newPerson()
  await mustInstall(person, constant('old'))
  await mustInstall(person, constant('new'))
  const runId = await mustLaunch(person)
  const records = await list(person)
  expect(records.map(({ slug }) => slug)).toEqual(['flow'])
  expect(records[0]?.definition).toContain('new')
  const { run } = await settled(person, runId)
  expect(run.snapshot.result).toEqual({ value: 'new' })
})

test('what does not compile is refused and changes nothing', async () => {
  verifies('workflows:install:compile-before-write', 'workflows:install:not-compiling-400')
  const person = await newPerson()
  await mustInstall(person, constant('kept'))
  const before = (await get(person)).body
  expectRefusal(await install(person, flow([tool('no-such-tool')])), 400, 'INVALID_INPUT')
  const text = await person.post('/workflows/flow/install', { content: '{' })
  expectRefusal(text, 400, 'INVALID_INPUT')
  expect((await get(person)).body).toEqual(before)
  const { run } = await settled(person, await mustLaunch(person))
  expect(run.snapshot.result).toEqual({ value: 'kept' })
})

test.each([undefined, {}, { content: '' }])(
  'without a definition there is nothing to install: %j',
  async (body) => {
    verifies('workflows:install:missing-definition-400')
    const person = await newPerson()
    expectRefusal(await person.post('/workflows/flow/install', body), 400, 'INVALID_INPUT')
    expect(await list(person)).toEqual([])
  },
)

test('agents and tools must be known here', async () => {
  verifies('workflows:install:agent-resolution', 'workflows:install:tool-resolution')
  const person = await newPerson()
  const foreign = await primaryAgent(await newPerson())
  const agent = (agentId: string) => [
    mapping({ prompt: { value: 'Hi' } }),
    { type: 'agent', id: 'say', agentId },
  ]
  const answers = await Promise.all(
    [`${person.workspaceId}:nobody`, foreign.id].map((id) => install(person, flow(agent(id)))),
  )
  const [unknown, others] = answers.map((answer) => issuesOf(answer))
  expect(unknown).toEqual([expect.objectContaining({ code: 'unresolved-agent', path: 'graph.1.agentId' })])
  const anyId = (text: string | undefined) => text?.replaceAll(/[\w-]+:[\w-]+/g, '<id>')
  expect(others?.map((issue) => ({ ...issue, message: anyId(issue.message) }))).toEqual(
    unknown?.map((issue) => ({ ...issue, message: anyId(issue.message) })),
  )
  const answer = await install(person, flow([tool('no-such-tool')]))
  expect(issuesOf(answer)).toEqual([
    expect.objectContaining({ code: 'unresolved-tool', path: 'graph.0.toolId' }),
  ])
  const own = await primaryAgent(person)
  expect((await install(person, flow(agent(own.id)))).status).toBe(201)
})

test('what can be launched is listed without the graphs', async () => {
  verifies(
    'workflows:definitions:answer',
    'workflows:definitions:item-fields',
    'workflows:definitions:graph-excluded',
    'versioning:workflows:format-string',
  )
  const person = await newPerson()
  const schemas = { inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }
  const triggers = [{ type: 'daily' }]
  await mustInstall(person, flow([echo], { ...schemas, metadata: { triggers, requiresConnector: 'mail' } }))
  await mustInstall(person, flow([echo], { id: 'plain', ...schemas }), 'plain')
  const { body } = await person.get<{ workflows: Record<string, unknown>[] }>('/workflows/definitions')
  expect(body).toEqual({
    workflows: expect.any(Array),
    format: 'guildhall-workflow-v1',
    exportable: expect.any(Boolean),
    count: 2,
  })
  const item = {
    id: 'flow',
    slug: 'flow',
    name: expect.any(String),
    description: expect.any(String),
    category: expect.any(String),
    ...schemas,
    triggers,
    requiresConnector: 'mail',
  }
  const plain = { ...item, id: 'plain', slug: 'plain', triggers: [], requiresConnector: null }
  expect(body.workflows).toEqual([item, plain])
})

test('the names of listings are no slugs', async () => {
  verifies('workflows:definitions:not-a-slug')
  const person = await newPerson()
  for (const slug of ['definitions', 'runs', 'queue', 'install-from-artifact', 'validate']) {
    expectRefusal(await install(person, flow([echo]), slug), 400, 'INVALID_INPUT')
  }
  const fields = { definitions: 'workflows', runs: 'runs', queue: 'queued' }
  for (const [path, field] of Object.entries(fields)) {
    expect((await person.get<Record<string, unknown>>(`/workflows/${path}`)).body[field]).toEqual([])
  }
})

test('a workspace sees its own workflows only', async () => {
  verifies('workflows:list:workspace-scoped', 'workflows:get:not-installed-404')
  const person = await newPerson()
  const other = await newPerson()
  await mustInstall(other, flow([echo]))
  expect(await list(person)).toEqual([])
  const foreign = await get(person)
  expectRefusal(foreign, 404, 'NOT_FOUND')
  expect((await get(person, 'never-was')).text).toBe(foreign.text)
})

test('uninstall and delete are the same, and both know what is not there', async () => {
  verifies(
    'workflows:uninstall:success',
    'workflows:uninstall:delete-same',
    'workflows:uninstall:unknown-404',
  )
  const person = await newPerson()
  const ways = [() => person.post('/workflows/flow/uninstall'), () => person.delete('/workflows/flow')]
  for (const remove of ways) {
    await mustInstall(person, flow([echo]))
    const answer = await remove()
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: { success: true } })
    expectRefusal(await get(person), 404, 'NOT_FOUND')
    expectRefusal(await remove(), 404, 'NOT_FOUND')
  }
})

test('a workflow comes out of an artifact, under the slug of the artifact', async () => {
  verifies(
    'workflows:artifact-install:201',
    'workflows:artifact-install:slug-from-artifact',
    'workflows:artifact-install:only-workflow-json',
    'artifacts:workflow:carries-workflow-json',
  )
  const person = await newPerson()
  const definition = constant('of the artifact')
  const other = { path: 'other.json', content: JSON.stringify(constant('other')) }
  const artifactId = await newWorkflowArtifact(person, definition, { slug: 'brought' }, [other])
  const answer = await person.post<WorkflowRecord>('/workflows/install-from-artifact', { artifactId })
  expect(answer.status, answer.text).toBe(201)
  expect(answer.body).toMatchObject({ slug: 'brought', workspaceId: person.workspaceId })
  expect(JSON.parse(answer.body.definition)).toEqual(definition)
  expect((await get(person, 'brought')).body).toEqual(answer.body)
})

test('an artifact that is no good workflow is refused, each in its way', async () => {
  verifies(
    'workflows:artifact-install:unknown-404',
    'workflows:artifact-install:missing-id-400',
    'workflows:artifact-install:wrong-type-400',
    'workflows:artifact-install:invalid-definition-500',
  )
  const person = await newPerson()
  const installFrom = (body: unknown) => person.post('/workflows/install-from-artifact', body)
  const foreign = await newWorkflowArtifact(await newPerson(), flow([echo]))
  const unknown = await installFrom({ artifactId: `artifact_${randomUUID()}` })
  expectRefusal(unknown, 404, 'NOT_FOUND')
  expect((await installFrom({ artifactId: foreign })).text).toBe(unknown.text)
  expectRefusal(await installFrom({}), 400, 'INVALID_INPUT')
  expectRefusal(await installFrom({ artifactId: 5 }), 400, 'INVALID_INPUT')
  const skill = await newSkillArtifact(person, 'errand')
  expectRefusal(await installFrom({ artifactId: skill }), 400, 'INVALID_INPUT')
  const empty = await newWorkflowArtifact(person, flow([]))
  const refusal = expectRefusal(await installFrom({ artifactId: empty }), 500, 'INTERNAL_ERROR')
  expect(refusal.details?.['issues']).toEqual([expect.objectContaining({ code: 'empty-graph' })])
  const bySlug = expectRefusal(await install(person, flow([])), 400, 'INVALID_INPUT')
  expect(refusal.message).toBe(bySlug.message)
  expect(refusal.message).toContain('graph')
  expect(await list(person)).toEqual([])
})

test('nothing composes, triggers or calls back', async () => {
  verifies('workflows:compose:no-endpoint', 'workflows:trigger:no-webhook-or-callback')
  const person = await newPerson()
  await mustInstall(person, flow([echo]))
  for (const path of ['compose', 'flow/webhook', 'flow/trigger']) {
    expectRefusal(await person.post(`/workflows/${path}`, {}), 404, 'NOT_FOUND')
  }
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const callbackUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`
  try {
    const answer = await person.post<{ runId: string }>('/workflows/flow/launch', { callbackUrl })
    const { run } = await settled(person, must(answer, 201).runId)
    expect(run.status).toBe('success')
    expect(asked).toEqual([])
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
})

test('a launch tells the ids of the run and the workflow, by whatever id it was asked for', async () => {
  verifies(
    'runs:launch:answer',
    'runs:launch:id-library-slug',
    'runs:launch:id-runtime',
    'runs:launch:id-declared',
    'definition:top:id-is-launch-id',
    'runs:launch:inputs-optional',
    'runs:list:answer',
    'runs:list:empty',
  )
  const person = await newPerson()
  expect(await listRuns(person)).toEqual([])
  await mustInstall(person, flow([echo], { id: 'declared' }), 'library')
  const workflowId = `${person.workspaceId}:library`
  const answer = await person.post('/workflows/library/launch')
  expect({ status: answer.status, body: answer.body }).toEqual({
    status: 201,
    body: { runId: expect.stringMatching(/./), workflowId, status: 'started' },
  })
  for (const id of [workflowId, 'declared']) {
    expect(must(await launch(person, {}, id), 201).workflowId).toBe(workflowId)
  }
  const { runId } = answer.body as { runId: string }
  const { run } = await settled(person, runId)
  expect(run.snapshot.result).toEqual({})
  const runs = await listRuns(person)
  expect(runs).toHaveLength(3)
  expect(runs.find((one) => one.runId === runId)).toMatchObject({ workflowId, status: 'success' })
})
