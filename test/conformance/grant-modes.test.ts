import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectAhead } from '../support/moments.ts'
import { must, newKey, newPerson } from './support/actors.ts'
import { withClock } from './support/clock.ts'
import {
  approveRequest,
  callGuarded,
  connect,
  connectAndApprove,
  mustRequest,
  pollAt,
  removeScope,
  requestAndApprove,
} from './support/consent.ts'
import {
  cancel,
  installSkill,
  lasting,
  message,
  mustRun,
  post,
  prepare,
  quick,
  rerun,
  run,
} from './support/executions.ts'
import { newHolder, prove } from './support/passkeys.ts'
import { expectFlatRefusal, expectRefusal } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

/** A key that may do something, but not what `callGuarded` needs. */
async function keyWithout() {
  const person = await newPerson()
  return { person, key: await newKey(person, { scopes: ['agent:list'] }) }
}

describe('a persistent grant', () => {
  test('is the key’s own until it is taken away', async () => {
    verifies('scopes:mode:persistent-until-revoked')
    const { person, key } = await keyWithout()
    const consent = await connectAndApprove(person, key, ['billing:read'])
    expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
    await requestAndApprove(person, key, 'profile:read', { mode: 'persistent' })
    for (let call = 0; call < 5; call++) expect((await callGuarded(key)).status).toBe(200)
    expect((await pollAt(key, consent.poll_url)).body.scopes).toContain('profile:read')
    expect((await removeScope(person, key.id, 'profile:read')).status).toBe(200)
    expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
    expect((await pollAt(key, consent.poll_url)).body.scopes).not.toContain('profile:read')
  })

  stackOnly('does not end with time', () => {
    verifies('scopes:mode:persistent-until-revoked')
    return withClock(async (clock) => {
      const { person, key } = await keyWithout()
      await requestAndApprove(person, key, 'profile:read', { mode: 'persistent' })
      await clock.setAhead({ days: 20 })
      expect((await callGuarded(key)).status).toBe(200)
    })
  })
})

describe('a session grant', () => {
  stackOnly('lasts one hour and can be given anew', () => {
    verifies('scopes:mode:session-one-hour')
    return withClock(async (clock) => {
      const { person, key } = await keyWithout()
      const begun = Date.now()
      const asked = await requestAndApprove(person, key, 'profile:read', { mode: 'session' })
      const { expires_at } = (await pollAt(key, asked.poll_url)).body
      expectAhead(Date.parse(expires_at ?? ''), begun, 3_600_000)
      expect((await callGuarded(key)).status).toBe(200)
      await clock.setAhead({ minutes: 59, seconds: 50 })
      expect((await callGuarded(key)).status).toBe(200)
      await clock.setAhead({ minutes: 60, seconds: 10 })
      const refusal = expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
      expect(refusal.message).toContain('profile:read')
      expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
      await requestAndApprove(person, key, 'profile:read', { mode: 'session' })
      expect((await callGuarded(key)).status).toBe(200)
    })
  })
})

describe('a one_time grant', () => {
  test('is spent by the first call that needs it, and by no other', async () => {
    verifies('scopes:mode:one-time-single-use')
    const { person, key } = await keyWithout()
    await requestAndApprove(person, key, 'profile:read', { mode: 'one_time' })
    // None of these needs the scope: routes for any key, one for another scope, one that is not there.
    expect((await key.get('/workspaces')).status).toBe(200)
    expect((await key.get('/agents/me')).status).toBe(200)
    expect((await connect(key, ['agent:list'])).status).toBe(200)
    expectRefusal(await key.get('/profile/search?q=x'), 403, 'FORBIDDEN')
    expectRefusal(await key.get('/profile/nothing'), 404, 'NOT_FOUND')
    expect((await callGuarded(key)).status).toBe(200)
    for (let again = 0; again < 2; again++) {
      const refusal = expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
      expect(refusal.message).toContain('profile:read')
    }
  })

  test('is not spent by a call that is malformed', async () => {
    verifies('scopes:mode:one-time-single-use')
    const { person, key } = await keyWithout()
    await requestAndApprove(person, key, 'profile:search', { mode: 'one_time' })
    expectRefusal(await key.get('/profile/search'), 400, 'INVALID_INPUT')
    expect((await key.get('/profile/search?q=x')).status).toBe(200)
    expectRefusal(await key.get('/profile/search?q=x'), 403, 'FORBIDDEN')
  })

  test('is spent by the start that it allowed, and by no refusal before', async () => {
    verifies('scopes:mode:one-time-single-use')
    const holder = await newHolder()
    await installSkill(holder)
    const key = await newKey(holder, { scopes: ['agent:list'] })
    const asked = await mustRequest(key, 'tool:execute', { mode: 'one_time' })
    const device_auth = await prove(holder, asked.request_id)
    must(await approveRequest(holder, asked.request_id, { device_auth }), 200)
    const isConsumed = async () => (await pollAt(key, asked.poll_url)).body.consumed
    expectFlatRefusal(await key.post('/skills/none-such/run', { input: quick }), 404, 'NOT_FOUND')
    expectFlatRefusal(await run(key, 'x'.repeat(102_401)), 400, 'INVALID_INPUT')
    expectRefusal(await rerun(key, 'none-such', quick), 404, 'NOT_FOUND')
    const busy = await mustRun(holder, lasting)
    expectFlatRefusal(await run(key, quick), 429, 'EXECUTION_RUNNING')
    await cancel(holder, busy)
    expectRefusal(await post(key, busy, message(quick)), 409, 'CONFLICT')
    const prepared = await prepare(key)
    expect(await isConsumed()).toBeUndefined()
    const repeat = { headers: { 'idempotency-key': randomUUID() } }
    const started = must(await run(key, quick, {}, repeat), 200)
    expect(await isConsumed()).toBe(true)
    expect(must(await run(key, quick, {}, repeat), 200)).toEqual(started)
    expectRefusal(await run(key, quick), 403, 'FORBIDDEN')
    expectRefusal(await post(key, prepared, message(quick)), 403, 'FORBIDDEN')
  })

  test('lets one of twenty calls at once pass', async () => {
    verifies('scopes:mode:one-time-atomic')
    const { person, key } = await keyWithout()
    for (let round = 0; round < 2; round++) {
      await requestAndApprove(person, key, 'profile:read', { mode: 'one_time' })
      const answers = await Promise.all(Array.from({ length: 20 }, () => callGuarded(key)))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(403)])
    }
  })

  stackOnly('lasts five minutes unused', () => {
    verifies('scopes:mode:one-time-short-lived')
    return withClock(async (clock) => {
      const { person, key } = await keyWithout()
      const begun = Date.now()
      const first = await requestAndApprove(person, key, 'profile:read', { mode: 'one_time' })
      const { expires_at } = (await pollAt(key, first.poll_url)).body
      expectAhead(Date.parse(expires_at ?? ''), begun, 300_000)
      await clock.setAhead({ seconds: 290 })
      expect((await callGuarded(key)).status).toBe(200)
      await clock.setAhead({})
      await requestAndApprove(person, key, 'profile:read', { mode: 'one_time' })
      await clock.setAhead({ seconds: 310 })
      expectRefusal(await callGuarded(key), 403, 'FORBIDDEN')
    })
  })

  test.each(['profile:read', 'tool:execute'])('is never what %s gets by itself', async (scope) => {
    verifies('scopes:mode:one-time-opt-in')
    const holder = await newHolder()
    const key = await newKey(holder, { scopes: ['agent:list'] })
    const asked = await mustRequest(key, scope)
    const device_auth = await prove(holder, asked.request_id)
    must(await approveRequest(holder, asked.request_id, { device_auth }), 200)
    const { status, mode } = (await pollAt(key, asked.poll_url)).body
    expect([status, mode]).toEqual(['granted', 'session'])
  })
})
