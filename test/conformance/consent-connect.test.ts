import { describe, expect, test } from 'vitest'
import { expectWithin } from '../support/proof.ts'
import { must, newKey, newPerson, type Person } from './support/actors.ts'
import type { Caller } from './support/client.ts'
import {
  approveConsent,
  byCode,
  connect,
  connectAndApprove,
  denyConsent,
  mustConnect,
  mustRequest,
  pollAt,
  type RequestedScope,
  request,
} from './support/consent.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const waiting = (person: Person) => newKey(person, { access: 'declared' })

async function requestedScopes(person: Caller, linkCode: string): Promise<string[]> {
  const { body } = await byCode(person, linkCode)
  return body.requested_scopes.map(({ scope }: RequestedScope) => scope).sort()
}

describe('declaring scopes', () => {
  test('of which one is missing makes a consent', async () => {
    verifies('consent:connect:pending-202', 'consent:connect:poll-interval', 'consent:status:enum')
    const key = await newKey(await newPerson(), { scopes: ['agent:list'] })
    const { status, body } = await connect(key, ['profile:read'])
    expect(status).toBe(202)
    expect(body).toEqual({
      status: 'pending',
      consent_id: expect.stringMatching(/./),
      link_code: expect.stringMatching(/./),
      approval_url: expect.stringMatching(/./),
      poll_url: expect.stringMatching(/./),
      poll_interval_seconds: 2,
    })
  })

  test('gives a code that the person can type', async () => {
    verifies('consent:record:link-code-format')
    const person = await newPerson()
    for (let made = 0; made < 5; made++) {
      const consent = await mustConnect(await waiting(person))
      expect(consent.link_code).toMatch(/^[A-Z2-9]{4}-[A-Z2-9]{4}$/)
      const { status, body } = await byCode(person, consent.link_code)
      expect(status).toBe(200)
      expect(body).toMatchObject({ consent_id: consent.consent_id, link_code: consent.link_code })
    }
  })

  test('gives an address that the same key can poll', async () => {
    verifies('consent:connect:poll-url-works')
    const key = await waiting(await newPerson())
    const { poll_url } = await mustConnect(key)
    const { status, body } = await pollAt(key, poll_url)
    expect(status).toBe(200)
    expect(body).toEqual({ status: 'pending' })
  })

  test('is what a key can do before it is activated', async () => {
    verifies('consent:unactivated:connect-allowed')
    const key = await waiting(await newPerson())
    expectRefusal(await key.get('/workspaces'), 403, 'FORBIDDEN')
    const { status, body } = await connect(key, ['profile:read'])
    expect(status).toBe(202)
    expect((await pollAt(key, body.poll_url)).status).toBe(200)
  })

  test('that the key has answers at once', async () => {
    verifies('consent:connect:active-200', 'consent:status:enum')
    const key = await newKey(await newPerson(), { scopes: ['profile:read', 'agent:list'] })
    for (const scopes of [['profile:read'], ['agent:list', 'profile:read'], []]) {
      const { status, text, body } = await connect(key, scopes)
      expect(status, text).toBe(200)
      expect(body).toEqual({ status: 'active', scopes: expect.any(Array) })
      expect([...(body as unknown as { scopes: string[] }).scopes].sort()).toEqual([
        'agent:list',
        'profile:read',
      ])
    }
  })

  test('of which the key has a part makes a consent', async () => {
    verifies('consent:connect:partial-cover-202')
    const key = await newKey(await newPerson(), { scopes: ['profile:read'] })
    const { status, body } = await connect(key, ['profile:read', 'agent:list'])
    expect([status, body.status]).toEqual([202, 'pending'])
  })

  test('always makes a consent for a key with full access', async () => {
    verifies('consent:connect:wildcard-always-consent')
    const key = await newKey(await newPerson())
    for (const scopes of [['profile:read'], ['tool:execute'], undefined]) {
      const { status, body } = await connect(key, scopes)
      expect([status, body.status]).toEqual([202, 'pending'])
      expect(body.consent_id).toMatch(/./)
    }
  })

  test('needs no list', async () => {
    verifies('consent:connect:requested-scopes-optional')
    const person = await newPerson()
    const key = await waiting(person)
    const json = { 'content-type': 'application/json' }
    for (const options of [{}, { headers: json }, { body: {} }, { body: { requestedScopes: [] } }]) {
      expect((await key.send('POST', '/agents/connect', options)).status).toBe(202)
    }
    for (const wrong of ['profile:read', { 0: 'profile:read' }, [7], null]) {
      expectRefusal(await connect(key, wrong), 400, 'INVALID_INPUT')
    }
  })

  test.each([[undefined], [[]]])('without a list (%j) asks for the profile and the agents', async (list) => {
    verifies('consent:connect:default-scopes')
    const person = await newPerson()
    const key = await waiting(person)
    const consent = must(await connect(key, list), 202)
    const asked = await requestedScopes(person, consent.link_code)
    expect(asked).toEqual(['agent:list', 'profile:read'])
    must(await approveConsent(person, consent.consent_id, asked), 200)
    expect((await pollAt(key, consent.poll_url)).body.scopes?.sort()).toEqual(['agent:list', 'profile:read'])
  })

  test.each([[['nope']], [['profile:read', 'nope']], [['*']], [['']]])(
    'that do not exist (%j) is refused',
    async (scopes) => {
      verifies('consent:connect:unknown-scope-400')
      const person = await newPerson()
      const key = await waiting(person)
      expectRefusal(await connect(key, scopes), 400, 'INVALID_INPUT')
      expect((await person.get<{ items: [] }>('/approvals')).body.items).toEqual([])
    },
  )
})

describe('a key that asks again', () => {
  test('for the same gets the same consent, for something else another', async () => {
    verifies('consent:connect:coalesced')
    const person = await newPerson()
    const [key, other] = [await waiting(person), await waiting(person)]
    const first = await mustConnect(key, ['profile:read', 'agent:list'])
    expect(await mustConnect(key, ['agent:list', 'profile:read'])).toEqual(first)
    expect((await mustConnect(key, ['profile:read'])).consent_id).not.toBe(first.consent_id)
    expect((await mustConnect(other, ['profile:read', 'agent:list'])).consent_id).not.toBe(first.consent_id)
    must(await denyConsent(person, first.consent_id), 200)
    expect((await mustConnect(key, ['profile:read', 'agent:list'])).consent_id).not.toBe(first.consent_id)
  })

  test('has at most five undecided, of both kinds together', async () => {
    verifies('consent:pending:cap-five')
    const person = await newPerson()
    const [key, other] = [
      await newKey(person, { scopes: ['agent:list'] }),
      await newKey(person, { scopes: ['agent:list'] }),
    ]
    const consent = await mustConnect(key, ['profile:read'])
    await mustConnect(key, ['profile:search'])
    for (const scope of ['profile:read', 'memory:read', 'billing:read']) await mustRequest(key, scope)
    for (const answer of [await connect(key, ['memory:read']), await request(key, 'profile:search')]) {
      expectRefusal(answer, 429, 'RATE_LIMITED')
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    }
    // The same question again is no sixth one, and another key has five of its own.
    expect(await mustConnect(key, ['profile:read'])).toEqual(consent)
    await mustRequest(other, 'profile:search')
    must(await denyConsent(person, consent.consent_id), 200)
    await mustRequest(key, 'profile:search')
  })
})

describe('the poll of a consent', () => {
  test('reads the scopes from the key each time', async () => {
    verifies('consent:poll:scopes-re-read')
    const person = await newPerson()
    const key = await waiting(person)
    const { poll_url } = await connectAndApprove(person, key, ['agent:list', 'profile:read'])
    expect((await pollAt(key, poll_url)).body).toEqual({
      status: 'granted',
      scopes: ['agent:list', 'profile:read'],
    })
    must(await person.delete(`/agents/${key.id}/scopes/profile:read`), 200)
    expect((await pollAt(key, poll_url)).body).toEqual({ status: 'granted', scopes: ['agent:list'] })
  })

  test('of another key is as if it were not there', async () => {
    verifies('consent:poll:unknown-404', 'consent:poll:other-key-404')
    const person = await newPerson()
    const [key, sibling] = [await waiting(person), await newKey(person)]
    const stranger = await newKey(await newPerson())
    const { consent_id, poll_url } = await mustConnect(key)
    const random = `consent_${crypto.randomUUID()}`
    const unknown = await key.get(`/agents/connect/poll/${random}`)
    expectRefusal(unknown, 404, 'NOT_FOUND')
    for (const other of [sibling, stranger]) {
      const foreign = await pollAt(other, poll_url)
      expect([foreign.status, foreign.text]).toEqual([unknown.status, unknown.text])
      const nonsense = await other.get('/agents/connect/poll/7')
      expect([nonsense.status, nonsense.text]).toEqual([unknown.status, unknown.text])
    }
    expect(consent_id).not.toBe(random)
    expect((await pollAt(key, poll_url)).status).toBe(200)
  })

  test('waits for the decision as long as it is asked to', async () => {
    verifies('consent:poll:long-poll')
    const person = await newPerson()
    const key = await waiting(person)
    const { consent_id, poll_url } = await mustConnect(key)
    const asked = performance.now()
    expect((await pollAt(key, poll_url, '?wait=1')).body).toEqual({ status: 'pending' })
    expect(performance.now() - asked).toBeGreaterThan(900)
    const decided = pollAt(key, poll_url, '?wait=20')
    await new Promise((resolve) => setTimeout(resolve, 300))
    must(await denyConsent(person, consent_id), 200)
    const told = performance.now()
    expect((await decided).body).toEqual({ status: 'denied' })
    expectWithin(performance.now() - told, 2000, 'the poll', 19_000)
    for (const wait of ['26', '-1', 'x']) {
      expectRefusal(await pollAt(key, poll_url, `?wait=${wait}`), 400, 'INVALID_INPUT')
    }
  })
})

describe('finding a consent by its code', () => {
  test('shows the person all there is to decide on', async () => {
    verifies('consent:by-code:resolve', 'consent:state:lifetime-600')
    const person = await newPerson()
    const key = await newKey(person, { label: 'Editor', scopes: ['agent:list'] })
    const consent = await mustConnect(key, ['profile:read', 'agent:list'])
    const { status, body } = await byCode(person, consent.link_code)
    expect(status).toBe(200)
    expect(body).toEqual({
      consent_id: consent.consent_id,
      link_code: consent.link_code,
      status: 'pending',
      requested_scopes: [
        {
          scope: 'agent:list',
          group: 'agent',
          description: expect.stringMatching(/\S/),
          sensitive: false,
          default_mode: 'persistent',
          held: true,
        },
        expect.objectContaining({ scope: 'profile:read', group: 'profile', held: false }),
      ],
      key: {
        id: key.id,
        label: 'Editor',
        client_label: null,
        client_ua: null,
        client_ip: null,
        created_at: expect.stringMatching(isoPattern),
      },
      workspace: { id: person.workspaceId, name: null },
      created_at: expect.stringMatching(isoPattern),
      expires_at: expect.stringMatching(isoPattern),
    })
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(600_000)
  })

  test('is refused for a code that is unknown, foreign or settled', async () => {
    verifies('consent:by-code:resolve')
    const [person, stranger] = [await newPerson(), await newPerson()]
    const key = await waiting(person)
    const { link_code, consent_id } = await mustConnect(key)
    const unknown = await byCode(stranger, 'ZZZZ-ZZZZ')
    expectRefusal(unknown, 404, 'NOT_FOUND')
    const foreign = await byCode(stranger, link_code)
    expect([foreign.status, foreign.text]).toEqual([unknown.status, unknown.text])
    must(await denyConsent(person, consent_id), 200)
    expect(expectRefusal(await byCode(person, link_code), 409, 'CONFLICT').message).toContain('denied')
    expectRefusal(await person.post('/agents/connect/by-code', {}), 400, 'INVALID_INPUT')
  })

  test('is for people only', async () => {
    verifies('consent:by-code:app-only')
    const person = await newPerson()
    const [key, full] = [await waiting(person), await newKey(person)]
    const { link_code, consent_id } = await mustConnect(full, ['billing:read'])
    for (const caller of [key, full]) {
      const answer = await byCode(caller, link_code)
      expectRefusal(answer, 403, 'FORBIDDEN')
      expect(answer.text).not.toContain(consent_id)
      expect(answer.text).not.toContain('billing')
      const random = await byCode(caller, 'ZZZZ-ZZZZ')
      expect([random.status, random.text]).toEqual([answer.status, answer.text])
    }
  })

  test('counts wrong guesses together with those at pairing codes', async () => {
    verifies('consent:by-code:misses-count-together')
    const person = await newPerson()
    const { link_code } = await mustConnect(await waiting(person))
    for (let miss = 0; miss < 5; miss++) {
      expectRefusal(await byCode(person, `ZZZZ-ZZZ${miss + 2}`), 404, 'NOT_FOUND')
      expectRefusal(await person.get(`/activate/lookup?code=ZZZZ-ZZY${miss + 2}`), 404, 'NOT_FOUND')
    }
    expectRefusal(await byCode(person, 'ZZZZ-ZZX2'), 429, 'RATE_LIMITED')
    expectRefusal(await person.get('/activate/lookup?code=ZZZZ-ZZX2'), 429, 'RATE_LIMITED')
    expectRefusal(await person.post('/activate/confirm', { code: 'ZZZZ-ZZX2' }), 429, 'RATE_LIMITED')
    expectRefusal(await byCode(person, link_code), 429, 'RATE_LIMITED')
    expect((await byCode(await newPerson(), 'ZZZZ-ZZX2')).status).toBe(404)
  })
})
