import { describe, expect, test } from 'vitest'
import {
  addMember,
  inWorkspace,
  must,
  newKey,
  newPerson,
  newWorkspace,
  type Person,
} from './support/actors.ts'
import type { Caller } from './support/client.ts'
import { connect, mustRequest } from './support/consent.ts'
import { expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

interface Pending {
  status: string
  ask_id: string
  approval_url: string
  poll_url: string
  poll_interval_seconds: number
}

interface Item {
  id: string
  kind: string
  status: string
  action: unknown
  ask: object
}

const choices = [
  { id: 'go', label: 'Go on', kind: 'allow' },
  { id: 'stop', label: 'Stop', kind: 'deny' },
]
const schema = {
  type: 'object',
  properties: { branch: { type: 'string', maxLength: 5 } },
  required: ['branch'],
}
const action = {
  summary: 'Push',
  tool: 'bash',
  args: { command: 'git push' },
  diff: '-a\n+b',
  target: 'main',
}

const narrowKey = (person: Person) => newKey(person, { scopes: ['agent:list'] })
const ask = (key: Caller, body: unknown) => key.post<Pending>('/agents/ask', body)
const mustAsk = async (key: Caller, body: object = {}) =>
  must(await ask(key, { question: 'May I go on?', ...body }), 202)
const poll = async (key: Caller, id: string) => must(await key.get<object>(`/agents/ask/poll/${id}`), 200)
const withdraw = (key: Caller, id: string) => key.post(`/agents/ask/${id}/withdraw`, { because: 'said here' })
const approve = (person: Caller, id: string, body: object = {}) =>
  person.post(`/approvals/${id}/approve`, body)
const inbox = async (person: Caller) =>
  must(await person.get<{ items: Item[] }>('/approvals?kind=ask'), 200).items

describe('an ask', () => {
  test('is taken from any active key, and from nobody else', async () => {
    verifies('agents:ask:pending')
    const person = await newPerson()
    const asked = await mustAsk(await narrowKey(person))
    expect(asked).toEqual({
      status: 'pending',
      ask_id: expect.stringMatching(/^ask_/),
      approval_url: expect.stringContaining(`/approvals/${asked.ask_id}`),
      poll_url: `/api/v1/agents/ask/poll/${asked.ask_id}`,
      poll_interval_seconds: 2,
    })
    expectRefusal(await ask(person, { question: 'May I?' }), 403, 'FORBIDDEN')
    const declared = await newKey(person, { access: 'declared' })
    expectRefusal(await ask(declared, { question: 'May I?' }), 403, 'FORBIDDEN')
  })

  test('stands in the inbox of its person as it was sent, and in nobody else’s', async () => {
    verifies('agents:ask:inbox')
    const person = await newPerson()
    const member = await newPerson()
    const team = await newWorkspace(person)
    await addMember(person, team.id, member)
    const key = await newKey(person, {}, inWorkspace(team.id))
    const { ask_id: id } = await mustAsk(key, { action, choices, schema })
    expect(await inbox(person)).toMatchObject([
      { id, kind: 'ask', status: 'pending', action, ask: { question: 'May I go on?', choices, schema } },
    ])
    expect(await inbox(member)).toEqual([])
    expectRefusal(await approve(member, id, { choice: 'go' }), 404, 'NOT_FOUND')
    expect(await poll(key, id)).toEqual({ status: 'pending' })
  })

  test('has bounds', async () => {
    verifies('agents:ask:bounds')
    const key = await narrowKey(await newPerson())
    const wrong = [
      { question: '' },
      { question: '  ' },
      { question: 'x'.repeat(501) },
      { question: 'May I?', expires_in: 59 },
      { question: 'May I?', expires_in: 86_401 },
      { question: 'May I?', choices: [choices[0], choices[0]] },
      { question: 'May I?', schema: { contains: {} } },
    ]
    for (const body of wrong) expectRefusal(await ask(key, body), 400, 'INVALID_INPUT')
    must(await ask(key, { question: 'x'.repeat(500), expires_in: 60 }), 202)
    must(await ask(key, { question: 'May I?', expires_in: 86_400 }), 202)
  })

  test('that is equal to one that waits is that one, and a key has five waiting', async () => {
    verifies('agents:ask:equal-share-id')
    const key = await narrowKey(await newPerson())
    const { ask_id: id } = await mustAsk(key, { choices })
    expect((await mustAsk(key, { choices })).ask_id).toBe(id)
    await mustRequest(key, 'profile:read')
    for (const question of ['b', 'c', 'd']) await mustAsk(key, { question })
    const sixth = await ask(key, { question: 'e' })
    expectRefusal(sixth, 429, 'RATE_LIMITED')
    expect(sixth.headers['retry-after']).toBe('2')
  })
})

describe('the agent is told', () => {
  test('what the person said', async () => {
    verifies('agents:ask:answered')
    const person = await newPerson()
    const key = await narrowKey(person)
    const { ask_id: id } = await mustAsk(key, { action, choices, schema })
    expectRefusal(await approve(person, id, { choice: 'maybe' }), 400, 'INVALID_INPUT')
    expectRefusal(
      await approve(person, id, { choice: 'go', answer: { branch: 'too long' } }),
      400,
      'INVALID_INPUT',
    )
    expect(await poll(key, id)).toEqual({ status: 'pending' })
    const said = { choice: 'go', answer: { branch: 'main' }, edited_args: { command: 'git push -n' } }
    must(await approve(person, id, said), 200)
    expect(await poll(key, id)).toEqual({ status: 'answered', ...said })
  })

  test('that the person said no', async () => {
    verifies('agents:ask:denied')
    const person = await newPerson()
    const key = await narrowKey(person)
    const { ask_id: id } = await mustAsk(key)
    must(await person.post(`/approvals/${id}/deny`, { reason: 'Not now' }), 200)
    expect(await poll(key, id)).toEqual({ status: 'denied', deny_reason: 'Not now' })
    const { ask_id: chosen } = await mustAsk(key, { choices })
    must(await approve(person, chosen, { choice: 'stop' }), 200)
    expect(await poll(key, chosen)).toEqual({ status: 'denied', choice: 'stop' })
  })

  test('that it took it back', async () => {
    verifies('agents:ask:withdrawn')
    const person = await newPerson()
    const key = await narrowKey(person)
    const { ask_id: id } = await mustAsk(key)
    for (let i = 0; i < 2; i++) must(await withdraw(key, id), 200)
    expect(await poll(key, id)).toEqual({ status: 'withdrawn' })
    expectRefusal(await approve(person, id), 409, 'CONFLICT')
    const { ask_id: answered } = await mustAsk(key)
    must(await approve(person, answered), 200)
    const late = await withdraw(key, answered)
    expectRefusal(late, 409, 'CONFLICT')
    expect(late.body).toMatchObject({ error: { details: { status: 'answered' } } })
  })
})

test('an answer grants nothing, and no key gives one', async () => {
  verifies('agents:ask:grants-nothing')
  const person = await newPerson()
  const key = await narrowKey(person)
  const { ask_id: id } = await mustAsk(key)
  for (const verb of ['approve', 'deny'])
    expectRefusal(await key.post(`/approvals/${id}/${verb}`, {}), 403, 'FORBIDDEN')
  must(await approve(person, id), 200)
  const me = must(await key.get<{ scopes: { scope: string }[] }>('/agents/me'), 200)
  expect(me.scopes.map(({ scope }) => scope)).toEqual(['agent:list'])
  expect((await connect(key, ['profile:read'])).status).toBe(202)
})
