import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../../support/house.ts'
import { newNotification } from '../../support/notifications.ts'
import { newPersonWithPasskey } from '../../support/passkeys.ts'
import { newSubscription } from '../../support/profile-cases.ts'
import { newReceipt } from '../../support/receipts.ts'

/**
 * Every route that takes an id, with an id of somebody else's and with one that never was: the two answers are
 * the same to the byte. A route with a parameter that is not known here fails until a maker for it is added.
 */
let house: House
let caller: Person
let other: Person

beforeAll(async () => {
  // No run may advance here: a launch waits, and needs no engine.
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    RUNS_PER_WORKSPACE: '0',
    STARTING_CREDITS: '1000',
  })
  caller = await house.newPerson()
  other = await house.newPerson()
})

afterAll(() => house.close())

const neverWas = { number: '987654321', uuid: '00000000-0000-4000-8000-000000000000' }

/** Makes, per parameter, an id that exists and is not the caller's, and one of the same form that does not exist. */
const makers: Record<string, () => Promise<{ foreign: string; missing: string }>> = {
  'keys :id': async () => ({ foreign: String((await house.newKey(other)).id), missing: neverWas.number }),
  // Of a person of its own: who has a passkey is asked for it when the other makers create keys.
  'passkeys :id': async () => ({
    foreign: (await newPersonWithPasskey(house)).id,
    missing: 'cGFzc2tleXMgaGF2ZSBpZA',
  }),
  'oauth :id': async () => {
    const answer = await house.call('POST', '/api/v1/oauth/clients', {
      token: other.token,
      body: { name: 'Not yours', redirect_uris: ['https://app.example/cb'] },
    })
    return { foreign: answer.body.client_id, missing: 'app_00000000000000000000' }
  },
  'agents :keyId': async () => ({
    foreign: String((await house.newKey(other)).id),
    missing: neverWas.number,
  }),
  'agents :consentId': async () => ({
    foreign: (await askAsOther('/api/v1/agents/connect', {})).consent_id,
    missing: `consent_${neverWas.uuid}`,
  }),
  'agents :requestId': async () => ({
    foreign: await otherRequest(),
    missing: `permission_${neverWas.uuid}`,
  }),
  'agents :askId': async () => ({
    foreign: (await askAsOther('/api/v1/agents/ask', { question: 'Not yours?' })).ask_id,
    missing: `ask_${neverWas.uuid}`,
  }),
  'agents :agentId': async () => {
    await house.call('POST', '/api/v1/agents', { token: other.token, body: { slug: 'not-yours' } })
    return { foreign: `${other.workspaceId}:not-yours`, missing: `${neverWas.uuid}:not-yours` }
  },
  'workflows :slug': async () => {
    await installAsOther('not-yours')
    return { foreign: 'not-yours', missing: 'never-was' }
  },
  'workflows :id': async () => {
    await installAsOther('not-yours')
    return { foreign: `${other.workspaceId}:not-yours`, missing: `${neverWas.uuid}:not-yours` }
  },
  'workflows :runId': async () => {
    await installAsOther('not-yours')
    const answer = await house.call('POST', '/api/v1/workflows/not-yours/launch', { token: other.token })
    return { foreign: answer.body.runId, missing: `run_${neverWas.uuid}` }
  },
  'approvals :id': async () => ({ foreign: await otherRequest(), missing: `permission_${neverWas.uuid}` }),
  'artifacts :id': async () => {
    const answer = await house.call('POST', '/api/v1/artifacts', {
      token: other.token,
      body: { type: 'file', files: [{ path: 'a.txt', content: 'not yours' }] },
    })
    return { foreign: answer.body.id, missing: `artifact_${neverWas.uuid}` }
  },
  'skills :slug': foreignSkill,
  // A skill of somebody's library is nothing of the marketplace's.
  'marketplace :slug': foreignSkill,
  'executions :slug': foreignSkill,
  'executions :executionId': foreignExecution,
  'traces :id': async () => {
    const { foreign: executionId } = await foreignExecution()
    const shown = await house.call('GET', `/api/v1/executions/${executionId}/status`, { token: other.token })
    return { foreign: shown.body.traceId, missing: `trace_${neverWas.uuid}` }
  },
  'notifications :id': async () => ({
    foreign: await foreignNotification(),
    missing: `notice_${neverWas.uuid}`,
  }),
  'threads :id': async () => ({ foreign: await foreignThread(), missing: 'never-was' }),
  'threads :agentId': async () => {
    await house.call('POST', '/api/v1/agents', { token: other.token, body: { slug: 'not-yours' } })
    return { foreign: `${other.workspaceId}:not-yours`, missing: `${neverWas.uuid}:not-yours` }
  },
  // Of a thread that is the caller's own.
  'threads :runId': async () => ({
    foreign: `chat_${neverWas.uuid}`,
    missing: 'chat_00000000-0000-4000-8000-000000000001',
  }),
  'receipts :id': async () => ({
    foreign: await newReceipt(house, other, (await foreignSkill()).foreign),
    missing: `receipt_exec_${neverWas.uuid}`,
  }),
  // To neither: an invitation of strangers to a stranger.
  'workspaces :id': async () => {
    const team = await house.newTeam(other, 'Not yours')
    const answer = await house.call('POST', '/api/v1/workspaces/current/members', {
      token: other.token,
      headers: { 'x-workspace-id': team },
      body: { email: 'nobody@example.test' },
    })
    return { foreign: answer.body.id, missing: neverWas.uuid }
  },
  'sign-in :id': async () => {
    const { body } = await house.call('GET', '/api/v1/auth/sessions', { token: other.token })
    return { foreign: String(body[0].id), missing: '987654321' }
  },
  'push :id': async () => ({
    foreign: await newSubscription({ house }, other),
    missing: `push_${neverWas.uuid}`,
  }),
  'workspaces :userId': async () => ({ foreign: other.userId, missing: neverWas.uuid }),
}

/** Under a name that the caller could use too, and has not. */
async function foreignNotification(): Promise<string> {
  await foreignThread()
  return newNotification(house, other.workspaceId, 'not-yours')
}

async function foreignThread(): Promise<string> {
  const body = { threadId: 'not-yours', title: 'not yours' }
  await house.call('POST', '/api/v1/threads', { token: other.token, body })
  return body.threadId
}

async function foreignSkill() {
  const content = '---\nname: not-yours\ndescription: Is not for others.\n---\nKeep out.\n'
  const artifact = await house.call('POST', '/api/v1/artifacts', {
    token: other.token,
    body: { type: 'skill', files: [{ path: 'SKILL.md', content }] },
  })
  const answer = await house.call('POST', '/api/v1/skills/not-yours/install', {
    token: other.token,
    body: { artifactId: artifact.body.id },
  })
  return { foreign: answer.body.slug, missing: 'never-was' }
}

async function installAsOther(slug: string): Promise<void> {
  const graph = [{ type: 'tool', id: 'ask', toolId: 'ask-human' }]
  const body = { id: slug, inputSchema: {}, outputSchema: {}, graph }
  await house.call('POST', `/api/v1/workflows/${slug}/install`, { token: other.token, body })
}

async function foreignExecution() {
  const { foreign: skill_slug } = await foreignSkill()
  const answer = await house.call('POST', '/api/v1/executions', {
    token: other.token,
    body: { skill_slug, input: 'not yours' },
  })
  return { foreign: answer.body.id, missing: `exec_${neverWas.uuid}` }
}

async function askAsOther(path: string, body: unknown) {
  const { secret } = await house.newKey(other, { scopes: ['agent:list'] })
  const answer = await house.call('POST', path, { key: secret, body })
  return answer.body
}

async function otherRequest(): Promise<string> {
  const body = { scope: 'profile:read', reason: 'not yours' }
  return (await askAsOther('/api/v1/agents/request-permission', body)).request_id
}

const bodies: Record<string, unknown> = {
  updateKey: { label: 'mine now' },
  updateAgent: { name: 'mine now' },
  approveConsent: { scopes: ['profile:read'] },
  runSkill: { input: 'mine now' },
  rerunExecution: { input: 'mine now' },
  markTraceTurns: { seqs: [1] },
  unmarkTraceTurns: { seqs: [1] },
  appendTraceEvents: { events: [{ type: 'agent.text', payload: {} }] },
  postExecutionEvents: { events: [{ type: 'user.interrupt' }] },
  updateThread: { title: 'mine now' },
  chat: { message: 'mine now' },
  get sendMessage() {
    return { resourceId: caller.workspaceId, threadId: 'mine', message: 'mine now' }
  },
  get subscribeThread() {
    return { resourceId: caller.workspaceId, threadId: 'mine' }
  },
}
/** Parameters that name no row, or one of what another parameter names, with a value that is good everywhere. */
const notIds: Record<string, string> = {
  scope: 'profile:read',
  provider: 'anthropic',
  grantId: '1',
  versionNumber: '1',
  handoverId: 'handover_none',
  seq: '1',
}

/** Makes what it names, so there is nothing of anybody else's to find. */
const makesWhatItNames = ['installWorkflow']

const withIds = Object.entries<Route>(routes).flatMap(([name, route]) =>
  [...route.path.matchAll(/:(\w+)/g)]
    .filter(([, parameter = '']) => !(parameter in notIds) && !makesWhatItNames.includes(name))
    .map(([, parameter]) => ({ name, route, maker: `${route.tag} :${parameter}` })),
)

describe.each(withIds)('$name ($maker)', ({ name, route, maker }) => {
  test('a foreign id reads like a missing one', async () => {
    const make = makers[maker]
    if (!make) throw new Error(`Add a maker for "${maker}" so that ${name} is covered`)
    const { foreign, missing } = await make()
    const body = bodies[name]
    const { secret } = await house.newKey(caller)
    const path = route.path.replace(/:(\w+)/g, (text, parameter) => notIds[parameter] ?? text)
    const ask = (id: string) =>
      house.call(route.method, path.replace(/:[a-zA-Z]+(?=\/|$)/, id), {
        ...(route.audience === 'key' ? { key: secret } : { token: caller.token }),
        ...(body === undefined ? {} : { body }),
      })
    const [onForeign, onMissing, onNonsense] = [await ask(foreign), await ask(missing), await ask('x!')]
    expect(onForeign.status).toBe(404)
    expect(onForeign.text).toBe(onMissing.text)
    expect(onNonsense.text).toBe(onMissing.text)
    expect(onForeign.headers.get('content-length')).toBe(onMissing.headers.get('content-length'))
  })
})

test('lists show nothing of other people', async () => {
  const { id } = await house.newKey(other, { label: 'not yours' })
  const team = await house.newTeam(other, 'Not yours')
  const { foreign: slug } = await foreignSkill()
  const { foreign: executionId } = await foreignExecution()
  await foreignThread()
  for (const path of [
    '/api/v1/keys',
    '/api/v1/passkeys',
    '/api/v1/workspaces',
    '/api/v1/workspaces/current/members',
    '/api/v1/executions',
    '/api/v1/skills',
    '/api/v1/artifacts',
    '/api/v1/threads',
  ]) {
    const answer = await house.call('GET', path, { token: caller.token })
    expect(answer.status).toBe(200)
    expect(answer.text).not.toContain(other.userId)
    expect(answer.text).not.toContain(team)
    expect(answer.text).not.toContain('not yours')
    expect(answer.text).not.toContain(slug)
    expect(answer.text).not.toContain(executionId)
    expect(answer.text).not.toContain(`"id":${id},`)
  }
})

test('a key sees its own workspace only, whatever header it sends', async () => {
  const team = await house.newTeam(other)
  const { secret } = await house.newKey(other)
  const answer = await house.call('GET', '/api/v1/workspaces', {
    key: secret,
    headers: { 'x-workspace-id': team },
  })
  expect(answer.body.map((workspace: { id: string }) => workspace.id)).toEqual([other.workspaceId])
})

test('a code that somebody else decided cannot be looked up, and answers like an unknown one', async () => {
  const { userCode } = await house.newCode()
  await house.call('POST', '/api/v1/activate/deny', { token: other.token, body: { code: userCode } })
  const decided = await house.call('GET', `/api/v1/activate/lookup?code=${userCode}`, { token: caller.token })
  const unknown = await house.call('GET', '/api/v1/activate/lookup?code=ZZZZ-ZZZZ', { token: caller.token })
  expect(decided.status).toBe(404)
  expect(decided.text).toBe(unknown.text)
})
