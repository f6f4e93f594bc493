import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { addMember, inWorkspace, listKeys, must, newKey, newPerson, newWorkspace } from './support/actors.ts'
import {
  approveRequest,
  callGuarded,
  connect,
  connectAndApprove,
  type GrantMode,
  mustRequest,
  pollAt,
  removeScope,
  request,
  requestAndApprove,
} from './support/consent.ts'
import { newHolder, prove } from './support/passkeys.ts'
import { expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

async function keyWithout() {
  const person = await newPerson()
  return { person, key: await newKey(person, { scopes: ['agent:list'] }) }
}

describe('a grant', () => {
  test.each<GrantMode>(['persistent', 'session', 'one_time'])(
    'that is %s lets the same call pass with the same key',
    async (mode) => {
      verifies('permission:grant:retry-same-key')
      const { person, key } = await keyWithout()
      expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
      await requestAndApprove(person, key, 'profile:read', { mode })
      expect((await callGuarded(key)).status).toBe(200)
    },
  )

  test('that lasts joins what the key has', async () => {
    verifies('permission:grant:persistent-merged')
    const { person, key } = await keyWithout()
    await requestAndApprove(person, key, 'profile:read', { mode: 'persistent' })
    const { status, body } = await connect(key, ['agent:list', 'profile:read'])
    expect(status).toBe(200)
    expect(body).toEqual({ status: 'active', scopes: ['agent:list', 'profile:read'] })
  })

  test.each<GrantMode>(['session', 'one_time'])(
    'that is %s does not show among the key’s scopes',
    async (mode) => {
      verifies('permission:grant:session-and-one-time-not-in-key')
      const { person, key } = await keyWithout()
      const { poll_url } = await connectAndApprove(person, key, ['billing:read'])
      await requestAndApprove(person, key, 'profile:read', { mode })
      const own = ['agent:list', 'billing:read']
      expect((await pollAt(key, poll_url)).body.scopes).toEqual(own)
      expect((await connect(key, own)).body).toEqual({ status: 'active', scopes: own })
      expect((await connect(key, ['profile:read'])).status).toBe(202)
      expect((await listKeys(person))[0]?.scopes.sort()).toEqual(own)
      expect((await callGuarded(key)).status).toBe(200)
    },
  )

  test('for one exact request is good for no other', async () => {
    verifies('permission:grant:bound-to-request')
    const holder = await newHolder()
    const key = await newKey(holder, { scopes: ['agent:list'] })
    const body = JSON.stringify({ bio: 'Likes tea' })
    const bodySha256 = createHash('sha256').update(body).digest('hex')
    const action = {
      summary: 'Write the bio',
      request: { method: 'PATCH', path: '/api/v1/profile', bodySha256 },
    }
    const asked = await mustRequest(key, 'profile:write', { mode: 'one_time', action })
    const device_auth = await prove(holder, asked.request_id)
    must(await approveRequest(holder, asked.request_id, { device_auth }), 200)
    const patch = (rawBody: string, path = '/profile') =>
      key.send('PATCH', path, { rawBody, headers: { 'content-type': 'application/json' } })
    for (const other of [
      await patch(JSON.stringify({ bio: 'Likes gold' })),
      await patch(`${body} `),
      await patch(body, '/profile?x=1'),
    ]) {
      expectRefusal(other, 403, 'FORBIDDEN')
    }
    expect((await patch(body)).status).toBe(200)
    expectRefusal(await patch(body), 403, 'FORBIDDEN')
    expect((await holder.get<{ bio: string }>('/profile')).body.bio).toBe('Likes tea')
  })

  test('for one path is good for no other', async () => {
    verifies('permission:grant:bound-to-request')
    const { person, key } = await keyWithout()
    const action = {
      summary: 'Look for tea',
      request: { method: 'GET', path: '/api/v1/profile/search?q=tea' },
    }
    await requestAndApprove(person, key, 'profile:search', { mode: 'one_time', action })
    expectRefusal(await key.get('/profile/search?q=gold'), 403, 'FORBIDDEN')
    expect((await key.get('/profile/search?q=tea')).status).toBe(200)
    expectRefusal(await key.get('/profile/search?q=tea'), 403, 'FORBIDDEN')
  })
})

describe('taking a scope away', () => {
  test('answers what is left', async () => {
    verifies('permission:delete-scope:answer', 'keys:revoke:single-scope')
    const person = await newPerson()
    const key = await newKey(person, { scopes: ['profile:read', 'profile:search'] })
    const { status, body } = await removeScope(person, key.id, 'profile:read')
    expect(status).toBe(200)
    expect(body).toEqual({ success: true, key_id: key.id, scopes: ['profile:search'] })
    const refusal = expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
    expect(refusal.message).toContain('profile:read')
    expect((await key.get('/profile/search?q=x')).status).toBe(200)
    expect(await listKeys(person)).toMatchObject([{ scopes: ['profile:search'], activated: true }])
  })

  test('ends the grants of it as well, and those of no other', async () => {
    verifies('permission:delete-scope:voids-grants')
    const { person, key } = await keyWithout()
    await requestAndApprove(person, key, 'profile:read', { mode: 'session' })
    await requestAndApprove(person, key, 'profile:search', { mode: 'session' })
    expect((await callGuarded(key)).status).toBe(200)
    expect((await removeScope(person, key.id, 'profile:read')).status).toBe(200)
    expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
    expect((await key.get('/profile/search?q=x')).status).toBe(200)
    await requestAndApprove(person, key, 'profile:read', { mode: 'one_time' })
    expect((await removeScope(person, key.id, 'profile:read')).status).toBe(200)
    expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
  })

  test('of full access leaves an active key that may do nothing guarded', async () => {
    verifies('permission:delete-scope:wildcard')
    const person = await newPerson()
    const key = await newKey(person)
    expect((await callGuarded(key)).status).toBe(200)
    const { status, body } = await removeScope(person, key.id, '*')
    expect([status, body]).toEqual([200, { success: true, key_id: key.id, scopes: [] }])
    expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
    expect((await key.get('/workspaces')).status).toBe(200)
    expect((await request(key, 'profile:read')).status).toBe(202)
    expect(await listKeys(person)).toMatchObject([{ scopes: [], activated: true }])
  })

  test('from a foreign key is as if it were not there', async () => {
    verifies('permission:delete-scope:foreign-key-404')
    const [owner, colleague] = [await newPerson(), await newPerson()]
    const { id } = await newWorkspace(owner)
    await addMember(owner, id, colleague)
    const team = inWorkspace(id)
    const key = await newKey(owner, { scopes: ['profile:read'] }, team)
    const random = await colleague.delete('/agents/987654321/scopes/profile:read')
    expectRefusal(random, 404, 'NOT_FOUND')
    for (const options of [{}, team]) {
      const foreign = await colleague.delete(`/agents/${key.id}/scopes/profile:read`, options)
      expect([foreign.status, foreign.text]).toEqual([random.status, random.text])
    }
    const nonsense = await colleague.delete('/agents/no-number/scopes/profile:read')
    expect([nonsense.status, nonsense.text]).toEqual([random.status, random.text])
    expect((await callGuarded(key)).status).toBe(200)
  })
})
