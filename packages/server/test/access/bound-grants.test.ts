import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Authenticator } from '../../../../test/support/authenticator.ts'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { newPersonWithPasskey } from '../support/passkeys.ts'

/** What a grant for one request is bound to, and what the person is shown of it. */
let house: House
let person: Person
let authenticator: Authenticator

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  const made = await newPersonWithPasskey(house)
  person = made.person
  authenticator = made.authenticator
})

afterAll(() => house.close())

const ask = (method: string, path: string, key: string, body?: unknown): Promise<Answer> =>
  house.call(method, `/api/v1${path}`, { key, ...(body === undefined ? {} : { body }) })
const decide = (path: string, body: unknown = {}): Promise<Answer> =>
  house.call('POST', `/api/v1/agents/${path}`, { token: person.token, body })
const newKey = (scopes: string[]) => house.newKey(person, { scopes })

async function prove(id: string) {
  const answer = await house.call('POST', `/api/v1/approvals/${id}/challenge`, {
    token: person.token,
    body: {},
  })
  expect(answer.status, answer.text).toBe(200)
  return authenticator.assert(answer.body.options)
}

test('it is told whether what is shown is what a single use is bound to, and no agent can say so', async () => {
  const key = await house.newKey(person, { scopes: ['agent:list'] })
  const body = { bio: 'Shown', more: { b: 1, a: [true, null] } }
  const request = {
    method: 'PATCH',
    path: '/api/v1/profile',
    bodySha256: createHash('sha256').update(JSON.stringify(body)).digest('hex'),
  }
  const shownOf = async (more: object) => {
    const action = { summary: 'set bio', argsAreBody: true, ...more }
    const asked = await house.call('POST', '/api/v1/agents/request-permission', {
      key: key.secret,
      body: { scope: 'profile:write', mode: 'one_time', reason: 'To test', action },
    })
    expect(asked.status, asked.text).toBe(202)
    const { items } = (await house.call('GET', '/api/v1/approvals?status=pending', { token: person.token }))
      .body
    return items.find(({ id }: { id: string }) => id === asked.body.request_id).action
  }
  expect(await shownOf({ args: body, request })).toMatchObject({ args: body, argsAreBody: true })
  for (const other of [
    { args: { ...body, bio: 'Bound is something else' }, request },
    { args: body },
    { request },
    // The word of an agent that does not say that they are the body.
    { args: body, request: { ...request, bodySha256: undefined }, argsAreBody: false },
  ]) {
    expect(await shownOf(other)).not.toHaveProperty('argsAreBody')
  }
  const asked = await ask('POST', '/agents/ask', (await newKey(['agent:list'])).secret, {
    question: 'May I?',
    action: { summary: 'set bio', args: body, request, argsAreBody: true },
  })
  const card = await house.call('GET', `/api/v1/approvals/${asked.body.ask_id}`, { token: person.token })
  expect(card.body.action).not.toHaveProperty('argsAreBody')
})

test('args that are said to be the body are what a one_time grant is bound to', async () => {
  const { secret } = await newKey(['agent:list'])
  const args = { bio: 'Exactly this' }
  const request = { method: 'PATCH', path: '/api/v1/profile' }
  const asked = await ask('POST', '/agents/request-permission', secret, {
    scope: 'profile:write',
    mode: 'one_time',
    reason: 'r',
    action: { summary: 'set bio', args, request, argsAreBody: true },
  })
  const id = asked.body.request_id
  const card = await house.call('GET', `/api/v1/approvals/${id}`, { token: person.token })
  const bodySha256 = createHash('sha256').update(JSON.stringify(args)).digest('hex')
  expect(card.body.action).toMatchObject({ argsAreBody: true, request: { ...request, bodySha256 } })
  await decide(`request-permission/${id}/approve`, { device_auth: await prove(id) })
  expect((await ask('PATCH', '/profile', secret, { bio: 'Something else' })).status).toBe(403)
  expect((await ask('PATCH', '/profile', secret, args)).status).toBe(200)
  expect((await ask('PATCH', '/profile', secret, args)).status).toBe(403)
})

test('a one_time grant that is bound to a request fits that request only', async () => {
  const { secret } = await newKey(['agent:list'])
  // With a field that nobody reads: what was approved are the bytes.
  const body = JSON.stringify({ bio: 'exactly this', extra: 1 })
  const bodySha256 = createHash('sha256').update(body).digest('hex')
  const action = { summary: 'set bio', request: { method: 'PATCH', path: '/api/v1/profile', bodySha256 } }
  const asked = await ask('POST', '/agents/request-permission', secret, {
    scope: 'profile:write',
    mode: 'one_time',
    reason: 'r',
    action,
  })
  const device_auth = await prove(asked.body.request_id)
  await decide(`request-permission/${asked.body.request_id}/approve`, { device_auth })
  expect((await ask('PATCH', '/profile', secret, { bio: 'something else' })).status).toBe(403)
  expect((await ask('PATCH', '/profile', secret, { bio: 'exactly this' })).status).toBe(403)
  expect((await ask('PATCH', '/profile', secret, body)).status).toBe(200)
  expect((await ask('PATCH', '/profile', secret, body)).status).toBe(403)
})

test('a one_time grant that is bound to a form fits those bytes only', async () => {
  const { secret } = await newKey(['agent:list'])
  const boundary = 'grant-test'
  const form = (content: string) =>
    [
      `--${boundary}\r\ncontent-disposition: form-data; name="type"\r\n\r\nfile`,
      `\r\n--${boundary}\r\ncontent-disposition: form-data; name="files[]"; filename="a.txt"\r\n\r\n`,
      `${content}\r\n--${boundary}--\r\n`,
    ].join('')
  // Long enough to arrive in many pieces.
  const approved = form('approved '.repeat(100_000))
  const bodySha256 = createHash('sha256').update(approved).digest('hex')
  const request = { method: 'POST', path: '/api/v1/artifacts', bodySha256 }
  const asked = await ask('POST', '/agents/request-permission', secret, {
    scope: 'workspace:files:write',
    mode: 'one_time',
    reason: 'r',
    action: { summary: 'upload', request },
  })
  const device_auth = await prove(asked.body.request_id)
  await decide(`request-permission/${asked.body.request_id}/approve`, { device_auth })
  const upload = async (body: string) => {
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    return (await house.call('POST', '/api/v1/artifacts', { key: secret, body, headers })).status
  }
  expect(await upload(form('something else'))).toBe(403)
  expect(await upload(approved)).toBe(201)
  expect(await upload(approved)).toBe(403)
})
