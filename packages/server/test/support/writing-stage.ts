import type { Route } from '@guildhall/contract'
import { requestBudget } from '#access/approvals/approvals.ts'
import { RunWriter } from '#running/runs/run-writer.ts'
import type { Answer, Caller, Person } from '../../../../test/support/caller.ts'
import { pathOf } from '../../../../test/support/heaviest.ts'
import { definitionOf } from '../../../../test/support/workflows.ts'
import type { House } from './house.ts'

/** A request that has an effect: what stands in its path, its body, who makes it. */
export interface WritingCall {
  readonly params?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly token?: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Where the effect needs somebody outside: what the route answers instead. */
  readonly refusedWith?: number
}

/** Where cases are played. Two stages that play the same cases come to the same records. */
export interface Stage {
  readonly house: House
  /** In every text that somebody writes here, so that it is known wherever it shows. */
  readonly mark: string
  newPerson(mode?: string): Promise<Person>
}

export function stageIn(house: House, name: string, mark = 'text'): Stage {
  let people = 0
  return {
    house,
    mark,
    newPerson: (mode = 'basedmode') => house.newPerson({ mode, email: `${name}-${++people}@cases.test` }),
  }
}

export const operatorToken = 'the-operators-token-of-these-cases'
export const models = [
  {
    id: 'none',
    provider: 'anthropic',
    baseUrl: 'http://127.0.0.1:9/',
    apiKey: 'k',
    inputPricePerMillion: 1,
    outputPricePerMillion: 1,
    default: true,
  },
]

export function send({ house }: Stage, route: Route, call: WritingCall, query = ''): Promise<Answer> {
  return sendBy(house, route, call, query)
}

/** The same by another way of making calls. */
export function sendBy(
  caller: Pick<Caller, 'call'>,
  route: Route,
  call: WritingCall,
  query = '',
): Promise<Answer> {
  return caller.call(route.method, pathOf(route, call.params) + query, {
    ...(call.token === undefined ? {} : { token: call.token }),
    ...(call.key === undefined ? {} : { key: call.key }),
    ...(call.body === undefined ? {} : { body: call.body }),
    headers: { ...call.headers },
  })
}

export const skillText = ({ mark }: Stage) => `---\nname: writer\ndescription: Writes ${mark}.\n---\nWrite.\n`
export const base64 = (text: string) => Buffer.from(text).toString('base64')
const question = { kind: 'question', question: 'Go?' }
export const askingOf = ({ mark }: Stage) => ({
  ...definitionOf('asking', [{ type: 'tool', id: 'ask', toolId: 'ask-human' }]),
  description: mark,
})
export const actionOf = ({ mark }: Stage) => ({
  summary: mark,
  tool: 'tool',
  args: { any: { thing: 1 } },
  diff: '-a\n+b',
  target: 'that',
  estimatedCost: 1,
  request: { method: 'POST', path: '/api/v1/agents', bodySha256: 'a'.repeat(64) },
})

async function did(promise: Promise<Answer>) {
  const answer = await promise
  if (answer.status >= 300) throw new Error(`a case could not be prepared: ${answer.status} ${answer.text}`)
  return answer.body
}

export const by =
  ({ house }: Stage, { token }: Person) =>
  (method: string, path: string, body?: unknown) =>
    did(house.call(method, `/api/v1${path}`, { token, ...(body === undefined ? {} : { body }) }))

export async function newSkill(stage: Stage, person: Person): Promise<string> {
  const call = by(stage, person)
  const files = [{ path: 'SKILL.md', content: skillText(stage) }]
  const { id } = await call('POST', '/artifacts', { type: 'skill', files })
  await call('POST', '/skills/writer/install', { artifactId: id })
  return id
}

export async function newExecution(stage: Stage, person: Person): Promise<string> {
  await newSkill(stage, person)
  return (await by(stage, person)('POST', '/executions', { skill_slug: 'writer', input: stage.mark })).id
}

export async function newTrace(stage: Stage, person: Person): Promise<string> {
  const executionId = await newExecution(stage, person)
  return (await by(stage, person)('GET', `/executions/${executionId}/status`)).traceId
}

/** With a message in it, which nobody answers here. */
export async function newThread(stage: Stage, person: Person): Promise<string> {
  const { threadId } = await by(stage, person)('POST', '/agents/assistant/send-message', {
    resourceId: person.workspaceId,
    threadId: 'case',
    message: stage.mark,
  })
  return threadId
}

export async function newRun(stage: Stage, person: Person): Promise<string> {
  const call = by(stage, person)
  await call('POST', '/workflows/asking/install', { definition: askingOf(stage) })
  return (await call('POST', '/workflows/asking/launch', { inputs: {} })).runId
}

/** As a worker leaves it that came to the question. */
export async function newQuestion(stage: Stage, person: Person): Promise<string> {
  const runId = await newRun(stage, person)
  const { database } = stage.house.deps
  const { db } = database
  await db
    .updateTable('workflow_runs')
    .set({ queued_at: null, advancing: true })
    .where('run_id', '=', runId)
    .execute()
  const waiting = { stepId: 'ask', index: 0, iteration: 0, key: 'ask:0:0', payload: question, suspendedAt: 2 }
  const record = {
    status: 'suspended' as const,
    payload: {},
    startedAt: 1,
    suspendPayload: question,
    suspendedAt: 2,
    metadata: { waiting: [waiting] },
  }
  const steps = [{ stepId: 'ask', position: [0], record, revision: 3 }]
  await new RunWriter(database).write({
    runId,
    opened: 0,
    advancing: false,
    steps,
    status: 'suspended',
    pause: 1,
  })
  return runId
}

export async function newBudgetRequest(stage: Stage, person: Person): Promise<string> {
  const { id: keyId } = await stage.house.newKey(person, { spendLimit: 5 })
  const { userId, workspaceId } = person
  const stopped = { executionId: 'exec_of-a-case', keyId, userId, workspaceId }
  const id = await stage.house.deps.database.transaction((tx) => requestBudget(tx, stopped))
  return id ?? ''
}

export async function newDeclaredKey(stage: Stage, person: Person): Promise<string> {
  return (await stage.house.newKey(person, { access: 'declared' })).secret
}

export async function newConsent(stage: Stage, person: Person, requestedScopes: string[]) {
  const key = await newDeclaredKey(stage, person)
  return did(stage.house.call('POST', '/api/v1/agents/connect', { key, body: { requestedScopes } }))
}

export async function newPermission(stage: Stage, person: Person): Promise<string> {
  const { secret } = await stage.house.newKey(person, { scopes: ['agent:list'] })
  // A key with scopes of its own waits for nobody.
  const body = { scope: 'profile:read', reason: stage.mark }
  await activate(stage, person, secret)
  return (await did(stage.house.call('POST', '/api/v1/agents/request-permission', { key: secret, body })))
    .request_id
}

export const askOf = (stage: Stage) => ({
  question: stage.mark,
  action: actionOf(stage),
  choices: [{ id: 'yes', label: stage.mark, kind: 'answer' }],
  schema: { type: 'object', properties: { any: {} } },
  expires_in: 600,
})

export async function newAsk(stage: Stage, person: Person): Promise<{ key: string; askId: string }> {
  const { secret: key } = await stage.house.newKey(person, { scopes: ['agent:list'] })
  const { ask_id } = await did(stage.house.call('POST', '/api/v1/agents/ask', { key, body: askOf(stage) }))
  return { key, askId: ask_id }
}

export async function activate(stage: Stage, person: Person, key: string): Promise<void> {
  const body = { requestedScopes: ['agent:list'] }
  const { status, consent_id } = await did(stage.house.call('POST', '/api/v1/agents/connect', { key, body }))
  if (status === 'pending')
    await by(stage, person)('POST', `/agents/connect/${consent_id}/approve`, { scopes: ['agent:list'] })
}

export async function newInvitation({ house }: Stage, owner: Person, { email }: Person) {
  const team = await house.newTeam(owner)
  const { id } = await did(
    house.call('POST', '/api/v1/workspaces/current/members', {
      token: owner.token,
      headers: { 'x-workspace-id': team },
      body: { email },
    }),
  )
  return { id: id as string, team }
}

export async function newOAuthClient(stage: Stage, person: Person): Promise<string> {
  const body = { name: stage.mark, redirect_uris: ['https://app.example/cb'] }
  return (await by(stage, person)('POST', '/oauth/clients', body)).client_id
}

export type Make = (stage: Stage) => Promise<WritingCall>

/** For one person, whose token goes with it unless the case says otherwise. */
export function asPerson(make: (stage: Stage, person: Person) => Promise<WritingCall>, mode?: string): Make {
  return async (stage) => {
    const person = await stage.newPerson(mode)
    const call = await make(stage, person)
    return call.key === undefined ? { token: person.token, ...call } : call
  }
}
