import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { installErrand } from '../../../../test/support/executions.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** A narrow key beside the work of others. */
let house: House
let person: Person
let key: string

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
  await installErrand(house, person)
  key = (await house.newKey(person, { scopes: ['tool:execute'] })).secret
})

afterAll(() => house?.close())

type By = { readonly key: string } | { readonly token: string }

const prepare = (by: By, body: object) => house.call('POST', '/api/v1/executions', { ...by, body })

async function newTrace(by: By): Promise<string> {
  const made = await prepare(by, { skill_slug: 'errand', input: 'go' })
  expect(made.status, made.text).toBe(200)
  return (await house.call('GET', `/api/v1/executions/${made.body.id}/status`, by)).body.traceId
}

test('a key goes on with what it began; with what others began when it may write traces', async () => {
  expect((await prepare({ key }, { sessionId: await newTrace({ key }) })).status).toBe(200)
  const theirs = await newTrace({ token: person.token })
  const refused = await prepare({ key }, { sessionId: theirs })
  expect(refused.status, refused.text).toBe(403)
  expect(refused.body.error.details.missing_scopes).toEqual(['trace:write'])
  const { secret } = await house.newKey(person, { scopes: ['trace:write'] })
  expect((await prepare({ key: secret }, { sessionId: theirs })).status).toBe(200)
})

test('a key goes on with what it was handed', async () => {
  const traceId = await newTrace({ token: person.token })
  const handed = await house.call('POST', `/api/v1/traces/${traceId}/handover`, {
    token: person.token,
    body: {},
  })
  expect(handed.status, handed.text).toBeLessThan(300)
  const taken = await house.call('POST', '/api/v1/traces/pickup', { key, body: { code: handed.body.code } })
  expect(taken.status, taken.text).toBe(200)
  expect((await prepare({ key }, { sessionId: traceId })).status).toBe(200)
})

const missing = ({ status, body }: Awaited<ReturnType<typeof prepare>>) => [
  status,
  body.error?.details?.missing_scopes,
]

test('nobody hands over to itself what it could not go on with', async () => {
  const traceId = await newTrace({ token: person.token })
  const writer = (await house.newKey(person, { scopes: ['tool:execute', 'trace:write'] })).secret
  const offer = (by: string, id = traceId) => house.call('POST', `/api/v1/traces/${id}/handover`, { key: by })
  const pickUp = (by: string, code: string) =>
    house.call('POST', '/api/v1/traces/pickup', { key: by, body: { code } })
  expect(missing(await offer(key))).toEqual([403, ['trace:write']])
  const own = await offer(key, await newTrace({ key }))
  expect((await pickUp(key, own.body.code)).status).toBe(200)
  // Whoever has the right may give it to somebody else, who then has it too.
  const { code } = (await offer(writer)).body
  expect((await pickUp(key, code)).status).toBe(200)
  expect((await offer(key)).status).toBe(201)
})

test('a code of its own is of no use to who has lost the right that it was made with', async () => {
  const traceId = await newTrace({ token: person.token })
  const { id, secret } = await house.newKey(person, { scopes: ['agent:list', 'trace:write'] })
  const { code } = (await house.call('POST', `/api/v1/traces/${traceId}/handover`, { key: secret })).body
  await house.call('DELETE', `/api/v1/agents/${id}/scopes/trace:write`, { token: person.token })
  const pickUp = () => house.call('POST', '/api/v1/traces/pickup', { key: secret, body: { code } })
  await expect.poll(async () => missing(await pickUp())).toEqual([403, ['trace:write']])
  const { body } = await house.call('GET', `/api/v1/traces/${traceId}/handovers`, { key: secret })
  expect(body.items).toMatchObject([{ status: 'pending' }])
})

describe('what others attached', () => {
  const attachments = [{ name: 'secret.txt', data: Buffer.from('Theirs').toString('base64') }]
  const message = { type: 'user.message', content: [{ type: 'text', text: 'cat secret.txt' }] }
  let reader: string
  let uses: (by: By, id: string) => Promise<Awaited<ReturnType<typeof prepare>>[]>

  beforeAll(async () => {
    const scopes = ['tool:execute', 'workspace:files:read']
    reader = (await house.newKey(person, { scopes })).secret
    const send = (by: By, path: string, body: object) =>
      house.call('POST', `/api/v1/executions/${path}`, { ...by, body })
    uses = async (by, id) => [
      await send(by, `${id}/rerun`, { input: 'cat secret.txt' }),
      await send(by, `${id}/events`, { events: [message] }),
    ]
  })

  const attached = async (by: By) =>
    (await prepare(by, { skill_slug: 'errand', input: 'go', attachments })).body.id

  test('does not come to a key that may not read it, by running it again or by starting it', async () => {
    const theirs = await attached({ token: person.token })
    const refused = [403, ['workspace:files:read']]
    expect((await uses({ key }, theirs)).map(missing)).toEqual([refused, refused])
  })

  test.each([
    ['a key that may read files', () => ({ key: reader })],
    ['the person', () => ({ token: person.token })],
  ])('comes to %s', async (_who, by) => {
    const answers = await uses(by(), await attached({ token: person.token }))
    for (const { status, text } of answers) expect(status, text).not.toBe(403)
  })

  test('comes to the key that attached it, and is left out by who asks for none of it', async () => {
    for (const { status, text } of await uses({ key }, await attached({ key })))
      expect(status, text).not.toBe(403)
    const theirs = await attached({ token: person.token })
    const body = { input: 'go', attachments: [] }
    const without = await house.call('POST', `/api/v1/executions/${theirs}/rerun`, { key, body })
    expect(without.status, without.text).not.toBe(403)
  })
})

test('a key starts what a person prepared to go on with their trace only where it could go on with it', async () => {
  const by = { token: person.token }
  const traceId = await newTrace(by)
  const said = { type: 'agent.text', payload: { content: [{ type: 'text', text: 'Done so far' }] } }
  await house.call('POST', `/api/v1/traces/${traceId}/events`, { ...by, body: { events: [said] } })
  const { id } = (await prepare(by, { sessionId: traceId })).body
  const body = { events: [{ type: 'user.message', content: [{ type: 'text', text: 'ls' }] }] }
  const start = (key: string) => house.call('POST', `/api/v1/executions/${id}/events`, { key, body })
  expect(missing(await start(key))).toEqual([403, ['trace:write']])
  const writer = (await house.newKey(person, { scopes: ['tool:execute', 'trace:write'] })).secret
  expect((await start(writer)).status).not.toBe(403)
})

test.each(['app', 'chat', ' Workflow '])('a key does not call itself %j', async (source) => {
  const body = { skill_slug: 'errand', input: 'go', source }
  const prepared = await prepare({ key }, body)
  const run = await house.call('POST', '/api/v1/skills/errand/run', { key, body: { input: 'go', source } })
  for (const { status, text } of [prepared, run]) {
    expect([status, text]).toEqual([400, expect.stringContaining('give a name of your own')])
  }
  expect((await prepare({ key }, { ...body, source: 'ci' })).status).toBe(200)
  expect((await prepare({ token: person.token }, body)).status).toBe(200)
})
