import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Authenticator } from '../../../../test/support/authenticator.ts'
import { skillText } from '../../../../test/support/skills.ts'
import { definitionOf } from '../../../../test/support/workflows.ts'
import { type Headers, type Holder, newHolder } from '../support/credentials.ts'
import { type OAuthHouse, openOAuthHouse, registerApp } from '../support/oauth.ts'
import { givePasskey } from '../support/passkeys.ts'

/**
 * What a start is recorded with: the right by which it was let through, and who gave that. There is no engine here, so
 * what starts ends at once; the record stays.
 */
let set: OAuthHouse
let holder: Holder
let passkey: { authenticator: Authenticator; id: string }

beforeAll(async () => {
  set = await openOAuthHouse({ STARTING_CREDITS: '100000', RUNS_PER_WORKSPACE: '0' })
  const app = await registerApp(set.house, set.owner)
  holder = await newHolder(set, app, 'holder')
  const files = [{ path: 'SKILL.md', content: skillText('errand', 'Run the errand.') }]
  const artifact = await must('POST', '/artifacts', { type: 'skill', files })
  await must('POST', '/skills/errand/install', { artifactId: artifact.id })
  const graph = [{ type: 'mapping', id: 'm', mapConfig: '{"value":{"value":1}}' }]
  await must('POST', '/workflows/flow/install', { definition: definitionOf('flow', graph) })
  scoped = await holder.newKey({ access: 'declared', scopes: ['tool:execute'] })
  passkey = await givePasskey(set.house, { ...holder, token: holder.sessionToken, email: '' })
})

afterAll(() => set?.close())

async function must(method: string, path: string, body?: unknown, headers: Headers = holder.session) {
  const answer = await holder.call(headers, method, path, body)
  if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.text}`)
  return answer.body
}

let scoped: { id: number; headers: Headers }

/** A key without the right to run anything, which is then given it in this mode, with a passkey. */
async function granted(mode: 'persistent' | 'session' | 'one_time', scope = 'tool:execute') {
  const { id, headers } = await holder.newKey({ access: 'declared', scopes: ['profile:read'] })
  const asked = { scope, mode, reason: 'For the test' }
  const { request_id } = await must('POST', '/agents/request-permission', asked, headers)
  const challenge = await must('POST', `/approvals/${request_id}/challenge`, { mode })
  await must('POST', `/agents/request-permission/${request_id}/approve`, {
    mode,
    device_auth: passkey.authenticator.assert(challenge.options),
  })
  const approval = {
    requestId: request_id,
    approvedBy: holder.userId,
    approvedAt: moment,
    passkey: passkey.id,
  }
  const grants = await set.query('select id::int from grants where key_id = $1', [id])
  return { headers, approval, grantId: grants[0]?.id }
}

const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

interface Let {
  headers: Headers
  /** For something that needs this scope. */
  right(needed: string): object
}

const rights: Record<string, () => Promise<Let>> = {
  'a full key': async () => ({
    headers: holder.key,
    right: () => ({ scope: '*', via: 'full', approvedBy: holder.userId, approvedAt: moment }),
  }),
  'a key with the scope': async () => ({
    headers: scoped.headers,
    right: () => ({ scope: 'tool:execute', via: 'key', approvedBy: holder.userId, approvedAt: moment }),
  }),
  'a key that was given the scope to keep': async () => {
    const { headers, approval } = await granted('persistent')
    return { headers, right: () => ({ scope: 'tool:execute', via: 'key', ...approval }) }
  },
  'a grant for a session': async () => {
    const { headers, approval, grantId } = await granted('session')
    return { headers, right: () => ({ scope: 'tool:execute', via: 'grant', grantId, ...approval }) }
  },
  'a grant for a single use': async () => {
    const { headers, approval, grantId } = await granted('one_time')
    return { headers, right: () => ({ scope: 'tool:execute', via: 'grant', grantId, ...approval }) }
  },
  'a person': async () => ({
    headers: holder.session,
    right: (scope) => ({ scope, via: 'person', approvedBy: holder.userId }),
  }),
  'an app': async () => {
    const [{ id: oauthGrantId }] = await set.query(
      `select id::int from oauth_records where model = 'Grant' and user_id = $1 order by id desc limit 1`,
      [holder.userId],
    )
    return {
      headers: holder.oauth,
      right: (scope) => ({ scope, via: 'app', approvedBy: holder.userId, oauthGrantId }),
    }
  },
}

const message = { events: [{ type: 'user.message', content: [{ type: 'text', text: 'Now.' }] }] }
const prepare = () => must('POST', '/executions', { skill_slug: 'errand', input: 'Go.' })

const authorityOf = async (table: 'executions' | 'workflow_runs', id: string) => {
  const column = table === 'executions' ? 'execution_id' : 'run_id'
  const [row] = await set.query(`select authority from ${table} where ${column} = $1`, [id])
  return row.authority
}
const newest = async () => {
  const [row] = await set.query('select execution_id from executions order by id desc limit 1')
  return row.execution_id as string
}

const ofSkill = 'tool:execute:errand'
const starts: Record<string, (headers: Headers) => Promise<{ needed: string; stored: unknown }>> = {
  run: async (headers) => {
    await holder.call(headers, 'POST', '/skills/errand/run', { input: 'Go.' })
    return { needed: ofSkill, stored: await authorityOf('executions', await newest()) }
  },
  'first message': async (headers) => {
    const { id } = await prepare()
    await holder.call(headers, 'POST', `/executions/${id}/events`, message)
    return { needed: ofSkill, stored: await authorityOf('executions', id) }
  },
  rerun: async (headers) => {
    const { id } = await prepare()
    await holder.call(headers, 'POST', `/executions/${id}/rerun`, { input: 'Again.' })
    const made = await newest()
    expect(made).not.toBe(id)
    return { needed: ofSkill, stored: await authorityOf('executions', made) }
  },
  'place in the queue': async (headers) => {
    const { id } = await prepare()
    const { id: other } = await prepare()
    const slot =
      'update workspace_slots set execution_id = (select id from executions where execution_id = $1)'
    await set.query(slot, [other])
    const answer = await holder.call(headers, 'POST', `/executions/${id}/events`, {
      ...message,
      ifBusy: 'queue',
    })
    expect(answer.status, answer.text).toBe(200)
    await set.query('update workspace_slots set execution_id = null')
    const stored = await authorityOf('executions', id)
    await must('POST', `/executions/${id}/cancel`)
    return { needed: ofSkill, stored }
  },
  launch: async (headers) => {
    const { runId } = await must('POST', '/workflows/flow/launch', {}, headers)
    return { needed: 'tool:execute', stored: await authorityOf('workflow_runs', runId) }
  },
}

describe.each(Object.keys(rights))('%s', (name) => {
  test.each(Object.keys(starts))('is on record with a %s', async (start) => {
    const given = (await rights[name]?.()) as Let
    const { needed, stored } = (await starts[start]?.(given.headers)) ?? { needed: '', stored: undefined }
    expect(stored).toEqual([given.right(needed)])
  })
})

test('a scope that is taken away and given again is told by who gave it last', async () => {
  const { id, headers } = await holder.newKey({
    access: 'declared',
    scopes: ['tool:execute'],
    device_auth: await assertFor(['tool:execute']),
  })
  const approvals = async () =>
    (await set.query('select approvals from api_keys where id = $1', [id]))[0].approvals
  expect(await approvals()).toEqual({
    'tool:execute': { approvedBy: holder.userId, approvedAt: moment, passkey: passkey.id },
  })
  await must('DELETE', `/agents/${id}/scopes/tool:execute`)
  expect(await approvals()).toEqual({})
  expect((await holder.call(headers, 'POST', '/workflows/flow/launch')).status).toBe(403)
})

test('the right to one skill is not told for another', async () => {
  const { headers } = await granted('session', 'tool:execute:other')
  const { id } = await prepare()
  expect((await holder.call(headers, 'POST', `/executions/${id}/events`, message)).status).toBe(403)
  expect(await authorityOf('executions', id)).toBeNull()
})

async function assertFor(scopes: string[]) {
  const input = { purpose: 'create-key', access: 'declared', scopes }
  const { assertion } = await must('POST', '/passkeys/options', input)
  return passkey.authenticator.assert(assertion)
}
