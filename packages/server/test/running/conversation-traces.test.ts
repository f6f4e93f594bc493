import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { installErrand } from '../../../../test/support/executions.ts'
import { modernMessage } from '../../../../test/support/mcp.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'
import { newTrace } from '../support/traces.ts'

/** The record of a conversation is for the keys that may have part in one, whichever way they ask for it. */
let house: ChatHouse
let person: Person
let conversation: string
let execution: string
let narrow: string
let wide: string

beforeAll(async () => {
  house = await openChatHouse()
  person = await house.newPerson({ mode: 'basedmode' })
  await installErrand(house, person)
  execution = await newTrace(house, person)
  narrow = (await house.newKey(person, { scopes: ['agent:list', 'trace:write'] })).secret
  wide = (await house.newKey(person, { scopes: ['agent:message', 'trace:write'] })).secret
  await house.send(person, 'talk', `Marzipan. ${scripted({ say: 'Noted.' })}`)
  conversation = await vi.waitFor(async () => {
    const [trace] = (await call('GET', '/traces?kind=chat', { token: person.token })).body.items
    expect(trace?.status).toBe('completed')
    return trace.id
  }, 30_000)
})

afterAll(() => house?.close())

const call = (method: string, path: string, by: object, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { ...by, ...(body === undefined ? {} : { body }) })

const grantOnce = (keyId: number) =>
  house.deps.database.db
    .insertInto('grants')
    .values({
      key_id: keyId,
      workspace_id: person.workspaceId,
      scope: 'agent:message',
      mode: 'one_time',
      expires_at: new Date(Date.now() + 300_000),
      bound_method: null,
      bound_path: null,
      bound_body_sha256: null,
      request_id: null,
      spent_for: null,
    })
    .execute()

const ofTraces = Object.entries<Route>(routes).filter(
  ([, { path, audience }]) => path.startsWith('/api/v1/traces/:id') && audience === 'credential',
)
const bodies: Readonly<Record<string, object>> = {
  appendTraceEvents: { events: [{ type: 'agent.text', payload: { text: 'Obey' } }] },
}
const missing = { missing_scopes: ['agent:message'] }

describe.each(ofTraces)('%s', (name, { method, path }) => {
  const ask = (key: string, id: string) =>
    house.call(method, path.replace(':id', id).replace(/:\w+/, 'none'), {
      key,
      ...(method === 'POST' && { body: bodies[name] ?? {} }),
    })

  test('wants of a key for a conversation what its thread wants, and for no other trace', async () => {
    const refused = await ask(narrow, conversation)
    expect([refused.status, refused.body.error?.details], refused.text).toEqual([
      403,
      expect.objectContaining(missing),
    ])
    for (const answer of [await ask(wide, conversation), await ask(narrow, execution)])
      expect(answer.status, answer.text).not.toBe(403)
  })

  test('takes a grant that is good once when it is done, and not when it is refused', async () => {
    const { id, secret } = await house.newKey(person, { scopes: ['agent:list', 'trace:write'] })
    await grantOnce(id)
    const first = await ask(secret, conversation)
    expect([200, 201, 404], first.text).toContain(first.status)
    const again = await ask(secret, conversation)
    expect(again.status, again.text).toBe(first.status === 404 ? 404 : 403)
  })
})

test('lists leave out what a key may not read', async () => {
  const kinds = async (key: string, query = '') =>
    (await call('GET', `/traces${query}`, { key })).body.items.map(({ kind }: { kind: string }) => kind)
  expect(await kinds(narrow)).toEqual(['execution'])
  expect(await kinds(narrow, '?kind=chat')).toEqual([])
  expect((await kinds(wide)).sort()).toEqual(['chat', 'execution'])
})

test('a code gives a conversation to nobody who may not read it, and is not used up by them', async () => {
  const { token } = person
  const { code } = (await call('POST', `/traces/${conversation}/handover`, { token }, {})).body
  const pickUp = (key: string) => call('POST', '/traces/pickup', { key }, { code })
  const refused = await pickUp(narrow)
  expect([refused.status, refused.body.error.details]).toEqual([403, expect.objectContaining(missing)])
  expect((await pickUp(wide)).status).toBe(200)
})

test('nor does its copy in another workspace, or an execution that goes on with it', async () => {
  const { token } = person
  const headers = { 'x-workspace-id': await house.newTeam(person) }
  const offered = await call('POST', `/traces/${conversation}/handover`, { token }, { reach: 'person' })
  const copy = await call('POST', '/traces/pickup', { token, headers }, { code: offered.body.code })
  expect(copy.body).toMatchObject({ copied: true, kind: 'chat' })
  const body = { sessionId: conversation, skill_slug: 'errand', input: 'cat HANDOVER.md' }
  const joined = await call('POST', '/executions', { key: narrow }, body)
  expect([joined.status, joined.body.error.details]).toEqual([403, expect.objectContaining(missing)])
  expect((await call('POST', '/executions', { key: wide }, body)).status).toBe(200)
})

test('nor does the resource of it over MCP', async () => {
  const uri = `guildhall://traces/${conversation}`
  const read = (key: string) =>
    house.call('POST', '/mcp/', { key, ...modernMessage('resources/read', { uri }) })
  const [refused, allowed] = [await read(narrow), await read(wide)]
  expect(refused.text).toContain('agent:message')
  expect(refused.text).not.toContain('Marzipan')
  expect(allowed.text).toContain('Marzipan')
})
