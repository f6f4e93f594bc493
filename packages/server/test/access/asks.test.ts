import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { createDatabase, type House, newTeamWith, openHouse, shiftClock } from '../support/house.ts'
import { innerCaller } from '../support/inner-caller.ts'

let databaseUrl: string
let house: House
let person: Person
let key: string

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl, APP_URL: 'https://app.test' })
  person = await house.newPerson()
})

afterEach(() => shiftClock(databaseUrl, 0))

afterAll(() => house.close())

let asked = 0
const question = () => `May I? (${++asked})`
const choices = [
  { id: 'yes', label: 'Do it', kind: 'allow' },
  { id: 'no', label: 'Leave it', kind: 'deny' },
  { id: 'say', label: 'Say how', kind: 'answer' },
]
const schema = {
  type: 'object',
  properties: { branch: { type: 'string', pattern: '^[a-z]+$' } },
  required: ['branch'],
}
const action = { summary: 'Push', tool: 'bash', args: { command: 'git push \u202e', n: 1.5 }, diff: '-a\n+b' }

const newKey = async (fields: object = { scopes: ['agent:list'] }) =>
  (await house.newKey(person, { ...fields })).secret
const send = (body: object, by = key) => house.call('POST', '/api/v1/agents/ask', { key: by, body })
const mustAsk = async (body: object = {}, by?: string): Promise<string> => {
  key = by ?? (await newKey())
  const answer = await send({ question: question(), ...body })
  expect(answer.status, answer.text).toBe(202)
  return answer.body.ask_id
}
const poll = async (id: string, wait = 0, by = key) =>
  (await house.call('GET', `/api/v1/agents/ask/poll/${id}?wait=${wait}`, { key: by })).body
const withdraw = (id: string, body: object = {}, by = key) =>
  house.call('POST', `/api/v1/agents/ask/${id}/withdraw`, { key: by, body })
const decide = (id: string, verb: 'approve' | 'deny', body: object = {}, token = person.token) =>
  house.call('POST', `/api/v1/approvals/${id}/${verb}`, { token, body })
const itemOf = async (id: string) => {
  const { items } = (await house.call('GET', '/api/v1/approvals?kind=ask&limit=100', { token: person.token }))
    .body
  return items.find((item: { id: string }) => item.id === id)
}

describe('an ask', () => {
  test('is answered 202 with where to look, by a key without any scope of it', async () => {
    key = await newKey({ scopes: ['profile:read'] })
    const { status, body } = await send({ question: question() })
    expect(status).toBe(202)
    const { ask_id: id } = body
    expect(id).toMatch(/^ask_/)
    expect(body).toEqual({
      status: 'pending',
      ask_id: id,
      approval_url: `https://app.test/approvals/${id}`,
      poll_url: `/api/v1/agents/ask/poll/${id}`,
      poll_interval_seconds: 2,
    })
    expect(await poll(id)).toEqual({ status: 'pending' })
  })

  test('stands in the inbox as it was sent', async () => {
    const id = await mustAsk({ question: 'Push?\u0007', action, choices, schema })
    expect(await itemOf(id)).toMatchObject({
      kind: 'ask',
      status: 'pending',
      scopes: [],
      action,
      ask: { question: 'Push?\u0007', choices, schema },
    })
  })

  test('that is equal to one that waits is the same one, also when many come at once', async () => {
    key = await newKey()
    const body = { question: question(), action, choices, schema }
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(body)))
    expect(new Set(answers.map((answer) => answer.body.ask_id)).size).toBe(1)
    const other = await send({ ...body, choices: choices.slice(0, 2) })
    expect(other.body.ask_id).not.toBe(answers[0]?.body.ask_id)
    await decide(answers[0]?.body.ask_id, 'deny')
    expect((await send(body)).body.ask_id).not.toBe(answers[0]?.body.ask_id)
  })

  test('counts among the five requests that a key may have waiting', async () => {
    key = await newKey()
    const permission = { scope: 'profile:read', reason: 'r' }
    await house.call('POST', '/api/v1/agents/request-permission', { key, body: permission })
    const answers = await Promise.all(Array.from({ length: 8 }, () => send({ question: question() })))
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 202, 202, 429, 429, 429, 429])
    expect(answers.find(({ status }) => status === 429)?.headers.get('retry-after')).toBe('2')
  })

  test.each([
    ['no question', { question: undefined }],
    ['blanks', { question: ' \n' }],
    ['501 characters', { question: 'x'.repeat(501) }],
    ['too short a time', { expires_in: 59 }],
    ['too long a time', { expires_in: 86_401 }],
    ['choices without any', { choices: [] }],
    ['choices that share an id', { choices: [choices[0], choices[0]] }],
    ['a kind of choice that is none', { choices: [{ id: 'a', label: 'A', kind: 'maybe' }] }],
    ['an action without a summary', { action: { tool: 'bash' } }],
    ['args over 64 KiB', { action: { summary: 's', args: 'x'.repeat(65_537) } }],
    ['a schema that is not served', { schema: { if: {} } }],
    [
      'a schema that refers to itself',
      { schema: { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } } },
    ],
    ['a schema over 16 KiB', { schema: { description: 'x'.repeat(16_384) } }],
    ['a pattern that could run for ever', { schema: { pattern: '(a+)+\\1' } }],
  ])('is refused: %s', async (_what, wrong) => {
    key = await newKey()
    const answer = await send({ question: question(), ...wrong })
    expect(answer.status, answer.text).toBe(400)
    expect(answer.body.error.code).toBe('INVALID_INPUT')
  })

  test('lives as long as it says, and nobody can answer what the agent was told is over', async () => {
    const short = await mustAsk({ expires_in: 60 })
    const usual = await mustAsk({}, key)
    await shiftClock(databaseUrl, 61)
    expect(await poll(short)).toEqual({ status: 'expired' })
    expect(await poll(usual)).toEqual({ status: 'pending' })
    await shiftClock(databaseUrl, 3601)
    expect((await decide(usual, 'approve')).status).toBe(409)
    expect((await withdraw(usual)).status).toBe(409)
    // As a transaction has it that began before the deadline and was slow.
    await shiftClock(databaseUrl, 0)
    expect((await decide(short, 'approve')).status).toBe(409)
    expect(await poll(short)).toEqual({ status: 'expired' })
  })
})

describe('an answer', () => {
  test('without choices is a plain yes, with whatever is said', async () => {
    const plain = await mustAsk()
    expect((await decide(plain, 'approve')).status).toBe(200)
    expect(await poll(plain)).toEqual({ status: 'answered' })
    const said = await mustAsk()
    await decide(said, 'approve', { answer: 'use main' })
    expect(await poll(said)).toEqual({ status: 'answered', answer: 'use main' })
    expect((await decide(said, 'approve')).status).toBe(409)
    expect((await itemOf(said)).ask).toMatchObject({ answer: 'use main' })
  })

  test('reaches a poll that waits on another process at once', async () => {
    const other = await openHouse({ DATABASE_URL: databaseUrl })
    try {
      const id = await mustAsk({ choices })
      const begun = performance.now()
      const polled = other.call('GET', `/api/v1/agents/ask/poll/${id}?wait=20`, { key })
      await new Promise((resolve) => setTimeout(resolve, 300))
      await decide(id, 'approve', { choice: 'yes' })
      expect((await polled).body).toEqual({ status: 'answered', choice: 'yes' })
      expectWithin(performance.now() - begun, 5000, 'the poll', 20_000)
    } finally {
      await other.close()
    }
  })

  test('is one of the choices; one that says no is a no', async () => {
    const id = await mustAsk({ choices })
    for (const choice of ['maybe', undefined]) {
      const refused = await decide(id, 'approve', { choice })
      expect(refused.status).toBe(400)
      expect(refused.body.error.details).toEqual({ choices: ['yes', 'no', 'say'] })
    }
    expect(await poll(id)).toEqual({ status: 'pending' })
    expect((await decide(id, 'approve', { choice: 'no' })).status).toBe(200)
    expect(await poll(id)).toEqual({ status: 'denied', choice: 'no' })
    expect((await itemOf(id)).status).toBe('denied')
    const open = await mustAsk()
    expect((await decide(open, 'approve', { choice: 'yes' })).status).toBe(400)
  })

  test('fits the schema, and what does not says where', async () => {
    const id = await mustAsk({ choices, schema })
    const refused = await decide(id, 'approve', { choice: 'say', answer: { branch: 'Main' } })
    expect(refused.status).toBe(400)
    expect(refused.body.error.details.issues).toMatchObject([{ path: 'branch', keyword: 'pattern' }])
    expect((await decide(id, 'approve', { choice: 'say' })).status).toBe(400)
    expect((await decide(id, 'approve', { choice: 'yes', answer: { branch: 7 } })).status).toBe(400)
    await decide(id, 'approve', { choice: 'say', answer: { branch: 'main' } })
    expect(await poll(id)).toEqual({ status: 'answered', choice: 'say', answer: { branch: 'main' } })
    const byYes = await mustAsk({ choices, schema })
    await decide(byYes, 'approve', { choice: 'yes' })
    expect(await poll(byYes)).toEqual({ status: 'answered', choice: 'yes' })
  })

  test('is checked within the work that workflows allow', async () => {
    // Of each item every alternative is tried, for each alternative of the whole, which all fail in the end.
    const each = { anyOf: [...Array(19).fill({ not: {} }), {}] }
    const nested = { anyOf: Array.from({ length: 20 }, () => ({ items: each, not: {} })) }
    const id = await mustAsk({ schema: nested })
    const begun = process.cpuUsage()
    const refused = await decide(id, 'approve', { answer: Array(20_000).fill(0) })
    const { user } = process.cpuUsage(begun)
    expect(refused.status).toBe(400)
    expect(refused.body.error.details.issues[0].message).toMatch(/too large/)
    expectWithin(user / 1000, 1000)
  })

  test('may change the args of the action, where there are any', async () => {
    const id = await mustAsk({ action })
    await decide(id, 'approve', { edited_args: { command: 'git push --dry-run' } })
    expect(await poll(id)).toEqual({ status: 'answered', edited_args: { command: 'git push --dry-run' } })
    const without = await mustAsk({ action: { summary: 'Push' } })
    expect((await decide(without, 'approve', { edited_args: {} })).status).toBe(400)
    expect((await decide(without, 'approve', { answer: 'x'.repeat(65_537) })).status).toBe(400)
    expect(await poll(without)).toEqual({ status: 'pending' })
  })

  test('of no carries its reason, and either is a line of activity', async () => {
    const id = await mustAsk({ choices })
    await decide(id, 'deny', { reason: ' not on Fridays ' })
    expect(await poll(id)).toEqual({ status: 'denied', deny_reason: 'not on Fridays' })
    const yes = await mustAsk({ choices })
    await decide(yes, 'approve', { choice: 'yes' })
    const lines = async (type: string) =>
      (await house.call('GET', `/api/v1/activity?type=${type}`, { token: person.token })).body.items[0]
    expect(await lines('ask.denied')).toMatchObject({
      actor: { kind: 'session', userId: person.userId },
      details: { requestId: id, reason: 'not on Fridays' },
    })
    expect(await lines('ask.answered')).toMatchObject({ details: { requestId: yes, choice: 'yes' } })
  })

  test('grants nothing', async () => {
    const id = await mustAsk({
      action: { summary: 'Read', request: { method: 'GET', path: '/api/v1/profile' } },
    })
    await decide(id, 'approve')
    expect((await house.call('GET', '/api/v1/profile', { key })).status).toBe(403)
    const me = await house.call('GET', '/api/v1/agents/me', { key })
    expect(me.body.scopes).toEqual([{ scope: 'agent:list', mode: 'persistent', expires_at: null }])
  })
})

describe('withdrawing', () => {
  test('takes it from the person, tells whoever waits, and may be repeated', async () => {
    const id = await mustAsk({ choices })
    const polled = poll(id, 20)
    await delay(100)
    expect((await withdraw(id, { because: 'answered here' })).body).toEqual({ success: true })
    expect(await polled).toEqual({ status: 'withdrawn' })
    expect((await withdraw(id)).status).toBe(200)
    expect((await decide(id, 'approve', { choice: 'yes' })).status).toBe(409)
    expect(await itemOf(id)).toMatchObject({
      status: 'expired',
      ask: { withdrawn: { because: 'answered here' } },
    })
  })

  test('comes too late for what was answered', async () => {
    const id = await mustAsk()
    await decide(id, 'approve')
    const refused = await withdraw(id)
    expect(refused.status).toBe(409)
    expect(refused.body.error.details).toEqual({ status: 'answered' })
  })

  test('is not turned into an expiry by whoever looks while it is being written', async () => {
    const id = await mustAsk()
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    try {
      await client.query(
        `update approval_requests set expires_at = guild_now() + interval '50 ms' where id = $1`,
        [id],
      )
      await client.query('begin')
      await client.query(
        `update approval_requests set closed = 'withdrawn', expires_at = guild_now() where id = $1`,
        [id],
      )
      // Its time is over now for whoever sees the row as it was before.
      await delay(100)
      const polled = poll(id)
      await delay(100)
      await client.query('commit')
      expect(await polled).toEqual({ status: 'withdrawn' })
    } finally {
      await client.end()
    }
  })

  test('makes room for another one', async () => {
    key = await newKey()
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push((await send({ question: question() })).body.ask_id)
    expect((await send({ question: question() })).status).toBe(429)
    await withdraw(ids[2] ?? '')
    expect((await send({ question: question() })).status).toBe(202)
  })
})

describe('nobody else', () => {
  test('sees, answers or withdraws it: no other key, no other member', async () => {
    const owner = await house.newPerson()
    const team = await newTeamWith(house, owner, person)
    const made = await house.call('POST', '/api/v1/keys', {
      token: person.token,
      headers: { 'x-workspace-id': team },
      body: { label: 'in the team' },
    })
    const id = await mustAsk({ choices }, made.body.api_key)
    const { secret: foreign } = await house.newKey(owner)
    const sibling = await newKey()
    for (const other of [foreign, sibling]) {
      expect((await house.call('GET', `/api/v1/agents/ask/poll/${id}`, { key: other })).status).toBe(404)
      expect((await withdraw(id, {}, other)).status).toBe(404)
    }
    const inbox = await house.call('GET', '/api/v1/approvals?kind=ask', { token: owner.token })
    expect(inbox.body.items).toEqual([])
    expect((await decide(id, 'approve', { choice: 'yes' }, owner.token)).status).toBe(404)
    expect((await decide(id, 'deny', {}, owner.token)).status).toBe(404)
    expect(await poll(id)).toEqual({ status: 'pending' })
  })

  test('decides for the person: not the key that asks, nothing made for an agent', async () => {
    const id = await mustAsk({ choices })
    const path = `/api/v1/approvals/${id}/approve`
    const body = { choice: 'yes' }
    expect((await house.call('POST', path, { key, body })).status).toBe(403)
    for (const via of ['agent', 'mcp', 'workflow'] as const) {
      const inner = innerCaller(house, via)
      expect((await inner.call('POST', path, { token: person.token, body })).status).toBe(403)
      expect((await inner.call('POST', path, { key, body })).status).toBe(403)
    }
    expect(await poll(id)).toEqual({ status: 'pending' })
  })

  test('answers for a key that was revoked', async () => {
    const { id: keyId, secret } = await house.newKey(person)
    const id = await mustAsk({}, secret)
    await house.call('DELETE', `/api/v1/keys/${keyId}`, { token: person.token })
    expect((await decide(id, 'approve')).status).toBe(404)
  })
})

test('no agent can be called like the route', async () => {
  const answer = await house.call('POST', '/api/v1/agents', { token: person.token, body: { slug: 'ask' } })
  expect(answer.status).toBe(400)
})
