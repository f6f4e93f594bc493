import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Route, routes } from '@guildhall/contract'
import { hashOf } from '#accounts/sessions/browser-sign-in.ts'
import { insertSignInCode } from '#accounts/sessions/store.ts'
import { hashSecret, mintSecret } from '#platform/secrets.ts'
import { makeTarGz } from '../../../../test/support/archives.ts'
import { createAuthenticator } from '../../../../test/support/authenticator.ts'
import { agentCases } from './agent-cases.ts'
import { newTeamWith } from './house.ts'
import { keyCases } from './key-cases.ts'
import { assertFor, givePasskey, houseOrigin } from './passkeys.ts'
import { profileCases } from './profile-cases.ts'
import { recoveryCases } from './recovery-cases.ts'
import { threadCases } from './thread-cases.ts'
import {
  actionOf,
  activate,
  askingOf,
  askOf,
  asPerson,
  base64,
  by,
  type Make,
  newAsk,
  newBudgetRequest,
  newConsent,
  newDeclaredKey,
  newExecution,
  newInvitation,
  newOAuthClient,
  newPermission,
  newQuestion,
  newRun,
  newSkill,
  newTrace,
  operatorToken,
  type Stage,
  skillText,
  type WritingCall,
} from './writing-stage.ts'

export { models, operatorToken, type Stage, send, sendBy, stageIn } from './writing-stage.ts'

export const writingRoutes = Object.entries<Route>(routes)
  // What stays open cannot be collected; thread-streams.test.ts reads it.
  .filter(([, { method, answers }]) => method !== 'GET' && answers !== 'events')
  .map(([name, route]) => ({ name, route }))

/** Makes what the route needs, and gives a request that it accepts. */
export function writingCase(name: string): (stage: Stage) => Promise<WritingCall> {
  const make = cases[name]
  if (!make) throw new Error(`Add a case for ${name}: a request with every field that it accepts`)
  return make
}

const cases: Record<string, Make> = {
  exchangeSignIn: async ({ house, newPerson }) => {
    const { userId } = await newPerson()
    const code = mintSecret('signIn')
    const verifier = 'v'.repeat(43)
    const row = { code_hash: hashSecret(code), user_id: userId, challenge: hashOf(verifier) }
    await insertSignInCode(house.deps.database.db, row, 60)
    return { body: { code, verifier, label: 'a terminal', lifetimeSeconds: 3600 } }
  },
  signInForDevelopment: async ({ newPerson }) => ({
    body: { email: (await newPerson()).email, mode: 'paygmode' },
  }),
  signOut: asPerson(async () => ({})),
  endSession: asPerson(async (stage, person) => {
    const [{ id }] = await by(stage, person)('GET', '/auth/sessions')
    return { params: { id: String(id) } }
  }),
  endOtherSessions: asPerson(async () => ({})),
  createWorkspace: asPerson(async ({ mark }) => ({ body: { name: mark } })),
  setCurrentWorkspace: asPerson(async ({ house }, person) => ({
    body: { workspaceId: await house.newTeam(person) },
  })),
  inviteMember: asPerson(async (stage, person) => ({
    headers: { 'x-workspace-id': await stage.house.newTeam(person) },
    body: { email: (await stage.newPerson()).email, role: 'member' },
  })),
  withdrawInvitation: asPerson(async (stage, person) => {
    const { id, team } = await newInvitation(stage, person, await stage.newPerson())
    return { params: { id }, headers: { 'x-workspace-id': team } }
  }),
  acceptInvitation: asPerson(async (stage, person) => {
    const { id } = await newInvitation(stage, await stage.newPerson(), person)
    return { params: { id } }
  }),
  declineInvitation: asPerson(async (stage, person) => {
    const { id } = await newInvitation(stage, await stage.newPerson(), person)
    return { params: { id } }
  }),
  removeMember: asPerson(async (stage, person) => {
    const member = await stage.newPerson()
    const team = await newTeamWith(stage.house, person, member)
    return { params: { userId: member.userId }, headers: { 'x-workspace-id': team } }
  }),
  preparePasskey: asPerson(async () => ({
    body: {
      purpose: 'create-key',
      access: 'declared',
      scopes: ['agent:list'],
      code: 'ABCD-EFGH',
      modes: { 'agent:list': 'session' },
    },
  })),
  createPasskey: asPerson(async (stage, person) => {
    const { registration } = await by(stage, person)('POST', '/passkeys/options')
    const credential = createAuthenticator({ origin: houseOrigin }).register(registration)
    return { body: { name: stage.mark, credential } }
  }),
  removePasskey: asPerson(async ({ house }, person) => {
    const { authenticator, id } = await givePasskey(house, person)
    const input = { purpose: 'remove', passkeyId: id }
    return { params: { id }, body: { device_auth: await assertFor(house, person, authenticator, input) } }
  }),
  createActivation: async () => ({ body: { requested_scopes: ['agent:list'], number_match: true } }),
  pollActivation: async ({ house }) => ({
    body: { device_code: (await house.newCode()).deviceCode, wait: 0 },
  }),
  confirmActivation: asPerson(async ({ house }) => {
    const body = { requested_scopes: ['agent:list', 'profile:read'], number_match: true }
    const { user_code: code, match } = (await house.call('POST', '/api/v1/activate', { body })).body
    const modes = { 'agent:list': 'session' }
    return { body: { code, access: 'declared', scopes: ['agent:list', 'profile:read'], modes, match } }
  }),
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
  validateSkill: asPerson(async ({ mark }) => ({
    body: { slug: 'other', files: [{ path: 'SKILL.md', content: mark, encoding: 'utf8' }] },
  })),
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
    body: { input: stage.mark, maxCost: 60, ifBusy: 'queue' },
  })),
  cancelExecution: asPerson(async (stage, person) => ({
    params: { executionId: await newExecution(stage, person) },
  })),
  appendTraceEvents: asPerson(async (stage, person) => ({
    params: { id: await newTrace(stage, person) },
    body: { events: [{ type: 'agent.text', payload: { any: { thing: stage.mark } }, seq: 7 }] },
  })),
  // Nothing has run on it; receipts.test.ts makes real ones, of which no two are alike.
  makeTraceReceipt: asPerson(async (stage, person) => ({
    params: { id: await newTrace(stage, person) },
    refusedWith: 409,
  })),
  markTraceTurns: asPerson(async (stage, person) => {
    const id = await newTrace(stage, person)
    await by(stage, person)('POST', `/traces/${id}/events`, { events: [{ type: 'agent.text', payload: {} }] })
    return { params: { id }, body: { seqs: [1], reason: stage.mark } }
  }),
  unmarkTraceTurns: asPerson(async (stage, person) => ({
    params: { id: await newTrace(stage, person) },
    body: { seqs: [1] },
  })),
  eraseTraceTurn: asPerson(async (stage, person) => {
    const id = await newTrace(stage, person)
    await by(stage, person)('POST', `/traces/${id}/events`, { events: [{ type: 'agent.text', payload: {} }] })
    return { params: { id, seq: '1' } }
  }),
  createHandover: asPerson(async (stage, person) => ({
    params: { id: await newTrace(stage, person) },
    body: { note: stage.mark, toAgentSlug: 'mailer', expiresInSeconds: 60, reach: 'workspace' },
  })),
  revokeHandover: asPerson(async (stage, person) => {
    const id = await newTrace(stage, person)
    const { handoverId } = await by(stage, person)('POST', `/traces/${id}/handover`, {})
    return { params: { id, handoverId } }
  }),
  pickUpTrace: asPerson(async (stage, person) => {
    const id = await newTrace(stage, person)
    const { code } = await by(stage, person)('POST', `/traces/${id}/handover`, {})
    return { body: { code } }
  }),
  continueTrace: asPerson(async (stage, person) => ({ params: { id: await newTrace(stage, person) } })),
  ...agentCases,
  ...keyCases,
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
  ...threadCases,
  ...profileCases,
  ...recoveryCases,
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
  askPerson: asPerson(async (stage, person) => {
    const { secret: key } = await stage.house.newKey(person, { scopes: ['agent:list'] })
    return { key, body: askOf(stage) }
  }),
  withdrawAsk: asPerson(async (stage, person) => {
    const { key, askId } = await newAsk(stage, person)
    return { key, params: { askId }, body: { because: stage.mark } }
  }),
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
  // Only a browser at an identity provider makes one; signed-in-ends.test.ts does.
  endOAuthGrant: asPerson(async () => ({ params: { id: '987654321' }, refusedWith: 404 })),
}
