import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { must, newKey, newPerson } from './support/actors.ts'
import type { Answer, Caller } from './support/client.ts'
import { removeScope } from './support/consent.ts'
import {
  bash,
  cancel,
  errand,
  installSkill,
  interrupt,
  lasting,
  message,
  newSkillArtifact,
  prepare,
  quick,
  readLog,
  runThrough,
  type Started,
  script,
  statusOf,
} from './support/executions.ts'
import { expectRefusal } from './support/shapes.ts'
import { someCatalogSlug } from './support/skills.ts'
import {
  echo,
  flow,
  launch,
  listRuns,
  mustInstall,
  mustLaunch,
  newWorkflowArtifact,
  reached,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

type Call = (caller: Caller) => Promise<Answer>

function expectMissing(answer: Answer, scope: string): void {
  expect(expectRefusal(answer, 403, 'FORBIDDEN').message).toContain(scope)
}

test('whatever starts or stops something needs tool:execute', async () => {
  verifies('auth:scope:route-map-execute')
  const person = await newPerson()
  await installSkill(person)
  const executionId = await prepare(person)
  const calls: Call[] = [
    (caller) => caller.post(`/skills/${errand}/run`, { input: quick }),
    (caller) => caller.post(`/executions/${executionId}/events`, { events: [interrupt] }),
    (caller) => caller.post(`/executions/${executionId}/rerun`, { input: quick }),
    (caller) => caller.post(`/executions/${executionId}/cancel`),
    (caller) => caller.post('/workflows/flow/launch'),
    (caller) => caller.post('/workflows/runs/none/resume'),
    (caller) => caller.post('/workflows/runs/none/cancel'),
    (caller) => caller.delete('/workflows/queue/none'),
  ]
  const without = await newKey(person, { scopes: ['profile:read'] })
  const holding = await newKey(person, { scopes: ['tool:execute'] })
  for (const call of calls) {
    expectMissing(await call(without), 'tool:execute')
    expect((await call(holding)).status).not.toBe(403)
  }
})

test('without its scope a call is refused alike for what is there and what is not', async () => {
  verifies('auth:scope:checked-before-lookup')
  const person = await newPerson()
  await installSkill(person)
  await mustInstall(person, flow([echo]))
  const executionId = await prepare(person)
  const artifactId = await newSkillArtifact(person, 'other')
  const runId = await mustLaunch(person)
  const calls: [there: string, (caller: Caller, id: string) => Promise<Answer>][] = [
    [errand, (caller, slug) => caller.post(`/skills/${slug}/uninstall`)],
    [errand, (caller, slug) => caller.post(`/skills/${slug}/versions/1/restore`)],
    [executionId, (caller, id) => caller.post(`/executions/${id}/events`, { events: [message(quick)] })],
    [executionId, (caller, id) => caller.post(`/executions/${id}/events`, { events: [interrupt] })],
    [executionId, (caller, id) => caller.post(`/executions/${id}/rerun`, { input: quick })],
    [executionId, (caller, id) => caller.post(`/executions/${id}/cancel`)],
    ['flow', (caller, id) => caller.post(`/workflows/${id}/launch`)],
    ['flow', (caller, slug) => caller.delete(`/workflows/${slug}`)],
    [runId, (caller, id) => caller.post(`/workflows/runs/${id}/resume`)],
    [runId, (caller, id) => caller.post(`/workflows/runs/${id}/rerun`)],
    [runId, (caller, id) => caller.post(`/workflows/runs/${id}/cancel`)],
    [runId, (caller, id) => caller.delete(`/workflows/queue/${id}`)],
    [artifactId, (caller, id) => caller.delete(`/artifacts/${id}`)],
    ['assistant', (caller, id) => caller.delete(`/agents/${id}`)],
  ]
  const key = await newKey(person, { scopes: ['profile:read'] })
  for (const [there, call] of calls) {
    const refused = expectRefusal(await call(key, there), 403, 'FORBIDDEN')
    expect(expectRefusal(await call(key, `none-${randomUUID()}`), 403, 'FORBIDDEN')).toEqual(refused)
  }
  expect((await statusOf(person, executionId)).status).toBe('idle')
})

test('a key stops without a scope what it has started itself, and nothing else', async () => {
  verifies('auth:scope:cancel-own')
  const person = await newPerson()
  await installSkill(person)
  await mustInstall(person, flow([{ type: 'sleep', id: 'rest', duration: 600_000 }]))
  const key = await newKey(person, { scopes: ['tool:execute'] })
  const { executionId } = must(await key.post<Started>(`/skills/${errand}/run`, { input: lasting }), 200)
  const runId = await mustLaunch(key)
  const another = await mustLaunch(person)
  // A step that begins once the key may no longer act ends the run: then there is nothing left to stop.
  await reached(person, runId, 'rest')
  must(await removeScope(person, key.id, 'tool:execute'), 200)
  const own = await prepare(key)
  expect((await key.post(`/executions/${own}/events`, { events: [interrupt] })).status).toBe(200)
  expectMissing(await key.post(`/executions/${own}/events`, { events: [message(quick)] }), 'tool:execute')
  expect(await cancel(key, executionId)).toMatchObject({ success: true })
  expectMissing(await key.post(`/workflows/runs/${another}/cancel`), 'tool:execute')
  expect((await key.post(`/workflows/runs/${runId}/cancel`)).status).toBe(200)
  expectMissing(await key.post(`/executions/${await prepare(person)}/cancel`), 'tool:execute')
})

test('whatever changes the library needs workspace:files:write', async () => {
  verifies('auth:scope:route-map-files-write')
  const person = await newPerson()
  await installSkill(person)
  const without = await newKey(person, { scopes: ['tool:execute'] })
  const holding = await newKey(person, { scopes: ['workspace:files:write'] })
  // Its own: what others made it may not read, and so not name.
  const artifactId = await newSkillArtifact(holding, 'other')
  const workflowArtifactId = await newWorkflowArtifact(holding, flow([echo]))
  const git = { source: { type: 'git', url: 'https://nowhere.invalid/x.git' } }
  const calls: Call[] = [
    (caller) => caller.post('/skills/other/install', { artifactId }),
    (caller) => caller.post(`/skills/${errand}/versions/1/restore`),
    (caller) => caller.post(`/skills/${errand}/uninstall`),
    (caller) => caller.post('/workflows/flow/install', { definition: flow([echo]) }),
    (caller) => caller.post('/workflows/install-from-artifact', { artifactId: workflowArtifactId }),
    (caller) => caller.post('/workflows/flow/uninstall'),
    (caller) => caller.delete('/workflows/brought'),
    (caller) => caller.post('/artifacts', { type: 'file', files: [{ path: 'a.txt', content: 'a' }] }),
    (caller) => caller.delete(`/artifacts/${artifactId}`),
    (caller) => caller.post('/install', git),
  ]
  for (const call of calls) {
    expectMissing(await call(without), 'workspace:files:write')
    expect((await call(holding)).status).not.toBe(403)
  }
})

test('files are read with workspace:files:read', async () => {
  verifies('auth:scope:route-map-files-read')
  const person = await newPerson()
  await installSkill(person)
  const artifactId = await newSkillArtifact(person, 'other')
  const attachments = [{ name: 'a.md', artifactId }]
  const calls: Call[] = [
    (caller) => caller.get('/artifacts'),
    (caller) => caller.get(`/artifacts/${artifactId}`),
    (caller) => caller.get(`/artifacts/${artifactId}/content`),
    (caller) => caller.get(`/skills/${errand}/bundle`),
    (caller) => caller.get(`/skills/${errand}/diff`),
    (caller) => caller.post('/executions', { skill_slug: errand, input: quick, attachments }),
  ]
  const without = await newKey(person, { scopes: ['tool:execute', 'workspace:files:write'] })
  const holding = await newKey(person, { scopes: ['workspace:files:read'] })
  for (const call of calls) {
    expectMissing(await call(without), 'workspace:files:read')
    expect((await call(holding)).status).toBe(200)
  }
  const unknown = expectRefusal(await without.get(`/artifacts/none-${randomUUID()}`), 403, 'FORBIDDEN')
  expect(expectRefusal(await without.get(`/artifacts/${artifactId}`), 403, 'FORBIDDEN')).toEqual(unknown)
})

test('a key reads the outputs of what it has started itself', async () => {
  verifies('auth:scope:own-outputs')
  const person = await newPerson()
  await installSkill(person)
  const [key, sibling] = [
    await newKey(person, { scopes: ['tool:execute'] }),
    await newKey(person, { scopes: ['tool:execute'] }),
  ]
  const input = script({ say: 'Writing.', tools: [bash('printf kept > out.txt')] }, { say: 'Done.' })
  const { executionId } = await runThrough(key, input)
  const { outputBlocks } = await statusOf(key, executionId)
  const file = outputBlocks.find(({ type }) => type === 'file')
  const content = `root:${file?.['url']}`
  const record = content.slice(0, content.indexOf('/content')) as `root:${string}`
  expect((await key.get(content)).text).toBe('kept')
  expect((await key.get(record)).status).toBe(200)
  for (const path of [record, content]) expectMissing(await sibling.get(path), 'workspace:files:read')
  expectMissing(await key.get('/artifacts'), 'workspace:files:read')
  must(await removeScope(person, key.id, 'tool:execute'), 200)
  expectMissing(await key.get(content), 'workspace:files:read')
})

test('any active key may read what its workspace has', async () => {
  verifies('auth:scope:reads-any-active-key')
  const person = await newPerson()
  await installSkill(person)
  await mustInstall(person, flow([echo]))
  const runId = await mustLaunch(person, { text: 'a' })
  const executionId = await prepare(person)
  await cancel(person, executionId)
  const key = await newKey(person, { scopes: ['profile:read'] })
  const paths = {
    skills: ['', `/${errand}`, `/${errand}/versions`],
    'marketplace/skills': ['', '/categories', `/${await someCatalogSlug()}`],
    workflows: ['', '/flow', '/definitions', '/queue', '/runs', `/runs/${runId}`],
    executions: ['', `/${executionId}/status`, `/${executionId}/stream-token`],
  }
  for (const [start, ends] of Object.entries(paths))
    for (const end of ends) expect((await key.get(`/${start}${end}`)).status, start + end).toBe(200)
  expect((await readLog(key, executionId)).length).toBeGreaterThan(0)
})

test('no start takes more than 100 KB', async () => {
  verifies('limits:input:all-starts')
  const person = await newPerson()
  await installSkill(person)
  await mustInstall(person, flow([echo]))
  const tooMuch = 'x'.repeat(102_401)
  const executionId = await prepare(person)
  const idle = await prepare(person)
  const answers = [
    await person.post(`/skills/${errand}/run`, { input: tooMuch }),
    await person.post('/executions', { skill_slug: errand, input: tooMuch }),
    await person.post(`/executions/${executionId}/rerun`, { input: tooMuch }),
    await person.post(`/executions/${idle}/events`, { events: [message(tooMuch)] }),
    await launch(person, { text: 'x'.repeat(102_401 - '{"text":""}'.length) }),
  ]
  for (const answer of answers) {
    expect(answer.status, answer.text.slice(0, 200)).toBe(400)
    expect(answer.text).toContain('INVALID_INPUT')
  }
  expect(await listRuns(person)).toEqual([])
  must(await launch(person, { text: 'x'.repeat(102_400 - '{"text":""}'.length) }), 201)
  // What was let in when it was made is let in when it starts, with as much said to it then.
  const most = quick.padEnd(102_400)
  const full = await prepare(person, { input: most })
  must(await person.post(`/executions/${full}/events`, { events: [message('y'.repeat(102_400))] }), 200)
  await readLog(person, full)
  expect((await statusOf(person, full)).status).toBe('completed')
  for (const path of [`/skills/${errand}/run`, `/executions/${full}/rerun`]) {
    const started = must(await person.post<Started>(path, { input: most }), 200)
    await readLog(person, started.executionId)
    expect((await statusOf(person, started.executionId)).status, path).toBe('completed')
  }
})

test('the id of an agent is that of its workspace and its slug', async () => {
  verifies('workspaces:agent-id:compound')
  const person = await newPerson()
  must(
    await person.post('/agents', { slug: 'writer', name: 'Writer', description: '', instructions: 'Write.' }),
    201,
  )
  const { body } = await person.get<{ id: string; slug: string }[]>('/agents')
  expect(body.map(({ slug }) => slug)).toContain('writer')
  for (const { id, slug } of body) expect(id).toBe(`${person.workspaceId}:${slug}`)
})
