import { randomUUID } from 'node:crypto'
import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { threadUses } from '../support/thread-uses.ts'

/**
 * Every route of the contract that needs a scope, under a grant that is good once: a refusal leaves it, the effect takes
 * it, a repeat under one Idempotency-Key gets its answer and takes no other. A new route is asked for here by being
 * declared. Nothing here has an engine, so what starts a skill may fail after it was started; the conformance tests have
 * one.
 */
let house: House
let person: Person

beforeAll(async () => {
  // No run may advance, so that every launch waits and needs no engine.
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    STARTING_CREDITS: '100000',
    RUNS_PER_WORKSPACE: '0',
    CHAT_RUNS_PER_WORKSPACE: '1000',
    // Asked by nobody: nothing calls a worker here.
    MODELS: JSON.stringify([
      {
        id: 'silent',
        provider: 'anthropic',
        baseUrl: 'https://models.example',
        apiKey: 'k',
        default: true,
        inputPricePerMillion: 1,
        outputPricePerMillion: 1,
      },
    ]),
    DEV_TOOLS: '1',
  })
  person = await house.newPerson()
  await runsOf(house, person).install('flow', flow)
  await installSkill('errand')
})

afterAll(() => house.close())

const asking = [
  { type: 'mapping', id: 'm', mapConfig: '{"question":{"value":"Go?"}}' },
  { type: 'tool', id: 'ask', toolId: 'ask-human' },
]
const flow = definitionOf('flow', asking)
const skillFiles = (name: string) => [
  { path: 'SKILL.md', content: `---\nname: ${name}\ndescription: Runs an errand.\n---\nRun it.\n` },
]

async function asPerson(method: string, path: string, body?: unknown): Promise<Answer['body']> {
  const answer = await house.call(method, `/api/v1${path}`, { token: person.token, body })
  if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.text}`)
  return answer.body
}

const newArtifact = async (name: string) =>
  (await asPerson('POST', '/artifacts', { type: 'skill', files: skillFiles(name) })).id as string

async function installSkill(slug: string): Promise<string> {
  await asPerson('POST', `/skills/${slug}/install`, { artifactId: await newArtifact(slug) })
  return slug
}

const newExecution = async () =>
  (await asPerson('POST', '/executions', { skill_slug: 'errand', input: 'go' })).id as string
const newRun = async () => (await asPerson('POST', '/workflows/flow/launch')).runId as string

async function newAgent(): Promise<string> {
  const slug = `agent-${randomUUID().slice(0, 8)}`
  await asPerson('POST', '/agents', { slug })
  return slug
}

async function newWorkflow(): Promise<string> {
  const slug = `flow-${randomUUID().slice(0, 8)}`
  await runsOf(house, person).install(slug, flow)
  return slug
}

async function endedRun(): Promise<string> {
  const runId = await newRun()
  await asPerson('POST', `/workflows/runs/${runId}/cancel`)
  return runId
}

interface Use {
  /** Parameters of the path for a call that has its effect. */
  params?: () => Promise<Record<string, string>>
  body?: () => Promise<unknown>
  query?: string
  /** A call that is refused for something else than the scope, by what it names, its query or its body. */
  refused?: { params?: Record<string, string>; query?: string; body?: unknown }
  /** What the key has to keep besides. */
  also?: string[]
  /** It began, and there is no engine to go on with it. */
  startsSkill?: true
  /** Cannot be brought about here: only that a refusal costs nothing is looked at. */
  onlyRefused?: true
}

const none = 'none-such'
const start = { events: [{ type: 'user.message', content: [{ type: 'text', text: 'go' }] }] }
const uses: Record<string, Use> = {
  listAgents: {},
  createAgent: {
    body: async () => ({ slug: `made-${randomUUID().slice(0, 8)}` }),
    refused: { body: { slug: 'me' } },
  },
  getAgent: { params: async () => ({ agentId: await newAgent() }), refused: { params: { agentId: none } } },
  updateAgent: {
    params: async () => ({ agentId: await newAgent() }),
    body: async () => ({ name: `Named ${randomUUID()}` }),
    refused: { params: { agentId: none }, body: { name: 'x' } },
  },
  listAgentVersions: {
    params: async () => ({ agentId: await newAgent() }),
    refused: { params: { agentId: none } },
  },
  restoreAgentVersion: {
    params: async () => {
      const agentId = await newAgent()
      await asPerson('PATCH', `/agents/${agentId}`, { name: 'Changed' })
      return { agentId, versionNumber: '1' }
    },
    refused: { params: { agentId: none, versionNumber: '1' } },
  },
  deleteAgent: {
    params: async () => ({ agentId: await newAgent() }),
    refused: { params: { agentId: none } },
  },
  createArtifact: {
    body: async () => ({ type: 'file', files: [{ path: 'a.txt', content: randomUUID() }] }),
    refused: { body: { type: 'file', files: [{ path: '../a.txt', content: 'a' }] } },
  },
  listArtifacts: { refused: { query: '?cursor=junk' } },
  getArtifact: {
    params: async () => ({ id: await newArtifact('read') }),
    refused: { params: { id: none } },
  },
  getArtifactContent: {
    params: async () => ({ id: await newArtifact('read') }),
    refused: { params: { id: none } },
  },
  diffSkillVersions: { params: async () => ({ slug: 'errand' }), refused: { params: { slug: none } } },
  exportSkill: { params: async () => ({ slug: 'errand' }), refused: { params: { slug: none } } },
  deleteArtifact: {
    params: async () => ({ id: await newArtifact('gone') }),
    refused: { params: { id: none } },
  },
  getBilling: {},
  listLedger: { refused: { query: '?cursor=junk' } },
  runSkill: {
    params: async () => ({ slug: 'errand' }),
    body: async () => ({ input: 'go' }),
    refused: { params: { slug: none }, body: { input: 'go' } },
    startsSkill: true,
  },
  postExecutionEvents: {
    params: async () => ({ executionId: await newExecution() }),
    body: async () => start,
    refused: { params: { executionId: none }, body: start },
    startsSkill: true,
  },
  rerunExecution: {
    params: async () => ({ executionId: await newExecution() }),
    body: async () => ({ input: 'go' }),
    refused: { params: { executionId: none }, body: { input: 'go' } },
    startsSkill: true,
  },
  cancelExecution: {
    params: async () => ({ executionId: await newExecution() }),
    refused: { params: { executionId: none } },
  },
  getProfile: {},
  updateProfile: { body: async () => ({ bio: 'x' }), refused: { body: { bio: 7 } } },
  searchProfile: { query: '?q=a', refused: {} },
  installSkill: {
    params: async () => ({ slug: 'placed' }),
    body: async () => ({ artifactId: await newArtifact('placed') }),
    refused: { params: { slug: 'placed' }, body: { artifactId: none } },
    also: ['workspace:files:read'],
  },
  uninstallSkill: {
    params: async () => ({ slug: await installSkill('leaving') }),
    refused: { params: { slug: none } },
  },
  restoreSkillVersion: {
    params: async () => ({ slug: await installSkill('errand'), versionNumber: '1' }),
    refused: { params: { slug: 'errand', versionNumber: '9999' } },
  },
  install: {
    refused: { body: { source: { type: 'git', url: 'https://127.0.0.1/x.git' } } },
    onlyRefused: true,
  },
  installWorkflowFromArtifact: {
    body: async () => ({
      artifactId: (
        await asPerson('POST', '/artifacts', {
          type: 'workflow',
          slug: 'brought',
          files: [{ path: 'workflow.json', content: JSON.stringify(flow) }],
        })
      ).id,
    }),
    refused: { body: { artifactId: none } },
    also: ['workspace:files:read'],
  },
  installWorkflow: {
    params: async () => ({ slug: 'written' }),
    body: async () => ({ definition: flow }),
    refused: { params: { slug: 'written' }, body: { definition: { id: 'x' } } },
  },
  uninstallWorkflow: {
    params: async () => ({ slug: await newWorkflow() }),
    refused: { params: { slug: none } },
  },
  deleteWorkflow: {
    params: async () => ({ slug: await newWorkflow() }),
    refused: { params: { slug: none } },
  },
  launchWorkflow: { params: async () => ({ id: 'flow' }), refused: { params: { id: none } } },
  resumeWorkflowRun: { refused: { params: { runId: none } }, onlyRefused: true },
  cancelWorkflowRun: {
    params: async () => ({ runId: await newRun() }),
    refused: { params: { runId: none } },
  },
  rerunWorkflowRun: {
    params: async () => ({ runId: await endedRun() }),
    refused: { params: { runId: none } },
  },
  deleteWorkflowQueueJob: {
    params: async () => ({ runId: await newRun() }),
    refused: { params: { runId: none } },
  },
  ...threadUses(() => ({ house, person })),
}

const scoped = Object.entries<Route>(routes).filter(([, route]) => route.scopes || route.scopesBeyondOwn)
const grantsOf = (keyId: number) =>
  house.deps.database.db.selectFrom('grants').select('consumed_at').where('key_id', '=', keyId).execute()
const spentOf = async (keyId: number) =>
  (await grantsOf(keyId)).filter(({ consumed_at }) => consumed_at !== null).length

async function newGrant(keyId: number, route: Route): Promise<void> {
  const [needed = ''] = route.scopes ?? route.scopesBeyondOwn ?? []
  const values = {
    key_id: keyId,
    workspace_id: person.workspaceId,
    scope: needed.startsWith('tool:execute') ? 'tool:execute' : needed,
    mode: 'one_time' as const,
    expires_at: new Date(Date.now() + 300_000),
  }
  await house.deps.database.db
    .insertInto('grants')
    .values({
      ...values,
      bound_method: null,
      bound_path: null,
      bound_body_sha256: null,
      request_id: null,
      spent_for: null,
    })
    .execute()
}

function pathOf(route: Route, params: Record<string, string> = {}, query = ''): string {
  return route.path.replace(/:(\w+)/g, (_text, name) => params[name] ?? none) + query
}

test('every route that needs a scope is tried', () => {
  expect(Object.keys(uses).sort()).toEqual(scoped.map(([name]) => name).sort())
})

describe.each(scoped)('%s', (name, route) => {
  const use = uses[name] ?? {}
  const good = (answer: Answer) => (use.startsSkill ? [200, 500] : [200, 201, 202]).includes(answer.status)

  test('takes a one_time grant with its effect and not with a refusal', async () => {
    const key = await house.newKey(person, { scopes: ['trace:write', ...(use.also ?? [])] })
    const send = (path: string, body: unknown) => house.call(route.method, path, { key: key.secret, body })
    await newGrant(key.id, route)
    if (use.refused) {
      const { params, query, body } = use.refused
      const answer = await send(pathOf(route, params, query), body)
      expect([400, 404, 409], answer.text).toContain(answer.status)
      expect(await spentOf(key.id), answer.text).toBe(0)
    }
    if (use.onlyRefused) return
    const path = pathOf(route, await use.params?.(), use.query)
    const body = await use.body?.()
    const answer = await send(path, body)
    expect(good(answer), answer.text).toBe(true)
    expect(await spentOf(key.id)).toBe(1)
    const again = await send(path, body)
    expect(again.status, again.text).toBe(403)
  })

  if (!route.creates || use.onlyRefused || use.startsSkill) return

  test('answers the repeat of what spent the grant, and spends no other for it', async () => {
    const key = await house.newKey(person, { scopes: ['trace:write', ...(use.also ?? [])] })
    await newGrant(key.id, route)
    const path = pathOf(route, await use.params?.(), use.query)
    const body = await use.body?.()
    const send = (repeatKey: string) =>
      house.call(route.method, path, { key: key.secret, body, headers: { 'idempotency-key': repeatKey } })
    const repeatKey = randomUUID()
    const first = await send(repeatKey)
    expect(good(first), first.text).toBe(true)
    const repeats = await Promise.all([send(repeatKey), send(repeatKey)])
    for (const repeat of repeats) expect([repeat.status, repeat.text]).toEqual([first.status, first.text])
    expect((await send(randomUUID())).status).toBe(403)
    await newGrant(key.id, route)
    expect((await send(repeatKey)).text).toBe(first.text)
    expect(await spentOf(key.id)).toBe(1)
  })
})

test.each([{}, { 'idempotency-key': 'for-the-wait' }])(
  'what was spent on a message is good for waiting on its answer: %j',
  async (headers) => {
    const key = await house.newKey(person, { scopes: ['trace:write'] })
    await newGrant(key.id, routes.chat)
    // Longer than a credential is believed for.
    const body = { message: 'Hello', waitSeconds: 2 }
    const sent = await house.call('POST', '/api/v1/chat/assistant', { key: key.secret, body, headers })
    expect(sent.status, sent.text).toBe(200)
    expect(await spentOf(key.id)).toBe(1)
  },
)

test('who may send no messages any more is not told what came of one', async () => {
  const key = await house.newKey(person, { scopes: ['agent:message'] })
  const headers = { 'idempotency-key': randomUUID() }
  const body = { message: 'Hello', waitSeconds: 0 }
  const send = () => house.call('POST', '/api/v1/chat/assistant', { key: key.secret, body, headers })
  expect((await send()).status).toBe(200)
  await house.call('DELETE', `/api/v1/agents/${key.id}/scopes/agent:message`, { token: person.token })
  await expect.poll(async () => (await send()).status).toBe(403)
})

test('of 50 uses at once one has an effect, and a refused one leaves the grant to the next', async () => {
  const key = await house.newKey(person, { scopes: ['trace:write'] })
  const slug = `race-${randomUUID().slice(0, 8)}`
  await newGrant(key.id, routes.createAgent)
  const create = () => house.call('POST', '/api/v1/agents', { key: key.secret, body: { slug } })
  const answers = await Promise.all(Array.from({ length: 50 }, create))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(49)
  await newGrant(key.id, routes.createAgent)
  const taken = await Promise.all(Array.from({ length: 10 }, create))
  expect(taken.map(({ status }) => status)).toEqual(Array(10).fill(409))
  expect(await spentOf(key.id)).toBe(1)
})

/** What these say when they are sent once more changes nothing, and they answer with what is there. */
const idle: Record<string, { path: () => Promise<string>; body?: unknown }> = {
  updateAgent: { path: async () => `/agents/${await newAgent()}`, body: {} },
  restoreAgentVersion: { path: async () => `/agents/${await newAgent()}/versions/1/restore` },
  updateProfile: { path: async () => '/profile', body: {} },
  restoreSkillVersion: {
    path: async () => {
      await installSkill('errand')
      const [newest] = await asPerson('GET', '/skills/errand/versions')
      return `/skills/errand/versions/${newest.versionNumber}/restore`
    },
  },
  cancelWorkflowRun: { path: async () => `/workflows/runs/${await endedRun()}/cancel` },
}

test.each(Object.entries(idle))('%s that finds nothing to do shows nothing for free', async (name, use) => {
  const route = (routes as Record<string, Route>)[name] as Route
  const key = await house.newKey(person, { scopes: ['trace:write'] })
  await newGrant(key.id, route)
  const path = `/api/v1${await use.path()}`
  const send = () => house.call(route.method, path, { key: key.secret, body: use.body })
  const answers = await Promise.all([send(), send(), send()])
  const shown = answers.filter(({ status }) => status < 300)
  expect(shown.length, answers.map(({ text }) => text).join()).toBe(await spentOf(key.id))
  expect(shown.length).toBeLessThan(2)
})

test('an execution is prepared without a scope, and nothing is spent on it', async () => {
  const key = await house.newKey(person, { scopes: ['trace:write'] })
  await newGrant(key.id, routes.runSkill)
  const body = { skill_slug: 'errand', input: 'go' }
  expect((await house.call('POST', '/api/v1/executions', { key: key.secret, body })).status).toBe(200)
  expect(await spentOf(key.id)).toBe(0)
})
