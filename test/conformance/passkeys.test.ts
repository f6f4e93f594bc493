import { describe, expect, test } from 'vitest'
import type { Knobs } from '../support/authenticator.ts'
import { confirm, listKeys, must, newKey, newPerson, poll, startPairing } from './support/actors.ts'
import { withClock } from './support/clock.ts'
import { approveRequest, mustRequest, pollAt } from './support/consent.ts'
import {
  assertFor,
  expectDeviceAuthRequired,
  type Holder,
  listPasskeys,
  newAuthenticator,
  newHolder,
  type PasskeyRecord,
  passkeyOptions,
  prove,
  register,
} from './support/passkeys.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

const record = {
  id: expect.stringMatching(/./),
  name: expect.stringMatching(/./),
  createdAt: expect.stringMatching(isoPattern),
  lastUsedAt: null,
  backedUp: false,
}
const wrongKnobs: [fault: string, knobs: Knobs][] = [
  ['without user verification', { userVerified: false }],
  ['from another origin', { origin: 'https://evil.example' }],
  ['for another relying party', { rpId: 'evil.example' }],
  ['with a changed signature', { tampered: true }],
]

/** What a further passkey is registered with, but for the assertion. */
async function further(holder: Holder) {
  const { registration, assertion } = await passkeyOptions(holder)
  if (!assertion) throw new Error('No assertion was asked for')
  return { credential: newAuthenticator().register(registration), assertion }
}

describe('registering a passkey', () => {
  test('answers it, and lists it for its person alone', async () => {
    verifies('passkeys:list:fields')
    const [person, other] = [await newPerson(), await newHolder()]
    expect(await listPasskeys(person)).toEqual([])
    const { registration, assertion } = await passkeyOptions(person)
    expect(assertion).toBeNull()
    const credential = newAuthenticator().register(registration)
    const answer = await register(person, { name: 'Laptop', credential })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({ ...record, name: 'Laptop' })
    expect(await listPasskeys(person)).toEqual([answer.body])
    expect(await listPasskeys(other)).toEqual([other.passkey])
  })

  stackOnly('needs a fresh sign-in, the first time', () => {
    verifies('passkeys:first:fresh-sign-in')
    return withClock(async (clock) => {
      const [inTime, late] = [await newPerson(), await newPerson()]
      await clock.setAhead({ seconds: 590 })
      const credentialOf = async (person: typeof late) =>
        newAuthenticator().register((await passkeyOptions(person)).registration)
      expect((await register(inTime, { credential: await credentialOf(inTime) })).status).toBe(201)
      const credential = await credentialOf(late)
      await clock.setAhead({ seconds: 610 })
      expectRefusal(await register(late, { credential }), 403, 'FORBIDDEN')
      expect(await listPasskeys(late)).toEqual([])
    })
  })

  test('needs an existing one, every further time', async () => {
    verifies('passkeys:further:assertion')
    const holder = await newHolder()
    const { credential, assertion } = await further(holder)
    expectDeviceAuthRequired(await register(holder, { credential }))
    const other = await assertFor(holder, { purpose: 'create-key', access: 'full' })
    expectDeviceAuthRequired(await register(holder, { credential, device_auth: other }))
    expect(await listPasskeys(holder)).toHaveLength(1)
    const device_auth = holder.authenticator.assert(assertion)
    expect((await register(holder, { credential, device_auth })).status).toBe(201)
    expect(await listPasskeys(holder)).toHaveLength(2)
  })

  test('needs the person to be verified', async () => {
    verifies('passkeys:assertion:user-verified')
    const person = await newPerson()
    const { registration } = await passkeyOptions(person)
    const credential = newAuthenticator().register(registration, { userVerified: false })
    expectRefusal(await register(person, { credential }), 400, 'INVALID_INPUT')
    expect(await listPasskeys(person)).toEqual([])
  })
})

describe('removing a passkey', () => {
  test('needs an assertion', async () => {
    verifies('passkeys:remove:assertion')
    const holder = await newHolder()
    const path = `/passkeys/${holder.passkey.id}`
    expectDeviceAuthRequired(await holder.delete(path))
    const other = await assertFor(holder, { purpose: 'register' })
    expectDeviceAuthRequired(await holder.send('DELETE', path, { body: { device_auth: other } }))
    expect(await listPasskeys(holder)).toHaveLength(1)
    const device_auth = await assertFor(holder, { purpose: 'remove', passkeyId: holder.passkey.id })
    const answer = await holder.send('DELETE', path, { body: { device_auth } })
    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    expect(await listPasskeys(holder)).toEqual([])
  })

  test('of somebody else is as if it were not there', async () => {
    verifies('passkeys:remove:assertion')
    const [holder, stranger] = [await newHolder(), await newHolder()]
    const random = await stranger.delete(`/passkeys/${'x'.repeat(holder.passkey.id.length)}`)
    expectRefusal(random, 404, 'NOT_FOUND')
    const foreign = await stranger.delete(`/passkeys/${holder.passkey.id}`)
    expect([foreign.status, foreign.text]).toEqual([random.status, random.text])
    expect(await listPasskeys(holder)).toHaveLength(1)
  })
})

describe('an assertion', () => {
  test.each(wrongKnobs)('%s approves nothing', async (_fault, knobs) => {
    verifies('passkeys:assertion:user-verified')
    const holder = await newHolder()
    const key = await newKey(holder, { scopes: ['agent:list'] })
    const { request_id, poll_url } = await mustRequest(key, 'tool:execute')
    const device_auth = await prove(holder, request_id, {}, knobs)
    expectDeviceAuthRequired(await approveRequest(holder, request_id, { device_auth }))
    expect((await pollAt(key, poll_url)).body).toEqual({ status: 'pending' })
  })

  test('by somebody else approves nothing', async () => {
    verifies('passkeys:assertion:user-verified')
    const [holder, stranger] = [await newHolder(), await newHolder()]
    const key = await newKey(holder, { scopes: ['agent:list'] })
    const { request_id, poll_url } = await mustRequest(key, 'tool:execute')
    const device_auth = await assertFor(stranger, { purpose: 'create-key', access: 'full' })
    expectDeviceAuthRequired(await approveRequest(holder, request_id, { device_auth }))
    expect((await pollAt(key, poll_url)).body).toEqual({ status: 'pending' })
  })

  test('is good once', async () => {
    verifies('passkeys:assertion:single-use')
    const holder = await newHolder()
    const device_auth = await assertFor(holder, { purpose: 'create-key', access: 'full' })
    expect((await holder.post('/keys', { label: 'First', device_auth })).status).toBe(201)
    expectDeviceAuthRequired(await holder.post('/keys', { label: 'Second', device_auth }))
    const key = await newKey(holder, { scopes: ['agent:list'] })
    const asked = await mustRequest(key, 'tool:execute')
    expectDeviceAuthRequired(await approveRequest(holder, asked.request_id, { device_auth }))
    const proof = { device_auth: await prove(holder, asked.request_id) }
    must(await approveRequest(holder, asked.request_id, proof), 200)
    must(await holder.delete(`/agents/${key.id}/scopes/tool:execute`), 200)
    const again = await mustRequest(key, 'tool:execute')
    expectDeviceAuthRequired(await approveRequest(holder, again.request_id, proof))
    const used = (await listPasskeys(holder)) as PasskeyRecord[]
    expect(used[0]?.lastUsedAt).toMatch(isoPattern)
  })
})

describe('whoever has a passkey', () => {
  test('asserts it for a key with full access or with sensitive scopes', async () => {
    verifies('passkeys:keys:holder-asserts')
    const [holder, person] = [await newHolder(), await newPerson()]
    const sensitive = { access: 'declared', scopes: ['agent:list', 'tool:execute'] }
    for (const wish of [{}, { access: 'full' }, sensitive]) {
      expectDeviceAuthRequired(await holder.post('/keys', { label: 'A key', ...wish }))
      expect((await person.post('/keys', { label: 'A key', ...wish })).status).toBe(201)
    }
    for (const scopes of [['*'], ['agent:list', '*']]) {
      expectRefusal(await holder.post('/keys', { label: 'A key', scopes }), 400, 'INVALID_INPUT')
    }
    expect(await listKeys(holder)).toEqual([])
    for (const wish of [{ access: 'declared' }, { scopes: ['agent:list', 'profile:read'] }]) {
      expect((await holder.post('/keys', { label: 'A key', ...wish })).status).toBe(201)
    }
    const elsewhere = await assertFor(holder, { purpose: 'create-key', access: 'full' })
    const body = { label: 'A key', ...sensitive }
    expectDeviceAuthRequired(await holder.post('/keys', { ...body, device_auth: elsewhere }))
    const device_auth = await assertFor(holder, { purpose: 'create-key', ...sensitive })
    expect((await holder.post('/keys', { ...body, device_auth })).status).toBe(201)
    expect(await listKeys(holder)).toHaveLength(3)
  })

  test('asserts it to pair an agent with full access', async () => {
    verifies('passkeys:keys:holder-asserts')
    const holder = await newHolder()
    const pairing = await startPairing()
    const code = pairing.userCode
    expectDeviceAuthRequired(await confirm(holder, code))
    expect((await poll(pairing)).body).toEqual({ status: 'pending' })
    const device_auth = await assertFor(holder, { purpose: 'confirm', code, access: 'full' })
    expect((await confirm(holder, code, {}, { device_auth })).status).toBe(200)
    const declared = await startPairing()
    expect((await confirm(holder, declared.userCode, {}, { access: 'declared' })).status).toBe(200)
  })
})
