import { describe, expect, test } from 'vitest'
import {
  addMember,
  inWorkspace,
  listKeys,
  must,
  newKey,
  newPerson,
  newWorkspace,
  type Person,
} from './support/actors.ts'
import { withClock } from './support/clock.ts'
import {
  approveConsent,
  approveRequest,
  byCode,
  callGuarded,
  connect,
  connectAndApprove,
  denyConsent,
  denyRequest,
  mustConnect,
  mustRequest,
  pollAt,
} from './support/consent.ts'
import { expectDeviceAuthRequired, newHolder, prove } from './support/passkeys.ts'
import { expectRefusal } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

const waiting = (person: Person) => newKey(person, { access: 'declared' })

async function scopesOf(person: Person, keyId: number): Promise<string[] | undefined> {
  return (await listKeys(person)).find(({ id }) => id === keyId)?.scopes
}

describe('an approval', () => {
  test('turns the poll from pending to granted', async () => {
    verifies('consent:state:pending-to-granted', 'consent:status:enum')
    const person = await newPerson()
    const key = await newKey(person, { scopes: ['agent:list'] })
    const consent = await mustConnect(key, ['profile:read'])
    const asked = await mustRequest(key, 'billing:read')
    for (const { poll_url } of [consent, asked]) {
      expect((await pollAt(key, poll_url)).body).toEqual({ status: 'pending' })
    }
    const approved = await approveConsent(person, consent.consent_id, ['profile:read'])
    expect(approved.status).toBe(200)
    expect(approved.body).toEqual({ success: true, scopes: ['agent:list', 'profile:read'] })
    expect((await approveRequest(person, asked.request_id)).body).toMatchObject({ success: true })
    expect((await pollAt(key, consent.poll_url)).body).toEqual({
      status: 'granted',
      scopes: ['agent:list', 'profile:read'],
    })
    expect((await pollAt(key, asked.poll_url)).body.status).toBe('granted')
  })

  test('of the first consent activates the key', async () => {
    verifies('consent:activation:first-approval-activates')
    const person = await newPerson()
    const key = await waiting(person)
    expectRefusal(await key.get('/workspaces'), 403, 'FORBIDDEN')
    await connectAndApprove(person, key, ['profile:read', 'agent:list'])
    expect((await key.get('/workspaces')).status).toBe(200)
    const again = await connect(key, ['profile:read', 'agent:list'])
    expect(again.status).toBe(200)
    expect(again.body).toEqual({ status: 'active', scopes: ['agent:list', 'profile:read'] })
  })

  test('may be for a part of what was asked for', async () => {
    verifies('consent:grant:subset-possible')
    const person = await newPerson()
    const key = await waiting(person)
    const consent = await mustConnect(key, ['profile:read', 'agent:list', 'billing:read'])
    must(await approveConsent(person, consent.consent_id, ['agent:list']), 200)
    expect((await pollAt(key, consent.poll_url)).body).toEqual({ status: 'granted', scopes: ['agent:list'] })
    expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
  })

  test('is never for more', async () => {
    verifies('consent:approve:never-more-than-asked')
    const person = await newPerson()
    const key = await waiting(person)
    const consent = await mustConnect(key, ['profile:read'])
    for (const scopes of [['agent:list'], ['profile:read', 'billing:read'], ['*'], []]) {
      expectRefusal(await approveConsent(person, consent.consent_id, scopes), 400, 'INVALID_INPUT')
    }
    expect((await pollAt(key, consent.poll_url)).body).toEqual({ status: 'pending' })
    expect(await scopesOf(person, key.id)).toEqual([])
  })

  test('narrows a key with full access to exactly what was approved', async () => {
    verifies('consent:connect:narrowing-replaces-wildcard')
    const person = await newPerson()
    const key = await newKey(person)
    expect((await key.patch('/profile', { bio: 'Before' })).status).toBe(200)
    const consent = await connectAndApprove(person, key, ['profile:read'])
    expect((await pollAt(key, consent.poll_url)).body.scopes).toEqual(['profile:read'])
    expect(await scopesOf(person, key.id)).toEqual(['profile:read'])
    expect((await callGuarded(key)).status).toBe(200)
    const refusal = expectRefusal(await key.patch('/profile', { bio: 'After' }), 403, 'FORBIDDEN')
    expect(refusal.message).toContain('profile:write')
  })

  test('adds to any other key, and never the same scope twice', async () => {
    verifies('consent:approve:adds', 'keys:scopes:set-of-ids')
    const person = await newPerson()
    const key = await waiting(person)
    await connectAndApprove(person, key, ['profile:read', 'agent:list'])
    const second = await connectAndApprove(person, key, ['billing:read', 'profile:read'])
    const all = ['agent:list', 'billing:read', 'profile:read']
    expect((await pollAt(key, second.poll_url)).body.scopes).toEqual(all)
    expect((await scopesOf(person, key.id))?.sort()).toEqual(all)
  })

  test('may lend a scope instead of giving it', async () => {
    verifies('consent:approve:modes')
    const person = await newPerson()
    const key = await waiting(person)
    const modes = { 'profile:read': 'session' }
    const consent = await connectAndApprove(person, key, ['profile:read', 'agent:list'], { modes })
    expect((await pollAt(key, consent.poll_url)).body.scopes).toEqual(['agent:list'])
    expect((await callGuarded(key)).status).toBe(200)
    const me = await key.get<{ scopes: { scope: string; mode: string }[] }>('/agents/me')
    expect(me.body.scopes.map(({ scope, mode }) => [scope, mode])).toEqual([
      ['agent:list', 'persistent'],
      ['profile:read', 'session'],
    ])
    const other = await mustConnect(await waiting(person), ['profile:read'])
    const wrong = { modes: { 'profile:read': 'forever' } }
    expectRefusal(
      await approveConsent(person, other.consent_id, ['profile:read'], wrong),
      400,
      'INVALID_INPUT',
    )
  })

  test('of what is sensitive needs the passkey', async () => {
    verifies('auth:approval:device-auth-for-sensitive')
    const [person, holder] = [await newPerson(), await newHolder()]
    for (const owner of [person, holder]) {
      const key = await newKey(owner, { scopes: ['agent:list'] })
      const consent = await mustConnect(key, ['tool:execute', 'profile:read'])
      const asked = await mustRequest(key, 'tool:execute')
      const both = ['tool:execute', 'profile:read']
      expectDeviceAuthRequired(await approveConsent(owner, consent.consent_id, both))
      expectDeviceAuthRequired(await approveRequest(owner, asked.request_id))
      expectDeviceAuthRequired(await approveRequest(owner, asked.request_id, { device_auth: { id: 'x' } }))
      for (const { poll_url } of [consent, asked]) {
        expect((await pollAt(key, poll_url)).body).toEqual({ status: 'pending' })
      }
    }
  })

  test('with the passkey goes through, for exactly what was shown', async () => {
    verifies('auth:approval:device-auth-for-sensitive', 'passkeys:assertion:covers-the-choice')
    const holder = await newHolder()
    const key = await newKey(holder, { scopes: ['agent:list'] })
    const consent = await mustConnect(key, ['tool:execute', 'memory:write'])
    const choice = { scopes: ['tool:execute'], modes: { 'tool:execute': 'session' } }
    const approve = (scopes: string[], more: object) =>
      approveConsent(holder, consent.consent_id, scopes, more)
    const device_auth = await prove(holder, consent.consent_id, choice)
    for (const [scopes, modes] of [
      [['tool:execute', 'memory:write'], choice.modes],
      [['memory:write'], {}],
      [['tool:execute'], {}],
      [['tool:execute'], { 'tool:execute': 'one_time' }],
    ] as const) {
      expectDeviceAuthRequired(await approve([...scopes], { modes, device_auth }))
    }
    const elsewhere = await mustRequest(key, 'tool:execute', { mode: 'session' })
    expectDeviceAuthRequired(await approveRequest(holder, elsewhere.request_id, { device_auth }))
    expect((await approve(choice.scopes, { modes: choice.modes, device_auth })).status).toBe(200)
    expect((await pollAt(key, consent.poll_url)).body).toEqual({ status: 'granted', scopes: ['agent:list'] })
  })
})

describe('a denial', () => {
  test.each([[undefined], ['Not on a Friday']])(
    'with the reason %j is what the agent polls',
    async (reason) => {
      verifies('consent:state:pending-to-denied', 'consent:status:enum')
      const person = await newPerson()
      const key = await newKey(person, { scopes: ['agent:list'] })
      const consent = await mustConnect(key, ['profile:read'])
      const asked = await mustRequest(key, 'billing:read')
      expect((await denyConsent(person, consent.consent_id, reason)).body).toEqual({ success: true })
      expect((await denyRequest(person, asked.request_id, reason)).body).toEqual({ success: true })
      const expected = { status: 'denied', ...(reason ? { deny_reason: reason } : {}) }
      for (const { poll_url } of [consent, asked]) {
        expect((await pollAt(key, poll_url)).body).toEqual(expected)
      }
    },
  )

  test('of the first consent leaves the key where it was', async () => {
    verifies('consent:denied:key-stays-unactivated')
    const person = await newPerson()
    const key = await waiting(person)
    const consent = await mustConnect(key)
    must(await denyConsent(person, consent.consent_id), 200)
    for (const path of ['/skills', '/workspaces', '/agents/me'])
      expectRefusal(await key.get(path), 403, 'FORBIDDEN')
    const again = await connect(key)
    expect(again.status).toBe(202)
    expect(again.body.consent_id).not.toBe(consent.consent_id)
  })

  stackOnly('or its end in time leaves the key where it was', () => {
    verifies('consent:denied:key-stays-unactivated')
    return withClock(async (clock) => {
      const person = await newPerson()
      const key = await waiting(person)
      const consent = await mustConnect(key)
      await clock.setAhead({ seconds: 610 })
      expect((await pollAt(key, consent.poll_url)).body).toEqual({ status: 'expired' })
      expectRefusal(await key.get('/skills'), 403, 'FORBIDDEN')
      expect((await connect(key)).status).toBe(202)
    })
  })
})

describe('a decision', () => {
  test('is made once', async () => {
    verifies('consent:state:settled-conflict')
    const person = await newPerson()
    const key = await waiting(person)
    const granted = await mustConnect(key, ['profile:read', 'agent:list'])
    must(await approveConsent(person, granted.consent_id, ['agent:list']), 200)
    const late = [
      await approveConsent(person, granted.consent_id, ['agent:list']),
      await approveConsent(person, granted.consent_id, ['profile:read', 'agent:list']),
      await denyConsent(person, granted.consent_id),
    ]
    for (const answer of late) {
      expect(expectRefusal(answer, 409, 'CONFLICT').message).toMatch(/\bgranted\b/)
    }
    expect((await pollAt(key, granted.poll_url)).body).toEqual({ status: 'granted', scopes: ['agent:list'] })
    const denied = await mustRequest(key, 'billing:read')
    must(await denyRequest(person, denied.request_id), 200)
    for (const answer of [
      await approveRequest(person, denied.request_id),
      await denyRequest(person, denied.request_id),
    ]) {
      expect(expectRefusal(answer, 409, 'CONFLICT').message).toMatch(/\bdenied\b/)
    }
    expect(await scopesOf(person, key.id)).toEqual(['agent:list'])
  })

  test('for and against at once has one winner', async () => {
    verifies('consent:race:approve-deny')
    const person = await newPerson()
    for (let round = 0; round < 15; round++) {
      const key = await waiting(person)
      const { consent_id, poll_url } = await mustConnect(key, ['profile:read'])
      const race = [approveConsent(person, consent_id, ['profile:read']), denyConsent(person, consent_id)]
      if (round % 2) race.reverse()
      const answers = await Promise.all(race)
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
      const winner = (round % 2 ? answers[1] : answers[0])?.status === 200 ? 'granted' : 'denied'
      expect((await pollAt(key, poll_url)).body.status).toBe(winner)
      const loser = answers.find(({ status }) => status === 409)
      expect(loser && expectRefusal(loser, 409, 'CONFLICT').message).toContain(winner)
    }
  })

  test('is the owner’s alone', async () => {
    verifies('consent:approve:owner-only')
    const [owner, colleague] = [await newPerson(), await newPerson()]
    const { id } = await newWorkspace(owner)
    await addMember(owner, id, colleague)
    const team = inWorkspace(id)
    const key = await newKey(owner, { scopes: ['agent:list'] }, team)
    const consent = await mustConnect(key, ['profile:read'])
    const asked = await mustRequest(key, 'billing:read')
    const random = `consent_${crypto.randomUUID()}`
    const missing = await approveConsent(colleague, random, ['profile:read'])
    expectRefusal(missing, 404, 'NOT_FOUND')
    for (const answer of [
      await colleague.post(
        `/agents/connect/${consent.consent_id}/approve`,
        { scopes: ['profile:read'] },
        team,
      ),
      await colleague.post(`/agents/connect/${consent.consent_id}/deny`, undefined, team),
      await colleague.post(`/agents/request-permission/${asked.request_id}/approve`, undefined, team),
      await colleague.post(`/agents/request-permission/${asked.request_id}/deny`, undefined, team),
      await colleague.post(`/approvals/${consent.consent_id}/challenge`, undefined, team),
      // A consent is no permission request, and the other way round.
      await approveRequest(owner, consent.consent_id),
      await denyConsent(owner, asked.request_id),
    ]) {
      expect([answer.status, answer.text]).toEqual([missing.status, missing.text])
    }
    for (const { poll_url } of [consent, asked]) {
      expect((await pollAt(key, poll_url)).body).toEqual({ status: 'pending' })
    }
  })
})

stackOnly('a question expires after ten minutes', () => {
  verifies(
    'consent:state:pending-to-expired',
    'consent:poll:statuses',
    'consent:by-code:resolve',
    'consent:state:settled-conflict',
    'permission:poll:statuses',
  )
  return withClock(expireQuestions)
})

async function expireQuestions(clock: Parameters<Parameters<typeof withClock>[0]>[0]): Promise<void> {
  const person = await newPerson()
  const key = await newKey(person, { scopes: ['agent:list'] })
  const polls = async (...asked: { poll_url: string }[]) =>
    Promise.all(asked.map(async ({ poll_url }) => (await pollAt(key, poll_url)).body))
  const [consent, asked] = [await mustConnect(key, ['profile:read']), await mustRequest(key, 'profile:read')]
  const [denied, granted] = [
    await mustConnect(key, ['memory:read']),
    await mustConnect(key, ['billing:read']),
  ]
  await clock.setAhead({ seconds: 590 })
  expect(await polls(consent, asked)).toEqual([{ status: 'pending' }, { status: 'pending' }])
  must(await denyConsent(person, denied.consent_id, 'No'), 200)
  must(await approveConsent(person, granted.consent_id, ['billing:read']), 200)
  const [askedToo, refused] = [
    await mustRequest(key, 'profile:search'),
    await mustRequest(key, 'memory:read'),
  ]
  must(await approveRequest(person, askedToo.request_id), 200)
  must(await denyRequest(person, refused.request_id), 200)
  await clock.setAhead({ seconds: 610 })
  expect(await polls(consent, asked, denied, granted)).toEqual([
    { status: 'expired' },
    { status: 'expired' },
    { status: 'denied', deny_reason: 'No' },
    { status: 'granted', scopes: ['agent:list', 'billing:read'] },
  ])
  expect((await polls(askedToo, refused)).map(({ status }) => status)).toEqual(['granted', 'denied'])
  expectRefusal(await byCode(person, consent.link_code), 410, 'EXPIRED')
  for (const late of [
    await approveConsent(person, consent.consent_id, ['profile:read']),
    await denyConsent(person, consent.consent_id),
    await approveRequest(person, asked.request_id),
    await denyRequest(person, asked.request_id),
  ]) {
    expectRefusal(late, 409, 'CONFLICT')
    expect(late.body).toMatchObject({ error: { details: { status: 'expired' } } })
  }
  expect(await scopesOf(person, key.id)).toEqual(['agent:list', 'billing:read'])
  expect((await mustConnect(key, ['profile:read'])).consent_id).not.toBe(consent.consent_id)
}
