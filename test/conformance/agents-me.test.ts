import { expect, test } from 'vitest'
import { expectAhead } from '../support/moments.ts'
import { modes, newKey, newPerson, newVisitor } from './support/actors.ts'
import type { Caller } from './support/client.ts'
import { callGuarded, removeScope, requestAndApprove } from './support/consent.ts'
import { cancel, lasting, mustRun, newRunner } from './support/executions.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { cancel as cancelRun, flow, mustInstall, mustLaunch, nap } from './support/workflows.ts'
import { verifies } from './verifies.ts'

interface Me {
  running: string[]
  mode: string
  mcp: boolean
  scopes: { scope: string; mode: string; expires_at: string | null }[]
}

const me = (key: Caller) => key.get<Me>('/agents/me')

test('an agent can see what it is and may do', async () => {
  verifies('agents:me:shape')
  const person = await newPerson()
  const key = await newKey(person, { label: 'Editor', scopes: ['profile:read'], spendLimit: 12.5 })
  const { status, body } = await me(key)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    key: { id: key.id, label: 'Editor', prefix: key.record.prefix },
    workspace: { id: person.workspaceId, name: null },
    mode: 'basedmode',
    activated: true,
    scopes: [{ scope: 'profile:read', mode: 'persistent', expires_at: null }],
    budget: { spent: 0, limit: 12.5 },
    rate: { limit: 100, windowSeconds: 60 },
    running: [],
    mcp: true,
  })
})

test('it sees what it has running, and nothing of others', async () => {
  verifies('agents:me:shape')
  const person = await newRunner()
  const [key, other] = [await newKey(person), await newKey(person)]
  const executionId = await mustRun(key, lasting)
  await mustInstall(person, flow([nap]))
  const [runId, others] = [await mustLaunch(key), await mustLaunch(other)]
  expect((await me(key)).body.running).toEqual([executionId, runId])
  expect((await me(other)).body.running).toEqual([others])
  await cancel(key, executionId)
  await cancelRun(key, runId)
  expect((await me(key)).body.running).toEqual([])
})

test('what was lent to it shows with its end, as long as it is there', async () => {
  verifies('agents:me:grants')
  const person = await newPerson()
  const key = await newKey(person, { scopes: ['agent:list'] })
  const begun = Date.now()
  await requestAndApprove(person, key, 'profile:read', { mode: 'one_time' })
  await requestAndApprove(person, key, 'billing:read', { mode: 'session' })
  const scopes = async () =>
    Object.fromEntries((await me(key)).body.scopes.map(({ scope, ...rest }) => [scope, rest]))
  const [own, lent] = [
    { mode: 'persistent', expires_at: null },
    { mode: 'session', expires_at: expect.stringMatching(isoPattern) },
  ]
  const all = await scopes()
  expect(all).toEqual({
    'agent:list': own,
    'billing:read': lent,
    'profile:read': { ...lent, mode: 'one_time' },
  })
  const endOf = (scope: string) => Date.parse(all[scope]?.expires_at ?? '')
  expectAhead(endOf('billing:read'), begun, 3_600_000)
  expectAhead(endOf('profile:read'), begun, 300_000)
  expect((await callGuarded(key)).status).toBe(200)
  expect(await scopes()).toEqual({ 'agent:list': own, 'billing:read': lent })
  expect((await removeScope(person, key.id, 'billing:read')).status).toBe(200)
  expect(await scopes()).toEqual({ 'agent:list': own })
})

test('it is a question of active keys', async () => {
  verifies('agents:me:key-only')
  const person = await newPerson()
  expectRefusal(await me(person), 403, 'FORBIDDEN')
  expectRefusal(await me(await newKey(person, { access: 'declared' })), 403, 'FORBIDDEN')
  expectRefusal(await me(newVisitor()), 401, 'UNAUTHORIZED')
})

test.each(modes)('an account in %s has MCP or not', async (mode) => {
  verifies('agents:me:mcp-basedmode')
  const { body } = await me(await newKey(await newPerson({ mode })))
  expect([body.mode, body.mcp]).toEqual([mode, mode === 'basedmode'])
})
