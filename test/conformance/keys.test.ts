import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { patienceFor } from '../support/sizes.ts'
import {
  confirm,
  inWorkspace,
  type KeyRecord,
  keyCaller,
  listKeys,
  lookup,
  type NewKeyRecord,
  newKey,
  newPerson,
  newVisitor,
  newWorkspace,
  pair,
  poll,
  startPairing,
  type Workspace,
} from './support/actors.ts'
import type { Caller } from './support/client.ts'
import { publishedValues } from './support/published.ts'
import { type ErrorBody, expectRefusal, isoPattern, keyPattern, uuidPattern } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const prefixLength = 'guild_live_'.length + 6

async function currentWorkspaces(caller: Caller, headers: Record<string, string> = {}): Promise<string[]> {
  const { body } = await caller.get<Workspace[]>('/workspaces', { headers })
  return body.filter(({ current }) => current).map(({ id }) => id)
}

describe('making a key', () => {
  test('by pairing alone gives one that is active and may do everything', async () => {
    verifies('keys:lifecycle:full-access-default')
    const person = await newPerson()
    const pairing = await startPairing()
    expect((await confirm(person, pairing.userCode)).status).toBe(200)
    expect(await listKeys(person)).toMatchObject([{ activated: true, scopes: ['*'] }])
    const { api_key } = (await poll(pairing)).body
    expect((await keyCaller(api_key ?? '').get('/workspaces')).status).toBe(200)
  })

  test('by hand takes a label and answers the secret', async () => {
    verifies('keys:create:two-paths')
    const person = await newPerson()
    const answer = await person.post<NewKeyRecord>('/keys', { label: 'Release robot' })
    expect(answer.status).toBe(201)
    expect(answer.body.api_key).toMatch(keyPattern)
    expect((await listKeys(person)).map(({ label }) => label)).toEqual(['Release robot'])
    expect((await keyCaller(answer.body.api_key).get('/workspaces')).status).toBe(200)
  })

  test.each([[{}], [{ label: '' }], [{ label: 7 }]])('by hand needs a label: %j', async (body) => {
    verifies('keys:create:two-paths')
    const person = await newPerson()
    expectRefusal(await person.post('/keys', body), 400, 'INVALID_INPUT')
    expect(await listKeys(person)).toEqual([])
  })

  test('either way gives a secret of the same form', async () => {
    verifies('keys:format:prefix-live-opaque')
    const person = await newPerson()
    const [made, paired] = [await newKey(person), await pair(person)]
    expect(made.secret).toMatch(keyPattern)
    expect(paired.claim.api_key).toMatch(keyPattern)
    expect(made.secret).not.toBe(paired.claim.api_key)
  })

  test('with declared access gives one that waits for its first consent', async () => {
    verifies('keys:lifecycle:declared-starts-unactivated')
    const person = await newPerson()
    const made = await newKey(person, { access: 'declared' })
    const paired = await pair(person, { fields: { access: 'declared' } })
    const keys = await listKeys(person)
    expect(keys).toHaveLength(2)
    for (const key of keys) expect(key).toMatchObject({ activated: false, scopes: [] })
    for (const key of [made, paired.key]) expectRefusal(await key.get('/workspaces'), 403, 'FORBIDDEN')
  })

  test('twice under one Idempotency-Key makes one', async () => {
    verifies('keys:create:idempotent-repeat')
    const person = await newPerson()
    const options = { headers: { 'idempotency-key': randomUUID() } }
    const first = await newKey(person, { label: 'Once' }, options)
    const repeat = await person.post<ErrorBody>('/keys', { label: 'Once' }, options)
    const { details } = expectRefusal(repeat, 409, 'CONFLICT')
    expect(String(details?.['id'])).toBe(String(first.id))
    expect(repeat.text).not.toMatch(/api_key|guild_live_/)
    expect(await listKeys(person)).toHaveLength(1)
  })
})

test('a secret is shown once', async () => {
  verifies('keys:plaintext:shown-once')
  const person = await newPerson()
  const made = await newKey(person)
  const rotated = await person.post<NewKeyRecord>(`/keys/${made.id}/rotate`)
  const { pairing, claim } = await pair(person)
  const secrets = [made.secret, rotated.body.api_key, claim.api_key]
  const later = [
    await person.get('/keys'),
    await person.patch(`/keys/${made.id}`, { label: 'Renamed' }),
    await lookup(person, pairing.userCode),
    await poll(pairing),
    await person.get('/keys'),
  ]
  for (const { text } of later) {
    expect(text).not.toContain('api_key')
    for (const secret of secrets) expect(text).not.toContain(secret.slice(0, prefixLength + 1))
  }
})

describe('a key works in one workspace', () => {
  test('the one it was made in', async () => {
    verifies('keys:binding:exactly-one-workspace')
    const person = await newPerson()
    const second = await newWorkspace(person)
    const key = await newKey(person, {}, inWorkspace(second.id))
    expect(await currentWorkspaces(key)).toEqual([second.id])
  })

  test('and cannot be pointed to another', async () => {
    verifies('keys:binding:cannot-be-repointed')
    const person = await newPerson()
    const second = await newWorkspace(person)
    const key = await newKey(person)
    expect(await currentWorkspaces(key, { 'x-workspace-id': second.id })).toEqual([person.workspaceId])
    expectRefusal(await key.put('/workspaces/current', { workspaceId: second.id }), 409, 'CONFLICT')
    expect(await currentWorkspaces(key)).toEqual([person.workspaceId])
  })
})

describe('the list of keys', () => {
  test('shows each with all that is known of it', async () => {
    verifies('keys:list:fields')
    const person = await newPerson()
    const made = await newKey(person, { label: 'By hand' })
    const paired = await pair(person, {
      headers: { 'x-client-label': 'Editor of Ada', 'user-agent': 'ada-editor/1.2' },
    })
    const { status, body } = await person.get<KeyRecord[]>('/keys')
    expect(status).toBe(200)
    expect(Array.isArray(body)).toBe(true)
    expect(body).toHaveLength(2)
    const common = {
      id: expect.any(Number),
      workspace: { id: expect.stringMatching(uuidPattern), name: null },
      scopes: ['*'],
      activated: true,
      activity: 'IDLE',
      lastUsedAt: null,
      lastUsedIp: null,
      createdAt: expect.stringMatching(isoPattern),
      expiresAt: null,
      spend: expect.any(Object),
    }
    expect(body.find(({ id }) => id === made.id)).toMatchObject({
      ...common,
      label: 'By hand',
      prefix: made.secret.slice(0, prefixLength),
      createdVia: 'manual',
      clientLabel: null,
      clientUa: null,
      clientIp: null,
    })
    expect(body.find(({ id }) => id !== made.id)).toMatchObject({
      ...common,
      label: expect.stringContaining('Editor of Ada'),
      prefix: paired.claim.api_key.slice(0, prefixLength),
      createdVia: 'pairing',
      clientLabel: 'Editor of Ada',
      clientUa: 'ada-editor/1.2',
      clientIp: expect.stringMatching(/./),
    })
  })

  test('says whether a key is in use', async () => {
    verifies('keys:activity:labels')
    const person = await newPerson()
    const [used, unused] = [await newKey(person), await newKey(person)]
    expect((await used.get('/workspaces')).status).toBe(200)
    // The use is noted beside the answer, not before it.
    await expect.poll(() => activityOf(used.id), { timeout: patienceFor(3000), interval: 100 }).toBe('ACTIVE')
    expect(await activityOf(unused.id)).toBe('IDLE')
    expect((await publishedValues('GET', '/api/v1/keys'))['activity']).toEqual(['ACTIVE', 'IDLE', 'DORMANT'])

    async function activityOf(id: number) {
      return (await listKeys(person)).find((key) => key.id === id)?.activity
    }
  })
})

describe('changing a key', () => {
  test('sets its label, expiry and spend limit', async () => {
    verifies('keys:update:never-scopes')
    const person = await newPerson()
    const key = await newKey(person)
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
    const changes = { label: 'Renamed', expiresAt, spendLimit: 12.5 }
    const answer = await person.patch<KeyRecord>(`/keys/${key.id}`, changes)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id: key.id, label: 'Renamed', expiresAt, spend: { limit: 12.5 } })
    const [listed] = await listKeys(person)
    expect(listed).toMatchObject({ label: 'Renamed', expiresAt, spend: { limit: 12.5 } })
  })

  test('never its scopes', async () => {
    verifies('keys:update:never-scopes')
    const person = await newPerson()
    const [narrow, waiting] = [
      await newKey(person, { scopes: ['profile:read'] }),
      await newKey(person, { access: 'declared' }),
    ]
    for (const key of [narrow, waiting]) {
      await person.patch(`/keys/${key.id}`, { label: 'More', scopes: ['*'], activated: true, access: 'full' })
    }
    const keys = await listKeys(person)
    expect(keys.find(({ id }) => id === narrow.id)).toMatchObject({ scopes: ['profile:read'] })
    expect(keys.find(({ id }) => id === waiting.id)).toMatchObject({ scopes: [], activated: false })
    expectRefusal(await waiting.get('/workspaces'), 403, 'FORBIDDEN')
  })

  test('gives it a new secret while the old one still works', async () => {
    verifies('keys:rotate:new-secret')
    const person = await newPerson()
    const key = await newKey(person)
    const { status, body } = await person.post<NewKeyRecord>(`/keys/${key.id}/rotate`)
    expect(status).toBe(200)
    expect(body.id).toBe(key.id)
    expect(body.api_key).toMatch(keyPattern)
    expect(body.api_key).not.toBe(key.secret)
    expect((await key.get('/workspaces')).status).toBe(200)
    expect((await keyCaller(body.api_key).get('/workspaces')).status).toBe(200)
    expect(await listKeys(person)).toHaveLength(1)
  })
})

describe('ending a key', () => {
  test('revokes it for good', async () => {
    verifies('keys:revoke:whole-key')
    const person = await newPerson()
    const [key, other] = [await newKey(person), await newKey(person)]
    expect((await key.get('/workspaces')).status).toBe(200)
    const answer = await person.delete(`/keys/${key.id}`)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ success: true, stopped: expect.any(Number) })
    for (let again = 0; again < 2; again++) {
      expect((await key.get('/workspaces')).status).toBe(401)
      expect((await key.put('/workspaces/current', { workspaceId: person.workspaceId })).status).toBe(401)
      expect((await key.get('/keys')).status).toBe(401)
    }
    expect((await other.get('/workspaces')).status).toBe(200)
    expect((await listKeys(person)).map(({ id }) => id)).toEqual([other.id])
  })

  test('is anybody’s right who finds its secret', async () => {
    verifies('keys:report-leak:revokes')
    const person = await newPerson()
    const key = await newKey(person)
    expect((await key.get('/workspaces')).status).toBe(200)
    const answer = await newVisitor().post('/keys/report-leak', { key: key.secret })
    expect(answer.status).toBe(200)
    const refusal = expectRefusal(await key.get('/workspaces'), 401, 'UNAUTHORIZED')
    expect(refusal.message).toBe('Invalid API key')
  })
})

test.each<[name: string, act: (person: Caller, id: number | string) => ReturnType<Caller['send']>]>([
  ['PATCH', (person, id) => person.patch(`/keys/${id}`, { label: 'Mine now' })],
  ['rotate', (person, id) => person.post(`/keys/${id}/rotate`)],
  ['DELETE', (person, id) => person.delete(`/keys/${id}`)],
])('%s of a foreign key is as if it were not there', async (_name, act) => {
  verifies('keys:isolation:foreign-is-404')
  const [owner, stranger] = [await newPerson(), await newPerson()]
  const key = await newKey(owner, { label: 'Hers' })
  const foreign = await act(stranger, key.id)
  expectRefusal(foreign, 404, 'NOT_FOUND')
  for (const id of [987_654_321, 'no-number']) {
    const random = await act(stranger, id)
    expect([random.status, random.text]).toEqual([foreign.status, foreign.text])
  }
  expect((await key.get('/workspaces')).status).toBe(200)
  expect(await listKeys(owner)).toMatchObject([{ id: key.id, label: 'Hers', prefix: key.record.prefix }])
})

test('an id longer than any is just as little there', async () => {
  verifies('keys:isolation:foreign-is-404', 'auth:reject:missing')
  const path = `/keys/${'9'.repeat(150)}`
  const person = await newPerson()
  const [missing, overlong] = [await person.delete('/keys/987654321'), await person.delete(path)]
  expect([overlong.status, overlong.text]).toEqual([missing.status, missing.text])
  expectRefusal(await newVisitor().delete(path), 401, 'UNAUTHORIZED')
})
