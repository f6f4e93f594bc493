import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Route, routes } from '@guildhall/contract'
import { makeTarGz } from '../../../../test/support/archives.ts'
import { createAuthenticator } from '../../../../test/support/authenticator.ts'
import { hashSecret, mintSecret } from '../../src/platform/secrets.ts'
import { insertSignInCode } from '../../src/sessions/store.ts'
import { newTeamWith } from './house.ts'
import { assertFor, givePasskey, houseOrigin } from './passkeys.ts'
import {
  actionOf,
  activate,
  askingOf,
  asPerson,
  base64,
  by,
  type Make,
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
  operatorToken,
  type Stage,
  skillText,
  type WritingCall,
} from './writing-stage.ts'

export { models, operatorToken, type Stage, send, sendBy, stageIn } from './writing-stage.ts'

export const writingRoutes = Object.entries<Route>(routes)
  .filter(([, { method }]) => method !== 'GET')
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
    const row = { code_hash: hashSecret(code), user_id: userId, challenge: null }
    await insertSignInCode(house.deps.database.db, row, 60)
    return { body: { code, verifier: 'v'.repeat(43) } }
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
  // Only a browser at an identity provider makes one; signed-in-ends.test.ts does.
  endOAuthGrant: asPerson(async () => ({ params: { id: '987654321' }, refusedWith: 404 })),
}
