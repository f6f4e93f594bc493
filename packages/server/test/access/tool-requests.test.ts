import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  announceApprovals,
  askForTool,
  dropToolRequests,
  findToolDecision,
  findToolGrant,
  type ToolCall,
} from '#access/approvals/approvals.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, newTeamWith, openHouse, shiftClock } from '../support/house.ts'
import { innerCaller } from '../support/inner-caller.ts'
import { expectDeviceAuthRequired, givePasskey } from '../support/passkeys.ts'
import { rejoin } from '../support/rejoin.ts'

let databaseUrl: string
let house: House

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
})

afterEach(() => shiftClock(databaseUrl, 0))

afterAll(() => house.close())

const action = { summary: 'Send a mail', tool: 'mail__send', args: { to: 'a@b.test', text: '\u202eodd' } }
const callOf = ({ userId, workspaceId }: Person, more: Partial<ToolCall> = {}): ToolCall => ({
  userId,
  workspaceId,
  keyId: null,
  threadId: 'main',
  runId: `chat_${randomUUID()}`,
  toolUseId: 'call_1',
  tool: 'mail__send',
  action,
  needsPasskey: false,
  ...more,
})
const ask = (call: ToolCall) => house.deps.database.transaction((tx) => askForTool(tx, call))
const decisionOf = (id: string) => findToolDecision(house.deps.database.db, id)
const isGranted = (call: ToolCall) => findToolGrant(house.deps.database.db, call)
const decide = (token: string, id: string, verb: 'approve' | 'deny', body?: unknown) =>
  house.call('POST', `/api/v1/approvals/${id}/${verb}`, { token, ...(body === undefined ? {} : { body }) })
const linesOf = async (person: Person, type: string) =>
  (await house.call('GET', `/api/v1/activity?type=${type}`, { token: person.token })).body.items

describe('a run asks about a call', () => {
  test('the person finds the exact call in the inbox and allows it once', async () => {
    const person = await house.newPerson()
    const call = callOf(person)
    const { id, isNew } = await ask(call)
    expect(isNew).toBe(true)
    const { items } = (await house.call('GET', '/api/v1/approvals?kind=tool', { token: person.token })).body
    const { runId, toolUseId } = call
    expect(items).toMatchObject([
      {
        id,
        kind: 'tool',
        status: 'pending',
        key: null,
        action,
        tool: {
          name: 'mail__send',
          threadId: 'main',
          runId,
          toolUseId,
          needsPasskey: false,
          choices: ['once', 'hour'],
        },
      },
    ])
    expect((await decide(person.token, id, 'approve')).status).toBe(200)
    expect(await decisionOf(id)).toMatchObject({ state: 'granted', denyReason: null, grantedUntil: null })
    expect(await isGranted(call)).toBe(false)
    expect(await linesOf(person, 'tool.allowed')).toMatchObject([
      {
        actor: { kind: 'session', userId: person.userId },
        details: { requestId: id, tool: 'mail__send', threadId: 'main', runId, choice: 'once' },
      },
    ])
    const late = await decide(person.token, id, 'deny')
    expect(late.status).toBe(409)
  })

  test('the reason of a no is there for the model', async () => {
    const person = await house.newPerson()
    const { id } = await ask(callOf(person))
    expect((await decide(person.token, id, 'deny', { reason: 'not to them' })).status).toBe(200)
    expect(await decisionOf(id)).toMatchObject({ state: 'denied', denyReason: 'not to them' })
    expect(await linesOf(person, 'tool.denied')).toMatchObject([{ details: { reason: 'not to them' } }])
  })

  test('the same call is asked about once, however often and at once; another run asks for itself', async () => {
    const person = await house.newPerson()
    const { id: keyId } = await house.newKey(person)
    const call = callOf(person, { keyId })
    const asked = await Promise.all(Array.from({ length: 10 }, () => ask(call)))
    expect(new Set(asked.map(({ id }) => id)).size).toBe(1)
    expect(asked.filter(({ isNew }) => isNew)).toHaveLength(1)
    const id = asked[0]?.id ?? ''
    await decide(person.token, id, 'approve')
    expect(await ask(call)).toEqual({ id, isNew: false })
    const other = await ask(callOf(person, { keyId }))
    expect(other.id).not.toBe(id)
    expect(await decisionOf(other.id)).toMatchObject({ state: 'pending' })
  })

  test('a key has at most five of all kinds waiting, also when it asks at once', async () => {
    const person = await house.newPerson()
    const { id: keyId, secret } = await house.newKey(person, { scopes: ['agent:list'] })
    const body = { scope: 'profile:read', reason: 'r' }
    expect(
      (await house.call('POST', '/api/v1/agents/request-permission', { key: secret, body })).status,
    ).toBe(202)
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => ask(callOf(person, { keyId }))))
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
    const refused = asked.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
    expect(new Set(refused)).toEqual(new Set(['RATE_LIMITED']))
  })

  test('after a day nobody answered, and a run that has ended does not ask any more', async () => {
    const person = await house.newPerson()
    const { id } = await ask(callOf(person))
    const call = callOf(person)
    const { id: ended } = await ask(call)
    expect(await house.deps.database.transaction((tx) => dropToolRequests(tx, call.runId))).toEqual([ended])
    expect((await decide(person.token, ended, 'approve')).status).toBe(409)
    await shiftClock(databaseUrl, 24 * 3600 - 60)
    expect(await decisionOf(id)).toMatchObject({ state: 'pending' })
    await shiftClock(databaseUrl, 24 * 3600 + 1)
    expect(await decisionOf(id)).toMatchObject({ state: 'expired' })
    expect((await decide(person.token, id, 'approve')).status).toBe(409)
  })

  test('a decision that began before the deadline does not follow the word that nobody answered', async () => {
    const person = await house.newPerson()
    const { id } = await ask(callOf(person))
    await shiftClock(databaseUrl, 24 * 3600 + 1)
    expect(await decisionOf(id)).toMatchObject({ state: 'expired' })
    // As a transaction has it that began before the deadline and was slow.
    await shiftClock(databaseUrl, 0)
    expect((await decide(person.token, id, 'approve')).status).toBe(409)
    expect(await decisionOf(id)).toMatchObject({ state: 'expired' })
  })

  test('the person hears of it and of its end', async () => {
    const person = await house.newPerson()
    const { userId, workspaceId } = person
    const heard: { type: string }[] = []
    const { body } = await house.call('GET', '/api/v1/events/subscribe-url', { token: person.token })
    const { pathname, search } = new URL(body.url)
    const socket = new WebSocket(`${house.url.replace('http', 'ws')}${pathname}${search}`)
    socket.addEventListener('message', ({ data }) => heard.push(JSON.parse(data)))
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    const { id } = await ask(callOf(person))
    await announceApprovals(
      { ...house.deps, bus: house.bus },
      { kind: 'tool', workspaceId, userId, ids: [id] },
    )
    await decide(person.token, id, 'approve')
    await expect
      .poll(() => heard.filter(({ type }) => type !== 'cache-invalidate'))
      .toEqual([
        expect.objectContaining({ type: 'approval-requested', kind: 'tool', approvalId: id }),
        expect.objectContaining({
          type: 'approval-resolved',
          kind: 'tool',
          approvalId: id,
          status: 'granted',
        }),
      ])
    socket.close()
  })
})

describe('for an hour', () => {
  test('ends with the membership, and is not there for who comes back', async () => {
    const person = await house.newPerson()
    const { id } = await ask(callOf(person))
    expect((await decide(person.token, id, 'approve', { choice: 'hour' })).status).toBe(200)
    expect(await isGranted(callOf(person))).toBe(true)
    await rejoin(house.deps.database.db, person)
    expect(await isGranted(callOf(person))).toBe(false)
    const anew = await ask(callOf(person, { toolUseId: 'call_2' }))
    expect((await decide(person.token, anew.id, 'approve', { choice: 'hour' })).status).toBe(200)
    expect(await isGranted(callOf(person))).toBe(true)
  })

  test('holds for this tool, thread, workspace, person and key, and ends', async () => {
    const person = await house.newPerson()
    const other = await house.newPerson()
    const { id: keyId } = await house.newKey(person)
    const call = callOf(person)
    const { id } = await ask(call)
    expect((await decide(person.token, id, 'approve', { choice: 'hour' })).status).toBe(200)
    expect(await isGranted(callOf(person))).toBe(true)
    const others: Partial<ToolCall>[] = [
      { tool: 'mail__delete' },
      { threadId: 'other' },
      { workspaceId: other.workspaceId },
      { userId: other.userId },
      { keyId },
    ]
    for (const more of others) expect(await isGranted(callOf(person, more)), JSON.stringify(more)).toBe(false)
    await shiftClock(databaseUrl, 3590)
    expect(await isGranted(callOf(person))).toBe(true)
    await shiftClock(databaseUrl, 3601)
    expect(await isGranted(callOf(person))).toBe(false)
  })

  test('a choice that was not offered is refused, and the request stays', async () => {
    const person = await house.newPerson()
    const { id } = await ask(callOf(person))
    const refused = await decide(person.token, id, 'approve', { choice: 'forever' })
    expect(refused.status).toBe(400)
    expect(refused.body.error.details).toEqual({ choices: ['once', 'hour'] })
    expect(await decisionOf(id)).toMatchObject({ state: 'pending' })
  })
})

describe('a run that has read what came from outside', () => {
  test('needs the passkey of who has one, over this choice, and gets no hour', async () => {
    const person = await house.newPerson()
    const { authenticator } = await givePasskey(house, person)
    const { id } = await ask(callOf(person, { needsPasskey: true }))
    const { id: another } = await ask(callOf(person, { needsPasskey: true }))
    expectDeviceAuthRequired(await decide(person.token, id, 'approve'))
    expect((await decide(person.token, id, 'approve', { choice: 'hour' })).status).toBe(400)
    const prove = async (of: string) => {
      const path = `/api/v1/approvals/${of}/challenge`
      const { body } = await house.call('POST', path, { token: person.token, body: { choice: 'once' } })
      return authenticator.assert(body.options)
    }
    expectDeviceAuthRequired(await decide(person.token, id, 'approve', { device_auth: await prove(another) }))
    const device_auth = await prove(id)
    expect((await decide(person.token, id, 'approve', { device_auth })).status).toBe(200)
    expect(await linesOf(person, 'tool.allowed')).toMatchObject([
      { details: { passkey: expect.any(String) } },
    ])
  })

  test('asks who has no passkey without one', async () => {
    const person = await house.newPerson()
    const { id } = await ask(callOf(person, { needsPasskey: true }))
    expect((await decide(person.token, id, 'approve')).status).toBe(200)
  })
})

test('nobody decides but the person: no key, no other member, nothing made for an agent', async () => {
  const owner = await house.newPerson()
  const member = await house.newPerson()
  const workspaceId = await newTeamWith(house, owner, member)
  const { secret } = await house.newKey(member)
  const { id } = await ask(callOf(member, { workspaceId }))
  const path = `/api/v1/approvals/${id}/approve`
  expect((await house.call('POST', path, { key: secret })).status).toBe(403)
  expect((await decide(owner.token, id, 'approve')).status).toBe(404)
  expect((await decide(owner.token, id, 'deny')).status).toBe(404)
  for (const via of ['agent', 'mcp', 'workflow'] as const) {
    const inner = innerCaller(house, via)
    expect((await inner.call('POST', path, { token: member.token })).status).toBe(403)
    expect((await inner.call('POST', path, { key: secret })).status).toBe(403)
  }
  expect(await decisionOf(id)).toMatchObject({ state: 'pending' })
  const { items } = (await house.call('GET', '/api/v1/approvals?kind=tool', { token: owner.token })).body
  expect(items).toEqual([])
})

test('of fifty decisions at once one counts', async () => {
  const person = await house.newPerson()
  const { id } = await ask(callOf(person))
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) => decide(person.token, id, i % 2 ? 'approve' : 'deny')),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const won = answers.findIndex(({ status }) => status === 200)
  expect(await decisionOf(id)).toMatchObject({ state: won % 2 ? 'granted' : 'denied' })
})
