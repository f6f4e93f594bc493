import { createHash, randomBytes } from 'node:crypto'
import type { Audience } from '@guildhall/contract'
import type { SpawnedStack } from '../../stack/client.ts'
import { openBrowser } from '../support/browser.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { newRunner, prepareErrand } from '../support/executions.ts'
import { definitionOf, runsOf } from '../support/workflows.ts'
import type { Random } from './random.ts'

type Headers = Readonly<Record<string, string>>

/** Who asks, and things that are really there for them to ask about. */
export interface World {
  readonly workspaceIds: readonly string[]
  /** One that may call the route, mostly; where a call ends what it came with, one that nothing else needs. */
  credential(name: string, audience: Audience, random: Random): Headers
  /** An id for a field or a parameter of this name, of something that exists if there is any. */
  idFor(field: string, random: Random): string
}

const callback = 'https://app.example/callback'

/** Made anew now and then: requests sign people out, revoke keys and delete things. */
export async function makeWorld({ baseUrl }: Pick<SpawnedStack, 'baseUrl'>): Promise<World> {
  const app = createCaller(baseUrl)
  const [person, stranger] = [await newRunner(app), await app.newPerson()]
  const [full, narrow, waiting, revoked, spare] = [
    await app.newKey(person, { access: 'full' }),
    await app.newKey(person, { scopes: ['profile:read', 'tool:execute'] }),
    await app.newKey(person, { access: 'declared' }),
    await app.newKey(person),
    await app.newKey(person),
  ]
  await app.call('DELETE', `/api/v1/keys/${revoked.id}`, { token: person.token })
  const oauth = await newAccessToken(app, baseUrl, person)
  const ids = await makeThings(app, person)
  const credentials: Record<string, Headers> = {
    session: { 'x-auth-token': person.token },
    stranger: { 'x-auth-token': stranger.token },
    full: { 'x-api-key': full.secret },
    narrow: { 'x-api-key': narrow.secret },
    waiting: { 'x-api-key': waiting.secret },
    revoked: { 'x-api-key': revoked.secret },
    oauth: { authorization: `Bearer ${oauth}` },
    junk: { 'x-api-key': `guild_live_${'x'.repeat(49)}` },
    odd: { authorization: 'Basic eDp5' },
    none: {},
  }
  const fitting: Record<Audience, readonly string[]> = {
    public: ['none', 'session'],
    session: ['session'],
    key: ['full', 'narrow', 'waiting'],
    agent: ['full', 'oauth', 'narrow'],
    credential: ['session', 'full', 'oauth', 'narrow'],
    signed: ['none', 'session'],
    operator: ['none', 'odd'],
  }
  return {
    workspaceIds: [person.workspaceId, stranger.workspaceId],
    credential: (route, audience, random) => {
      if (route === 'signOut') return credentials['stranger'] ?? {}
      const name = random.chance(0.85)
        ? random.pick(fitting[audience])
        : random.pick(Object.keys(credentials))
      return credentials[name] ?? {}
    },
    idFor: (field, random) => {
      const things: readonly string[] = ids[field] ?? ids['id'] ?? []
      if (field === 'keyId' || (field === 'id' && random.chance(0.1))) return String(spare.id)
      return random.chance(0.9) && things.length > 0 ? random.pick(things) : 'x'
    },
  }
}

async function makeThings(app: Caller, person: Person): Promise<Record<string, readonly string[]>> {
  const runs = runsOf(app, person)
  const wait = { type: 'tool', id: 'ask', toolId: 'ask-human' }
  await runs.install('asking', definitionOf('asking', [wait]))
  await runs.install('echoing', definitionOf('echoing', [{ type: 'mapping', id: 'm', mapConfig: '{}' }]))
  const runId = await runs.start('asking', { question: 'Shall I?' }).catch(() => 'none')
  const execution = await prepareErrand(app, person, 'x')
  const get = async (path: string) => (await app.call('GET', `/api/v1${path}`, { token: person.token })).body
  const approvals = await get('/approvals')
  const artifacts = await get('/artifacts')
  const agents = await get('/agents')
  const approvalIds = (approvals?.items ?? []).map(({ id }: { id: string }) => id)
  const artifactIds = (artifacts?.items ?? []).map(({ id }: { id: string }) => id)
  const agentIds = (agents?.items ?? agents ?? []).map(({ id }: { id: string }) => id)
  return {
    slug: ['errand', 'asking', 'echoing'],
    skill_slug: ['errand'],
    executionId: [execution],
    remixOf: [execution],
    runId: [runId],
    workflowId: ['asking', 'echoing'],
    id: [...approvalIds, ...artifactIds, ...agentIds],
    artifactId: artifactIds,
    agentId: agentIds,
    consentId: approvalIds,
    requestId: approvalIds,
    versionNumber: ['1', '2'],
    scope: ['profile:read', 'profile:write', 'tool:execute:errand'],
    path: ['SKILL.md'],
    email: [person.email],
    userId: [person.userId],
    workspaceId: [person.workspaceId],
  }
}

/** An app that a person let in, as it happens in a browser. */
async function newAccessToken(app: Caller, baseUrl: string, owner: Person): Promise<string> {
  const made = await app.call('POST', '/api/v1/oauth/clients', {
    token: owner.token,
    body: { name: 'Fuzzed app', redirect_uris: [callback] },
  })
  const { client_id, client_secret } = made.body
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: callback,
    scope: 'read write',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const browser = openBrowser({ stopAt: callback })
  const atProvider = await browser.submit(await browser.open(`${baseUrl}/oauth/authorize?${query}`))
  const consentPage = await browser.submit(atProvider, { login: `fuzz-${randomBytes(6).toString('hex')}` })
  const { url } = await browser.submit(consentPage, { decision: 'allow' })
  const answer = await app.call('POST', '/oauth/token', {
    body: {
      grant_type: 'authorization_code',
      redirect_uri: callback,
      code: url.searchParams.get('code'),
      code_verifier: verifier,
      client_id,
      client_secret,
    },
  })
  if (answer.status !== 200) throw new Error(`No token for the app: ${answer.text}`)
  return answer.body.access_token
}
