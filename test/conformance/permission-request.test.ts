import { describe, expect, test } from 'vitest'
import { must, newKey, newPerson } from './support/actors.ts'
import {
  approveRequest,
  type GrantMode,
  mustConnect,
  mustRequest,
  pollAt,
  request,
  requestAndApprove,
} from './support/consent.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const grantModes: GrantMode[] = ['persistent', 'session', 'one_time']
const held = { status: 'already_granted', grant_token: null }

async function keyWithout() {
  const person = await newPerson()
  return { person, key: await newKey(person, { scopes: ['agent:list'] }) }
}

describe('asking for a scope', () => {
  test('that the key lacks waits for the person', async () => {
    verifies('permission:request:pending-202', 'consent:status:enum')
    const { key } = await keyWithout()
    const { status, body } = await request(key, 'profile:read')
    expect(status).toBe(202)
    expect(body).toEqual({
      status: 'pending',
      request_id: expect.stringMatching(/./),
      approval_url: expect.stringMatching(/./),
      poll_url: expect.stringMatching(/./),
      poll_interval_seconds: 2,
    })
    expect((await pollAt(key, body.poll_url)).body).toEqual({ status: 'pending' })
  })

  test('that the key has answers at once', async () => {
    verifies('permission:request:already-granted', 'consent:status:enum')
    const { person, key } = await keyWithout()
    const answers = [await request(key, 'agent:list')]
    await requestAndApprove(person, key, 'profile:read', { mode: 'session' })
    for (const mode of grantModes) answers.push(await request(key, 'profile:read', { mode }))
    for (const { status, body } of answers) expect([status, body]).toEqual([200, held])
  })

  test('that waits to be used once is asked for anew', async () => {
    verifies('permission:request:unused-one-time-not-held')
    const { person, key } = await keyWithout()
    await requestAndApprove(person, key, 'profile:read', { mode: 'one_time' })
    expect((await request(key, 'profile:read')).status).toBe(202)
  })

  test.each(['tool:execute', 'profile:write', 'connector:github:exec'])(
    'such as %s is needless with full access',
    async (scope) => {
      verifies('permission:request:wildcard-already-granted')
      const key = await newKey(await newPerson())
      const { status, body } = await request(key, scope)
      expect([status, body]).toEqual([200, held])
    },
  )

  test.each([[{}], [{ scope: '' }], [{ scope: 7 }], [{ scope: 'nope' }], [{ scope: ['profile:read'] }]])(
    'needs one that exists: %j',
    async (body) => {
      verifies('permission:request:scope-field')
      const { key } = await keyWithout()
      const answer = await key.post('/agents/request-permission', { reason: 'A reason', ...body })
      expectRefusal(answer, 400, 'INVALID_INPUT')
    },
  )

  test.each([[{}], [{ reason: '' }], [{ reason: '  ' }], [{ reason: 7 }], [{ reason: null }]])(
    'needs a reason: %j',
    async (body) => {
      verifies('permission:request:reason-required')
      const { key } = await keyWithout()
      const answer = await key.post('/agents/request-permission', { scope: 'profile:read', ...body })
      expectRefusal(answer, 400, 'INVALID_INPUT')
    },
  )

  test.each(['x', 'é', '字'])('takes a reason of 280 characters "%s"', async (letter) => {
    verifies('permission:request:reason-280')
    const { key } = await keyWithout()
    expectRefusal(await request(key, 'profile:read', { reason: letter.repeat(281) }), 400, 'INVALID_INPUT')
    expect((await request(key, 'profile:read', { reason: letter.repeat(280) })).status).toBe(202)
  })

  test('twice in the same words shares one request', async () => {
    verifies('permission:request:coalesced')
    const { person, key } = await keyWithout()
    const sibling = await newKey(person, { scopes: ['agent:list'] })
    const wish = { mode: 'session', reason: 'To greet you', action: { summary: 'Greet' } }
    const first = await mustRequest(key, 'profile:read', wish)
    expect(await mustRequest(key, 'profile:read', wish)).toEqual(first)
    const others = [
      await mustRequest(key, 'billing:read', wish),
      await mustRequest(key, 'profile:read', { ...wish, mode: 'one_time' }),
      await mustRequest(key, 'profile:read', { ...wish, reason: 'To know you' }),
      await mustRequest(key, 'profile:read', { ...wish, action: { summary: 'Meet' } }),
      await mustRequest(sibling, 'profile:read', wish),
    ]
    const ids = [first, ...others].map(({ request_id }) => request_id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('is for keys that are activated', async () => {
    verifies('permission:request:activation-required', 'permission:request:activation-url')
    const key = await newKey(await newPerson(), { access: 'declared' })
    const refusal = expectRefusal(await request(key, 'profile:read'), 409, 'ACTIVATION_REQUIRED')
    expect(refusal.details?.['activation_url']).toMatch(/\/api\/v1\/agents\/connect$/)
    // Before anything is said of what it sends.
    for (const body of [{}, { scope: 'no:such', reason: '' }])
      expectRefusal(await key.post('/agents/request-permission', body), 409, 'ACTIVATION_REQUIRED')
    const broken = { rawBody: '{', headers: { 'content-type': 'application/json' } }
    const answer = await key.send('POST', '/agents/request-permission', broken)
    expectRefusal(answer, 409, 'ACTIVATION_REQUIRED')
  })
})

describe('the mode', () => {
  test.each(grantModes)('%s is granted as it was asked for', async (mode) => {
    verifies('permission:request:mode-field')
    const { person, key } = await keyWithout()
    const { poll_url } = await requestAndApprove(person, key, 'profile:read', { mode })
    expect((await pollAt(key, poll_url)).body).toMatchObject({ status: 'granted', mode })
  })

  test.each([[{}], [{ mode: 'forever' }], [{ mode: null }], [{ mode: 7 }], [{ mode: 'SESSION' }]])(
    'of %j is session',
    async (fields) => {
      verifies('permission:request:mode-default-session')
      const { person, key } = await keyWithout()
      const { request_id, poll_url } = await mustRequest(key, 'profile:read', fields)
      must(await approveRequest(person, request_id), 200)
      expect((await pollAt(key, poll_url)).body).toMatchObject({ status: 'granted', mode: 'session' })
    },
  )

  test('is the person’s to choose', async () => {
    verifies('permission:approve:mode-overrides')
    const { person, key } = await keyWithout()
    const { request_id, poll_url } = await mustRequest(key, 'profile:read', { mode: 'persistent' })
    expectRefusal(await approveRequest(person, request_id, { mode: 'forever' }), 400, 'INVALID_INPUT')
    const answer = await approveRequest(person, request_id, { mode: 'one_time' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      success: true,
      mode: 'one_time',
      expires_at: expect.stringMatching(isoPattern),
    })
    expect((await pollAt(key, poll_url)).body).toMatchObject({ status: 'granted', mode: 'one_time' })
  })
})

describe('the poll of a request', () => {
  test.each(['session', 'one_time'] as const)('tells when a %s grant ends', async (mode) => {
    verifies('permission:poll:granted-time-boxed', 'permission:poll:expires-at-null')
    const { person, key } = await keyWithout()
    const { poll_url } = await requestAndApprove(person, key, 'profile:read', { mode })
    const { status, body } = await pollAt(key, poll_url)
    expect(status).toBe(200)
    expect(body).toEqual({ status: 'granted', mode, expires_at: expect.stringMatching(isoPattern) })
    expect(Date.parse(body.expires_at ?? '')).toBeGreaterThan(Date.now())
  })

  test('tells no end of a persistent one', async () => {
    verifies('permission:poll:granted-persistent')
    const { person, key } = await keyWithout()
    const { poll_url } = await requestAndApprove(person, key, 'profile:read', { mode: 'persistent' })
    const { body } = await pollAt(key, poll_url)
    expect({ expires_at: null, ...body }).toEqual({
      status: 'granted',
      mode: 'persistent',
      expires_at: null,
    })
  })

  test('of another key is as if it were not there', async () => {
    verifies('permission:poll:unknown-or-foreign-404')
    const { person, key } = await keyWithout()
    const [sibling, stranger] = [await newKey(person), await newKey(await newPerson())]
    const { poll_url } = await mustRequest(key, 'profile:read')
    const unknown = await key.get(`/agents/request-permission/poll/permission_${crypto.randomUUID()}`)
    expectRefusal(unknown, 404, 'NOT_FOUND')
    const consent = await mustConnect(key, ['profile:read'])
    const answers = [
      await pollAt(sibling, poll_url),
      await pollAt(stranger, poll_url),
      await key.get(`/agents/request-permission/poll/${consent.consent_id}`),
    ]
    for (const { status, text } of answers) expect([status, text]).toEqual([unknown.status, unknown.text])
    expect((await pollAt(key, poll_url)).status).toBe(200)
  })
})
