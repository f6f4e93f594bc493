import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Wait } from '#running/threads/toolset/toolset.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'
import { givePasskey } from '../support/passkeys.ts'
import { newToolRun, type Sender, toolsetParts } from '../support/tool-runs.ts'

let house: House
let ingress: Ingress
let person: Person
let session: Sender

beforeAll(async () => {
  ingress = await openIngress()
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '10000',
    LIMITS: 'toolCall=40/60,rest=2000/60,skillRun=1000/60',
  })
  person = await house.newPerson({ mode: 'basedmode' })
  for (const slug of ['plain', 'quiet'])
    await call('POST', `/workflows/${slug}/install`, { definition: definition(slug) })
  const files = [{ path: 'SKILL.md', content: '---\nname: writer\ndescription: Writes.\n---\nWrite.\n' }]
  const artifact = await call('POST', '/artifacts', { type: 'skill', files })
  for (const slug of ['writer', 'other']) {
    const { status, text } = await call('POST', `/skills/${slug}/install`, { artifactId: artifact.body.id })
    if (status >= 300) throw new Error(text)
  }
  session = await sessionOf(person)
})

afterAll(async () => {
  await house.close()
  await ingress.close()
})

const definition = (id: string, graph: unknown[] = [{ type: 'mapping', id: 'out', mapConfig: '{}' }]) => ({
  id,
  inputSchema: {},
  outputSchema: {},
  graph,
})

const call = (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: person.token, ...(body === undefined ? {} : { body }) })

async function sessionOf({ userId, workspaceId }: Person): Promise<Sender> {
  const { db } = house.deps.database
  const row = await db
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow()
  return { userId, workspaceId, credential: { kind: 'session', id: row.id } }
}

async function keyWith(scopes: string[], more: object = {}): Promise<Sender & { keyId: number }> {
  const made = await call('POST', '/keys', {
    label: 'chat',
    access: 'declared',
    scopes: ['agent:message', ...scopes],
    ...more,
  })
  if (made.status !== 201) throw new Error(made.text)
  const { userId, workspaceId } = person
  const keyId = made.body.id
  return { keyId, userId, workspaceId, credential: { kind: 'key', id: keyId } }
}

type Used = Awaited<ReturnType<ReturnType<typeof newToolRun>['toolset']['use']>>

function pauseOf(used: Used): Wait {
  if (!('pause' in used)) throw new Error(`not paused: ${used.output}`)
  return used.pause
}

function outputOf(used: Used): { output: string; isError: boolean; delegatedMilliDs?: number } {
  if ('pause' in used) throw new Error(`paused: ${JSON.stringify(used.pause)}`)
  return used
}

const launch = (id: string, slug: string) => ({ id, name: 'launch_workflow', input: { slug } })

const reaching = (url: string) =>
  definition('reaching', [
    { type: 'mapping', id: 'm', mapConfig: JSON.stringify({ url: { value: url } }) },
    { type: 'tool', id: 't', toolId: 'http-request' },
  ])

const install = (slug: string, graph?: unknown[]) => ({
  id: `call_${slug}`,
  name: 'install_workflow',
  input: { slug, definition: definition(slug, graph) },
})

describe('what a model gets wrong is told to it', () => {
  test('an unknown tool, an input that does not fit, a thing that is not there', async () => {
    const { toolset } = newToolRun(toolsetParts(house), session)
    const told = async (name: string, input: unknown) => outputOf(await toolset.use({ id: 'c', name, input }))
    expect(await told('rm', {})).toMatchObject({
      isError: true,
      output: expect.stringContaining('run_skill'),
    })
    expect(await told('get_workflow', { slug: 5 })).toMatchObject({
      isError: true,
      output: expect.stringContaining('slug'),
    })
    expect(await told('get_workflow', 'not json')).toMatchObject({ isError: true })
    expect(await told('get_workflow', { slug: 'never' })).toMatchObject({
      isError: true,
      output: expect.stringContaining('NOT_FOUND'),
    })
    const wrong = await told('install_workflow', install('wrong', []).input)
    expect(wrong.isError).toBe(true)
    // The same list as validate gives, so that it can be repaired from the refusal alone.
    expect(JSON.parse(wrong.output).error.details.issues).toMatchObject([
      { code: 'empty-graph', path: 'graph', hint: expect.stringContaining('at least one entry') },
    ])
  })

  test('an agent with named skills runs and finds no others', async () => {
    const { toolset } = newToolRun(toolsetParts(house), session, { skills: ['writer'] })
    const found = outputOf(await toolset.use({ id: 's', name: 'search_skills', input: {} }))
    expect(JSON.parse(found.output).skills.map(({ slug }: { slug: string }) => slug)).toEqual(['writer'])
    const other = await toolset.use({ id: 'r', name: 'run_skill', input: { slug: 'other', input: 'x' } })
    expect(outputOf(other)).toMatchObject({ isError: true, output: expect.stringContaining('writer') })
  })
})

describe('a scope that is missing', () => {
  test('is not used when the person says no, and the model hears why', async () => {
    const tried = newToolRun(toolsetParts(house), await keyWith([]))
    const wait = pauseOf(await tried.toolset.use(install('denied')))
    await call('POST', `/agents/request-permission/${wait.ref}/deny`, { reason: 'Not on a Friday' })
    const told = outputOf(await tried.wokenAfter(wait, 'call_denied').toolset.use(install('denied')))
    expect(told).toMatchObject({ isError: true, output: expect.stringContaining('Not on a Friday') })
    expect((await call('GET', '/workflows/denied')).status).toBe(404)
  })

  test('of a run whose key was revoked is asked for by nobody', async () => {
    const key = await keyWith(['workspace:files:write'])
    const { toolset } = newToolRun(toolsetParts(house), key)
    expect(outputOf(await toolset.use(install('before'))).isError).toBe(false)
    await call('DELETE', `/keys/${key.keyId}`)
    expect(outputOf(await toolset.use(install('after')))).toMatchObject({
      isError: true,
      output: expect.stringContaining('has ended'),
    })
  })
})

describe('what needs a person', () => {
  test('a workflow that is there is replaced after a yes, and the same once more needs none', async () => {
    const tried = newToolRun(toolsetParts(house), session)
    expect(outputOf(await tried.toolset.use(install('plain'))).isError).toBe(false)
    const other = {
      id: 'call_replace',
      name: 'install_workflow',
      input: { slug: 'plain', definition: definition('plain', [{ type: 'sleep', id: 's', duration: 1 }]) },
    }
    const wait = pauseOf(await tried.toolset.use(other))
    expect(wait.frame?.payload).toMatchObject({ kind: 'tool', summary: 'Replace the workflow plain' })
    expect((await call('POST', `/approvals/${wait.ref}/approve`, {})).status).toBe(200)
    expect(outputOf(await tried.toolset.use(other)).isError).toBe(false)
    const kept = await call('GET', '/workflows/plain')
    expect(JSON.parse(kept.body.definition).graph).toEqual([{ type: 'sleep', id: 's', duration: 1 }])
  })

  test('a yes to one call outside is no yes to the next', async () => {
    const tried = newToolRun(toolsetParts(house), session)
    const get = (id: string) => ({ id, name: 'http-request', input: { url: 'https://nowhere.example/' } })
    const first = pauseOf(await tried.toolset.use(get('one')))
    await call('POST', `/approvals/${first.ref}/approve`, {})
    expect(outputOf(await tried.toolset.use(get('one'))).output).toContain('not among those')
    // It has been used, and it has read an answer: a repeat is not made, and the next is asked about.
    expect(outputOf(await tried.toolset.use(get('one'))).output).toContain('broken off')
    expect(tried.taints).toEqual(['http-request'])
    expect(pauseOf(await tried.toolset.use(get('two'))).kind).toBe('approval')
  })

  test('a yes for an hour is one to the next call too, until something from outside was read', async () => {
    const tried = newToolRun(toolsetParts(house), session)
    const get = (id: string) => ({ id, name: 'http-request', input: { url: 'https://nowhere.example/' } })
    const [first, second] = [
      pauseOf(await tried.toolset.use(get('one'))),
      pauseOf(await tried.toolset.use(get('two'))),
    ]
    expect((await call('POST', `/approvals/${first.ref}/approve`, { choice: 'hour' })).status).toBe(200)
    // Nobody decides the second one: the hour covers it.
    expect(outputOf(await tried.toolset.use(get('two'))).output).toContain('not among those')
    expect(second.ref).not.toBe(first.ref)
    expect(tried.taints).toEqual(['http-request'])
    expect(pauseOf(await tried.toolset.use(get('three'))).kind).toBe('approval')
  })

  test('an agent that is made to use nothing outside asks nobody', async () => {
    const { toolset } = newToolRun(toolsetParts(house), session, { outside: 'never' })
    const used = await toolset.use({ id: 'o', name: 'http-request', input: { url: 'https://a.example/' } })
    expect(outputOf(used)).toMatchObject({
      isError: true,
      output: expect.stringContaining('nothing outside'),
    })
  })

  test('a workflow is no way around who must say yes to what its steps reach', async () => {
    await call('POST', '/workflows/reaching/install', { definition: reaching('https://a.example/') })
    const { toolset } = newToolRun(toolsetParts(house), session)
    expect(outputOf(await toolset.use(launch('b', 'quiet'))).isError).toBe(false)
    const wait = pauseOf(await toolset.use(launch('c', 'reaching')))
    expect(wait.frame?.payload).toMatchObject({ kind: 'tool' })
    await call('POST', `/approvals/${wait.ref}/approve`, {})
    expect(outputOf(await toolset.use(launch('c', 'reaching'))).isError).toBe(false)
    const never = newToolRun(toolsetParts(house), session, { outside: 'never' }).toolset
    expect(outputOf(await never.use(launch('d', 'reaching'))).output).toContain('nothing outside')
  })

  test('a yes to a launch is one to the definition that was there, and to no other', async () => {
    await call('POST', '/workflows/swapped/install', { definition: reaching('https://a.example/') })
    const { toolset } = newToolRun(toolsetParts(house), session)
    const wait = pauseOf(await toolset.use(launch('s', 'swapped')))
    await call('POST', '/workflows/swapped/install', { definition: reaching('https://b.example/') })
    await call('POST', `/approvals/${wait.ref}/approve`, {})
    const told = outputOf(await toolset.use(launch('s', 'swapped')))
    expect(told).toMatchObject({ isError: true, output: expect.stringContaining('has changed') })
    expect(pauseOf(await toolset.use(launch('t', 'swapped'))).ref).not.toBe(wait.ref)
  })

  test('nothing is asked that could not be shown whole', async () => {
    const { toolset } = newToolRun(toolsetParts(house), session)
    const body = 'x'.repeat(33_000)
    const input = { url: 'https://a.example/', method: 'POST', body }
    const told = outputOf(await toolset.use({ id: 'long', name: 'http-request', input }))
    expect(told).toMatchObject({ isError: true, output: expect.stringContaining('32768 bytes') })
  })
})

test('a run that was launched in a conversation says which, and one over the API does not', async () => {
  const { toolset, run } = newToolRun(toolsetParts(house), session)
  await call('POST', '/threads', { threadId: run.threadId })
  const used = outputOf(await toolset.use({ id: 'l', name: 'launch_workflow', input: { slug: 'quiet' } }))
  const answer = JSON.parse(used.output)
  expect(answer).toMatchObject({ status: 'started', conversationId: run.threadId })
  expect((await call('GET', `/workflows/runs/${answer.runId}`)).body.run.conversationId).toBe(run.threadId)
  // The same call, after a crash: the same run.
  const again = outputOf(await toolset.use({ id: 'l', name: 'launch_workflow', input: { slug: 'quiet' } }))
  expect(JSON.parse(again.output).runId).toBe(answer.runId)
  const plain = await call('POST', '/workflows/quiet/launch', {})
  expect(plain.body).not.toHaveProperty('conversationId')
  const { run: record } = (await call('GET', `/workflows/runs/${plain.body.runId}`)).body
  expect(record).not.toHaveProperty('conversationId')
})

describe('a skill', () => {
  const run = (id: string) => ({ id, name: 'run_skill', input: { slug: 'writer', input: 'Write' } })

  test('is started once, queued behind another, waited for, bounded by what is left, and paid for by the message', async () => {
    const tried = newToolRun(toolsetParts(house), session, { remainingMilliDs: 60_000 })
    const [first, second] = [
      pauseOf(await tried.toolset.use(run('1'))),
      pauseOf(await tried.toolset.use(run('2'))),
    ]
    expect([first.kind, second.kind]).toEqual(['execution', 'execution'])
    expect(pauseOf(await tried.toolset.use(run('1'))).ref).toBe(first.ref)
    const { db } = house.deps.database
    const rows = await db
      .selectFrom('executions')
      .select(['execution_id', 'status', 'max_cost_milli_ds', 'source', 'agent_slug'])
      .where('execution_id', 'in', [first.ref, second.ref])
      .orderBy('id')
      .execute()
    expect(rows).toMatchObject([
      {
        execution_id: first.ref,
        status: 'working',
        max_cost_milli_ds: 60_000,
        source: 'chat',
        agent_slug: 'assistant',
      },
      { execution_id: second.ref, status: 'idle' },
    ])
    const woken = tried.wokenAfter(first, '1')
    expect(pauseOf(await woken.toolset.use(run('1'))).ref).toBe(first.ref)
    for (const { ref } of [second, first]) await call('POST', `/executions/${ref}/cancel`)
    const told = outputOf(await woken.toolset.use(run('1')))
    expect(told).toMatchObject({ isError: true, delegatedMilliDs: 0 })
    expect(JSON.parse(told.output)).toMatchObject({
      executionId: first.ref,
      status: 'failed',
      stopReason: 'interrupt',
    })
    expect(tried.taints).toEqual(['run_skill'])
  })

  test('of which nothing can be paid is not started', async () => {
    const { toolset } = newToolRun(toolsetParts(house), session, { remainingMilliDs: 0 })
    expect(outputOf(await toolset.use(run('3'))).output).toContain('Nothing is left')
  })

  test('that its key has no money for waits until the limit is raised, and goes on then', async () => {
    const key = await keyWith(['tool:execute'], { spendLimit: 10 })
    const { db } = house.deps.database
    await db.updateTable('api_keys').set({ spent_milli_ds: 10_000 }).where('id', '=', key.keyId).execute()
    const tried = newToolRun(toolsetParts(house), key)
    const wait = pauseOf(await tried.toolset.use(run('4')))
    expect(wait.frame?.payload).toMatchObject({ kind: 'budget', approvalId: wait.ref })
    const woken = tried.wokenAfter(wait, '4')
    expect(pauseOf(await woken.toolset.use(run('4'))).ref).toBe(wait.ref)
    const raised = await call('POST', `/approvals/${wait.ref}/approve`, { amount: 500 })
    expect(raised.status, raised.text).toBe(200)
    const going = pauseOf(await woken.toolset.use(run('4')))
    expect(going.kind).toBe('execution')
    await call('POST', `/executions/${going.ref}/cancel`)
  })
})

test('a credential makes so many tool calls a minute and no more', async () => {
  const { toolset } = newToolRun(toolsetParts(house), await keyWith([]))
  const used = []
  for (let index = 0; index < 41; index++)
    used.push(outputOf(await toolset.use({ id: `w${index}`, name: 'list_workflows', input: {} })))
  expect(used.slice(0, 40).every(({ isError }) => !isError)).toBe(true)
  expect(used[40]).toMatchObject({ isError: true, output: expect.stringContaining('Too many tool calls') })
})

test('a scope that is missing is asked for with the exact call, and used once when it is given, however often the tool is asked', async () => {
  const key = await keyWith([])
  const { authenticator } = await givePasskey(house, person)
  const parts = toolsetParts(house)
  const tried = newToolRun(parts, key)
  const launch = { id: 'call_launch', name: 'launch_workflow', input: { slug: 'quiet' } }
  const wait = pauseOf(await tried.toolset.use(launch))
  expect(wait).toMatchObject({
    kind: 'approval',
    frame: { payload: { kind: 'permission', scope: 'tool:execute', toolUseId: 'call_launch' } },
  })
  const inbox = await call('GET', '/approvals?status=pending')
  const asked = inbox.body.items.find(({ id }: { id: string }) => id === wait.ref)
  expect(asked.action).toMatchObject({
    tool: 'launch_workflow',
    summary: 'Launch the workflow quiet',
    argsAreBody: true,
    request: { method: 'POST', path: '/api/v1/workflows/quiet/launch' },
  })
  // Asked again before anybody decided, it waits for the same.
  const waiting = tried.wokenAfter(wait, launch.id)
  expect(pauseOf(await waiting.toolset.use(launch)).ref).toBe(wait.ref)
  const proof = await call('POST', `/approvals/${wait.ref}/challenge`, {})
  const device_auth = authenticator.assert(proof.body.options)
  const approved = await call('POST', `/agents/request-permission/${wait.ref}/approve`, { device_auth })
  expect(approved.status, approved.text).toBe(200)
  const runs: string[] = []
  for (let times = 0; times < 2; times++) {
    const done = outputOf(await waiting.toolset.use(launch))
    expect(done.isError, done.output).toBe(false)
    runs.push(JSON.parse(done.output).runId)
  }
  expect(new Set(runs).size).toBe(1)
  // It was good for that call and no other.
  const next = await newToolRun(parts, key).toolset.use({ ...launch, id: 'call_next' })
  expect(pauseOf(next).kind).toBe('approval')
  // Nor does one for what reaches outside open anything but that.
  const get = (url: string) => ({ id: url, name: 'http-request', input: { url } })
  const outside = newToolRun(parts, key)
  const asks = pauseOf(await outside.toolset.use(get('https://nowhere.example/')))
  const again = await call('POST', `/approvals/${asks.ref}/challenge`, {})
  const given = { device_auth: authenticator.assert(again.body.options) }
  expect((await call('POST', `/agents/request-permission/${asks.ref}/approve`, given)).status).toBe(200)
  for (const other of [get('https://elsewhere.example/'), { ...launch, id: 'call_other' }])
    expect(pauseOf(await newToolRun(parts, key).toolset.use(other)).ref).not.toBe(asks.ref)
  const used = await outside
    .wokenAfter(asks, 'https://nowhere.example/')
    .toolset.use(get('https://nowhere.example/'))
  expect(outputOf(used).output).toContain('not among those')
})
