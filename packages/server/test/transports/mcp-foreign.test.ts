import { mcpTools } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { modernMessage } from '../../../../test/support/mcp.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { models, newExecution, newThread, newTrace, stageIn } from '../support/writing-stage.ts'

/**
 * Every tool, resource and task that takes a name, with one of somebody else's and with one that never was: the two
 * answers are the same to the byte. A tool that takes a name and is not known here fails until it is added.
 */
let house: House
let key: string
let foreign: Record<Kind, string>

type Kind =
  | 'execution'
  | 'run'
  | 'workflow'
  | 'skill'
  | 'trace'
  | 'thread'
  | 'agent'
  | 'artifact'
  | 'permission'
  | 'ask'

const uuid = '00000000-0000-4000-8000-000000000000'
const missing: Record<Kind, string> = {
  execution: `exec_${uuid}`,
  run: `run_${uuid}`,
  workflow: `${uuid}:not-yours`,
  skill: 'never-was',
  trace: `trace_${uuid}`,
  thread: 'never-was',
  agent: `${uuid}:not-yours`,
  artifact: `artifact_${uuid}`,
  permission: `permission_${uuid}`,
  ask: `ask_${uuid}`,
}

beforeAll(async () => {
  const settings = { RUNS_PER_WORKSPACE: '0', STARTING_CREDITS: '1000', MODELS: JSON.stringify(models) }
  house = await openHouse({ DATABASE_URL: await createDatabase(), ...settings })
  key = (await house.newKey(await house.newPerson())).secret
  foreign = await makeForeign(await house.newPerson())
})
afterAll(() => house.close())

async function makeForeign(other: Person): Promise<Record<Kind, string>> {
  const stage = stageIn(house, 'foreign', 'not yours')
  const as = async (method: string, path: string, body: object) =>
    (await house.call(method, `/api/v1${path}`, { token: other.token, body })).body
  const graph = [{ type: 'tool', id: 'ask', toolId: 'ask-human' }]
  await as('POST', '/workflows/not-yours/install', {
    id: 'not-yours',
    inputSchema: {},
    outputSchema: {},
    graph,
  })
  await as('POST', '/agents', { slug: 'not-yours' })
  const { secret } = await house.newKey(other, { scopes: ['agent:list'] })
  const ask = async (path: string, body: object) =>
    (await house.call('POST', `/api/v1/agents/${path}`, { key: secret, body })).body
  const file = { type: 'file', files: [{ path: 'a.txt', content: 'not yours' }] }
  return {
    execution: await newExecution(stage, other),
    trace: await newTrace(stage, other),
    skill: 'writer',
    thread: await newThread(stage, other),
    run: (await as('POST', '/workflows/not-yours/launch', {})).runId,
    workflow: `${other.workspaceId}:not-yours`,
    agent: `${other.workspaceId}:not-yours`,
    artifact: (await as('POST', '/artifacts', file)).id,
    permission: (await ask('request-permission', { scope: 'profile:read', reason: 'not yours' })).request_id,
    ask: (await ask('ask', { question: 'Not yours?' })).ask_id,
  }
}

const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: {} }

function say(method: string, params: Record<string, unknown>): Promise<Answer> {
  return house.call('POST', '/mcp/', { key, ...modernMessage(method, params, tasks) })
}

/** Without the names themselves, which are the caller's own words, and the number of the request. */
function plain({ status, text }: Answer, name: string): string {
  return `${status} ${text.replaceAll(name, '').replaceAll(/"request_id":"[^"]*"/g, '')}`
}

async function expectAlike(kind: Kind, ask: (name: string) => Promise<Answer>): Promise<void> {
  const [theirs, none] = [await ask(foreign[kind]), await ask(missing[kind])]
  expect(foreign[kind]).toEqual(expect.stringMatching(/./))
  expect(plain(theirs, foreign[kind])).toBe(plain(none, missing[kind]))
  expect(theirs.status).toBeLessThan(500)
  expect(theirs.text).not.toContain('"structuredContent"')
}

const wait = { wait_seconds: 0 }
const calls: [keyof typeof mcpTools, Kind, (name: string) => object][] = [
  ['get_skill', 'skill', (slug) => ({ slug })],
  ['install_skill', 'skill', (slug) => ({ slug })],
  ['run_skill', 'skill', (slug) => ({ slug, input: 'x', ...wait })],
  ['get_execution', 'execution', (name) => ({ execution_id: name, ...wait })],
  ['cancel_execution', 'execution', (name) => ({ execution_id: name })],
  ['cancel_execution', 'run', (name) => ({ run_id: name })],
  ['launch_workflow', 'workflow', (workflow) => ({ workflow, ...wait })],
  ['get_workflow_run', 'run', (name) => ({ run_id: name, ...wait })],
  ['resume_workflow', 'run', (name) => ({ run_id: name, answer: 'x', ...wait })],
  ['message_agent', 'agent', (agent) => ({ message: 'x', agent, ...wait })],
  ['append_trace', 'trace', (id) => ({ trace_id: id, events: [{ type: 'agent.text', payload: {} }] })],
  ['request_permission', 'permission', (name) => ({ request_id: name, ...wait })],
  ['ask_person', 'ask', (name) => ({ ask_id: name, ...wait })],
]
const takesNoName = ['whoami', 'search_skills', 'list_workflows']

test('every tool is either tried here or takes no name', () => {
  expect([...new Set(calls.map(([tool]) => tool)), ...takesNoName].sort()).toEqual(
    Object.keys(mcpTools).sort(),
  )
})

test.each(calls)('%s: %s', async (tool, kind, args) => {
  await expectAlike(kind, (name) => say('tools/call', { name: tool, arguments: args(name) }))
})

/** A name in a thread is free to whoever has none of that name: the message goes into a thread of the caller's own. */
test('a thread of somebody else is not read or written under its name', async () => {
  const args = { message: 'mine', thread_id: foreign.thread, ...wait }
  const { body } = await say('tools/call', { name: 'message_agent', arguments: args })
  const other = await say('tools/call', {
    name: 'message_agent',
    arguments: { ...args, thread_id: 'never-was' },
  })
  expect(Object.keys(body.result).sort()).toEqual(Object.keys(other.body.result).sort())
  expect(JSON.stringify(body)).not.toContain('not yours')
})

describe('resources', () => {
  const resources: [string, Kind, (name: string) => string][] = [
    ['execution', 'execution', (name) => `guildhall://executions/${name}`],
    ['run', 'run', (name) => `guildhall://runs/${name}`],
    ['trace', 'trace', (name) => `guildhall://traces/${name}`],
    ['artifact file', 'artifact', (name) => `guildhall://artifacts/${name}/a.txt`],
    ['skill', 'skill', (name) => `skill://${name}/SKILL.md`],
  ]

  test('every template is tried here', async () => {
    const { body } = await say('resources/templates/list', {})
    const names = body.result.resourceTemplates.map(({ name }: { name: string }) => name)
    expect(names.sort()).toEqual(resources.map(([name]) => name).sort())
  })

  test.each(resources)('%s', async (_name, kind, uri) => {
    await expectAlike(kind, (name) => say('resources/read', { uri: uri(name) }))
  })

  test('skills by the extension', async () => {
    await expectAlike('skill', (name) => say('skills/get', { uri: `skill://${name}/SKILL.md` }))
  })
})

describe.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('%s', (method) => {
  test.each(['execution', 'run'] as const)('of an %s', async (kind) => {
    await expectAlike(kind, (name) => say(method, { taskId: `${kind}.${name}`, inputResponses: {} }))
  })
})
