import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Route, routes } from '@guildhall/contract'
import { makeTarGz } from '../../../../test/support/archives.ts'
import { createAuthenticator } from '../../../../test/support/authenticator.ts'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { definitionOf } from '../../../../test/support/workflows.ts'
import { requestBudget } from '../../src/approvals/approvals.ts'
import { hashSecret, mintSecret } from '../../src/platform/secrets.ts'
import { RunWriter } from '../../src/runs/run-writer.ts'
import { insertSignInCode } from '../../src/sessions/store.ts'
import { type House, newTeamWith } from './house.ts'
import { assertFor, givePasskey, houseOrigin } from './passkeys.ts'

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
  },
]

export const writingRoutes = Object.entries<Route>(routes)
  .filter(([, { method }]) => method !== 'GET')
  .map(([name, route]) => ({ name, route }))

/** Makes what the route needs, and gives a request that it accepts. */
export function writingCase(name: string): (stage: Stage) => Promise<WritingCall> {
  const make = cases[name]
  if (!make) throw new Error(`Add a case for ${name}: a request with every field that it accepts`)
  return make
}

export function send({ house }: Stage, route: Route, call: WritingCall, query = ''): Promise<Answer> {
  const path = route.path.replace(/:(\w+)/g, (_text, name) => encodeURIComponent(call.params?.[name] ?? ''))
  return house.call(route.method, path + query, {
    ...(call.token === undefined ? {} : { token: call.token }),
    ...(call.key === undefined ? {} : { key: call.key }),
    ...(call.body === undefined ? {} : { body: call.body }),
    headers: { ...call.headers },
  })
}

const skillText = ({ mark }: Stage) => `---\nname: writer\ndescription: Writes ${mark}.\n---\nWrite.\n`
const base64 = (text: string) => Buffer.from(text).toString('base64')
const question = { kind: 'question', question: 'Go?' }
const askingOf = ({ mark }: Stage) => ({
  ...definitionOf('asking', [{ type: 'tool', id: 'ask', toolId: 'ask-human' }]),
  description: mark,
})
const actionOf = ({ mark }: Stage) => ({
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

const by =
  ({ house }: Stage, { token }: Person) =>
  (method: string, path: string, body?: unknown) =>
    did(house.call(method, `/api/v1${path}`, { token, ...(body === undefined ? {} : { body }) }))

async function newSkill(stage: Stage, person: Person): Promise<string> {
  const call = by(stage, person)
  const files = [{ path: 'SKILL.md', content: skillText(stage) }]
  const { id } = await call('POST', '/artifacts', { type: 'skill', files })
  await call('POST', '/skills/writer/install', { artifactId: id })
  return id
}

async function newExecution(stage: Stage, person: Person): Promise<string> {
  await newSkill(stage, person)
  return (await by(stage, person)('POST', '/executions', { skill_slug: 'writer', input: stage.mark })).id
}

async function newRun(stage: Stage, person: Person): Promise<string> {
  const call = by(stage, person)
  await call('POST', '/workflows/asking/install', { definition: askingOf(stage) })
  return (await call('POST', '/workflows/asking/launch', { inputs: {} })).runId
}

/** As a worker leaves it that came to the question. */
async function newQuestion(stage: Stage, person: Person): Promise<string> {
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

async function newBudgetRequest(stage: Stage, person: Person): Promise<string> {
  const { id: keyId } = await stage.house.newKey(person, { spendLimit: 5 })
  const { userId, workspaceId } = person
  const stopped = { executionId: 'exec_of-a-case', keyId, userId, workspaceId }
  const id = await stage.house.deps.database.transaction((tx) => requestBudget(tx, stopped))
  return id ?? ''
}

async function newDeclaredKey(stage: Stage, person: Person): Promise<string> {
  return (await stage.house.newKey(person, { access: 'declared' })).secret
}

async function newConsent(stage: Stage, person: Person, requestedScopes: string[]) {
  const key = await newDeclaredKey(stage, person)
  return did(stage.house.call('POST', '/api/v1/agents/connect', { key, body: { requestedScopes } }))
}

async function newPermission(stage: Stage, person: Person): Promise<string> {
  const { secret } = await stage.house.newKey(person, { scopes: ['agent:list'] })
  // A key with scopes of its own waits for nobody.
  const body = { scope: 'profile:read', reason: stage.mark }
  await activate(stage, person, secret)
  return (await did(stage.house.call('POST', '/api/v1/agents/request-permission', { key: secret, body })))
    .request_id
}

async function activate(stage: Stage, person: Person, key: string): Promise<void> {
  const body = { requestedScopes: ['agent:list'] }
  const { status, consent_id } = await did(stage.house.call('POST', '/api/v1/agents/connect', { key, body }))
  if (status === 'pending')
    await by(stage, person)('POST', `/agents/connect/${consent_id}/approve`, { scopes: ['agent:list'] })
}

async function newOAuthClient(stage: Stage, person: Person): Promise<string> {
  const body = { name: stage.mark, redirect_uris: ['https://app.example/cb'] }
  return (await by(stage, person)('POST', '/oauth/clients', body)).client_id
}

type Make = (stage: Stage) => Promise<WritingCall>

/** For one person, whose token goes with it unless the case says otherwise. */
function asPerson(make: (stage: Stage, person: Person) => Promise<WritingCall>, mode?: string): Make {
  return async (stage) => {
    const person = await stage.newPerson(mode)
    const call = await make(stage, person)
    return call.key === undefined ? { token: person.token, ...call } : call
  }
}

const cases: Record<string, Make> = {
  exchangeSignIn: async ({ house, newPerson }) => {
    const { userId } = await newPerson()
    const code = mintSecret('signIn')
    const row = { code_hash: hashSecret(code), user_id: userId, challenge: null }
    await insertSignInCode(house.deps.database.db, row, 60)
    return { body: { code, verifier: 'v'.repeat(43) } }
  },
  signInForDevelopment: async ({ newPerson }) => ({
    body: { email: (await newPerson()).email, mode: 'paygmode' },
  }),
  signOut: asPerson(async () => ({})),
  createWorkspace: asPerson(async ({ mark }) => ({ body: { name: mark } })),
  setCurrentWorkspace: asPerson(async ({ house }, person) => ({
    body: { workspaceId: await house.newTeam(person) },
  })),
  addMember: asPerson(async (stage, person) => ({
    headers: { 'x-workspace-id': await stage.house.newTeam(person) },
    body: { email: (await stage.newPerson()).email, role: 'member' },
  })),
  removeMember: asPerson(async (stage, person) => {
    const member = await stage.newPerson()
    const team = await newTeamWith(stage.house, person, member)
    return { params: { userId: member.userId }, headers: { 'x-workspace-id': team } }
  }),
  createKey: asPerson(async ({ mark }) => ({
    body: {
      label: mark,
      access: 'declared',
      scopes: ['agent:list'],
      expiresAt: '2040-01-01T00:00:00Z',
      spendLimit: 5,
    },
  })),
  updateKey: asPerson(async ({ house, mark }, person) => ({
    params: { id: String((await house.newKey(person)).id) },
    body: { label: mark, expiresAt: '2040-01-01T00:00:00Z', spendLimit: 5 },
  })),
  rotateKey: asPerson(async ({ house }, person) => ({
    params: { id: String((await house.newKey(person)).id) },
    body: {},
  })),
  revokeKey: asPerson(async ({ house }, person) => ({
    params: { id: String((await house.newKey(person)).id) },
  })),
  reportLeakedKey: async ({ house, newPerson }) => ({
    body: { key: (await house.newKey(await newPerson())).secret },
  }),
  preparePasskey: asPerson(async () => ({
    body: { purpose: 'create-key', access: 'declared', scopes: ['agent:list'], code: 'ABCD-EFGH' },
  })),
  createPasskey: asPerson(async (stage, person) => {
    const { registration } = await by(stage, person)('POST', '/passkeys/options')
    const credential = createAuthenticator({ origin: houseOrigin }).register(registration)
    return { body: { name: stage.mark, credential } }
  }),
  removePasskey: asPerson(async ({ house }, person) => {
    const { authenticator, id } = await givePasskey(house, person)
    const wish = { purpose: 'remove', passkeyId: id }
    return { params: { id }, body: { device_auth: await assertFor(house, person, authenticator, wish) } }
  }),
  createActivation: async () => ({}),
  pollActivation: async ({ house }) => ({ body: { device_code: (await house.newCode()).deviceCode } }),
  confirmActivation: asPerson(async ({ house }) => ({
    body: { code: (await house.newCode()).userCode, access: 'declared' },
  })),
  denyActivation: asPerson(async ({ house }) => ({ body: { code: (await house.newCode()).userCode } })),
  createArtifact: asPerson(async ({ mark }) => ({
    body: {
      type: 'file',
      slug: 'file',
      name: mark,
      description: mark,
      files: [{ path: 'a.txt', content: mark, encoding: 'utf8' }],
    },
  })),
  deleteArtifact: asPerson(async (stage, person) => ({ params: { id: await newSkill(stage, person) } })),
  // No repository can be reached from here.
  syncCatalog: async () => ({
    headers: { authorization: `Bearer ${operatorToken}` },
    body: { repository: 'https://127.0.0.1:9/never.git', ref: 'main', path: 'skills' },
    refusedWith: 400,
  }),
  installSkill: asPerson(async (stage, person) => ({
    params: { slug: 'other' },
    body: {
      artifactId: await newSkill(stage, person),
      name: stage.mark,
      description: stage.mark,
      category: 'writing',
    },
  })),
  uninstallSkill: asPerson(async (stage, person) => {
    await newSkill(stage, person)
    return { params: { slug: 'writer' } }
  }),
  restoreSkillVersion: asPerson(async (stage, person) => {
    await newSkill(stage, person)
    return { params: { slug: 'writer', versionNumber: '1' } }
  }),
  install: asPerson(async (stage, { workspaceId }) => {
    const { storage } = stage.house.deps.config
    if (storage.kind !== 'directory') throw new Error('expected a folder')
    const imports = join(storage.path, 'imports', workspaceId)
    await mkdir(imports, { recursive: true })
    const archive = await makeTarGz([{ name: 'writer/SKILL.md', content: skillText(stage) }])
    await writeFile(join(imports, 'writer.tar.gz'), archive)
    return {
      body: {
        source: { type: 'r2', key: 'writer.tar.gz' },
        kind: 'skill',
        slug: 'imported',
        name: 'Imported',
        description: stage.mark,
        category: 'writing',
      },
    }
  }),
  runSkill: asPerson(async (stage, person) => {
    await newSkill(stage, person)
    return {
      params: { slug: 'writer' },
      body: {
        input: stage.mark,
        attachments: [{ name: 'a.txt', mimeType: 'text/plain', data: base64(stage.mark) }],
        connector: { any: { thing: 1 } },
        maxCost: 60,
        source: 'case',
        interface: 'test',
      },
    }
  }),
  createExecution: asPerson(async (stage, person) => ({
    body: {
      remixOf: await newExecution(stage, person),
      skill_slug: 'writer',
      input: stage.mark,
      source: 'case',
      interface: 'test',
      maxCost: 60,
      attachments: [{ name: 'a.txt', data: base64(stage.mark) }],
    },
  })),
  postExecutionEvents: asPerson(async (stage, person) => ({
    params: { executionId: await newExecution(stage, person) },
    body: {
      events: [{ type: 'user.message', content: [{ type: 'text', text: stage.mark }] }],
      ifBusy: 'queue',
      maxCost: 60,
    },
  })),
  rerunExecution: asPerson(async (stage, person) => ({
    params: { executionId: await newExecution(stage, person) },
    body: { input: stage.mark, maxCost: 60 },
  })),
  cancelExecution: asPerson(async (stage, person) => ({
    params: { executionId: await newExecution(stage, person) },
  })),
  createAgent: asPerson(async ({ mark }) => ({
    body: {
      slug: 'helper',
      name: mark,
      description: mark,
      instructions: 'Help.',
      model: null,
      tools: ['ask-human'],
      skills: [],
      primary: true,
    },
  })),
  updateAgent: asPerson(async (stage, person) => {
    await by(stage, person)('POST', '/agents', { slug: 'helper' })
    return {
      params: { agentId: 'helper' },
      body: { name: stage.mark, description: stage.mark, instructions: 'Help.', tools: [], skills: ['a'] },
    }
  }),
  deleteAgent: asPerson(async (stage, person) => {
    await by(stage, person)('POST', '/agents', { slug: 'helper' })
    return { params: { agentId: 'helper' } }
  }),
  validateWorkflow: asPerson(async (stage) => ({ body: askingOf(stage) })),
  installWorkflow: asPerson(async (stage) => ({
    params: { slug: 'asking' },
    body: { definition: askingOf(stage) },
  })),
  installWorkflowFromArtifact: asPerson(async (stage, person) => {
    const files = [{ path: 'workflow.json', content: JSON.stringify(askingOf(stage)) }]
    const { id } = await by(stage, person)('POST', '/artifacts', { type: 'workflow', files })
    return { body: { artifactId: id } }
  }),
  uninstallWorkflow: asPerson(async (stage, person) => {
    await newRun(stage, person)
    return { params: { slug: 'asking' } }
  }),
  deleteWorkflow: asPerson(async (stage, person) => {
    await newRun(stage, person)
    return { params: { slug: 'asking' } }
  }),
  launchWorkflow: asPerson(async (stage, person) => {
    await newRun(stage, person)
    return { params: { id: 'asking' }, body: { inputs: { any: 'thing' } } }
  }),
  resumeWorkflowRun: asPerson(async (stage, person) => ({
    params: { runId: await newQuestion(stage, person) },
    body: { resumeData: { answer: 'yes' }, stepId: 'ask' },
  })),
  cancelWorkflowRun: asPerson(async (stage, person) => ({ params: { runId: await newRun(stage, person) } })),
  rerunWorkflowRun: asPerson(async (stage, person) => {
    const runId = await newRun(stage, person)
    await by(stage, person)('POST', `/workflows/runs/${runId}/cancel`)
    return { params: { runId }, body: { inputs: { any: 'thing' } } }
  }),
  deleteWorkflowQueueJob: asPerson(async (stage, person) => ({
    params: { runId: await newRun(stage, person) },
  })),
  updateProfile: asPerson(async ({ mark }) => ({
    body: { name: mark, bio: mark, timezone: 'Europe/Berlin', facts: { likes: mark } },
  })),
  storeProviderKey: asPerson(
    async () => ({
      params: { provider: 'anthropic' },
      body: { apiKey: 'a-key-of-theirs', baseUrl: 'http://127.0.0.1:9/' },
    }),
    'byokmode',
  ),
  removeProviderKey: asPerson(async (stage, person) => {
    await by(stage, person)('PUT', '/profile/provider-keys/anthropic', { apiKey: 'a-key-of-theirs' })
    return { params: { provider: 'anthropic' } }
  }, 'byokmode'),
  connectAgent: asPerson(async (stage, person) => ({
    key: await newDeclaredKey(stage, person),
    body: { requestedScopes: ['agent:list', 'profile:read'] },
  })),
  findConsentByCode: asPerson(async (stage, person) => ({
    body: { code: (await newConsent(stage, person, ['agent:list'])).link_code },
  })),
  approveConsent: asPerson(async (stage, person) => ({
    params: { consentId: (await newConsent(stage, person, ['agent:list', 'profile:read'])).consent_id },
    body: { scopes: ['agent:list'], modes: { 'agent:list': 'session' } },
  })),
  denyConsent: asPerson(async (stage, person) => ({
    params: { consentId: (await newConsent(stage, person, ['agent:list'])).consent_id },
    body: { reason: stage.mark },
  })),
  requestPermission: asPerson(async (stage, person) => {
    const { secret: key } = await stage.house.newKey(person, { scopes: ['agent:list'] })
    await activate(stage, person, key)
    return {
      key,
      body: { scope: 'profile:read', mode: 'session', reason: stage.mark, action: actionOf(stage) },
    }
  }),
  approvePermission: asPerson(async (stage, person) => ({
    params: { requestId: await newPermission(stage, person) },
    body: { mode: 'session' },
  })),
  denyPermission: asPerson(async (stage, person) => ({
    params: { requestId: await newPermission(stage, person) },
    body: { reason: stage.mark },
  })),
  removeScope: asPerson(async (stage, person) => {
    const { id, secret } = await stage.house.newKey(person, { scopes: ['agent:list'] })
    await activate(stage, person, secret)
    return { params: { keyId: String(id), scope: 'agent:list' } }
  }),
  approveApproval: asPerson(async (stage, person) => ({
    params: { id: await newBudgetRequest(stage, person) },
    body: { amount: 7 },
  })),
  denyApproval: asPerson(async (stage, person) => ({
    params: { id: await newBudgetRequest(stage, person) },
    body: { reason: stage.mark },
  })),
  challengeApproval: asPerson(async (stage, person) => {
    await givePasskey(stage.house, person)
    const { consent_id: id } = await newConsent(stage, person, ['profile:write'])
    return { params: { id }, body: { scopes: ['profile:write'], modes: { 'profile:write': 'session' } } }
  }),
  createOAuthClient: asPerson(async ({ mark }) => ({
    body: { name: mark, redirect_uris: ['https://app.example/cb'], public: true },
  })),
  deleteOAuthClient: asPerson(async (stage, person) => ({
    params: { id: await newOAuthClient(stage, person) },
  })),
}
