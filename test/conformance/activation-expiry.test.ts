import { expect } from 'vitest'
import { expectAhead } from '../support/moments.ts'
import { confirm, deny, listKeys, lookup, newPerson, poll, startPairing } from './support/actors.ts'
import { withClock } from './support/clock.ts'
import { expectRefusal } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

/** A test reaches this moment less than five seconds after it asked for its code. */
const justBefore = { seconds: 595 }
const after = { seconds: 600 }

stackOnly('a code lives 600 seconds', () => {
  verifies('limits:activation:600-seconds')
  return withClock(async (clock) => {
    const person = await newPerson()
    const asked = Date.now()
    const pairing = await startPairing()
    const { expires_at } = (await lookup(person, pairing.userCode)).body
    expectAhead(Date.parse(expires_at), asked, 600_000)
    await clock.setAhead(justBefore)
    expect((await poll(pairing)).body).toEqual({ status: 'pending' })
    await clock.setAhead(after)
    expect((await poll(pairing)).body).toEqual({ status: 'expired' })
  })
})

stackOnly('an approval does not extend it', () => {
  verifies('activation:expiry:approval-does-not-extend')
  return withClock(async (clock) => {
    const person = await newPerson()
    const pairing = await startPairing()
    const before = (await lookup(person, pairing.userCode)).body.expires_at
    await clock.setAhead(justBefore)
    expect((await confirm(person, pairing.userCode)).status).toBe(200)
    const looked = (await lookup(person, pairing.userCode)).body
    expect(looked).toMatchObject({ status: 'approved', expires_at: before })
    await clock.setAhead(after)
    expect((await poll(pairing)).body).toEqual({ status: 'expired' })
    expect((await lookup(person, pairing.userCode)).body.status).toBe('expired')
  })
})

stackOnly('an approval that nobody collects takes its key with it', () => {
  verifies('activation:expiry:unclaimed-key-removed')
  return withClock(async (clock) => {
    const person = await newPerson({ mode: 'byokmode' })
    const pairing = await startPairing()
    expect((await confirm(person, pairing.userCode)).status).toBe(200)
    expect(await listKeys(person)).toHaveLength(1)
    expectRefusal(await person.post('/keys', { label: 'One too many' }), 403, 'FORBIDDEN')
    await clock.setAhead(after)
    expect(await listKeys(person)).toEqual([])
    expect((await person.post('/keys', { label: 'In its place' })).status).toBe(201)
    expect((await listKeys(person)).map(({ label }) => label)).toEqual(['In its place'])
  })
})

stackOnly('nothing leaves denied, consumed or expired', () => {
  verifies('activation:state:terminal')
  return withClock(async (clock) => {
    const person = await newPerson()
    const [denied, consumed, expired, expiredLater] = [
      await startPairing(),
      await startPairing(),
      await startPairing(),
      await startPairing(),
    ]
    await deny(person, denied.userCode)
    await confirm(person, consumed.userCode)
    await confirm(person, expiredLater.userCode)
    expect((await poll(consumed)).body.status).toBe('approved')
    for (const [pairing, state] of [[denied, 'denied'] as const, [consumed, 'consumed'] as const]) {
      for (const act of [confirm, deny]) {
        expect(expectRefusal(await act(person, pairing.userCode), 409, 'CONFLICT').message).toContain(state)
      }
      expect((await poll(pairing)).body).toEqual({ status: state })
    }
    await clock.setAhead(after)
    for (const pairing of [expired, expiredLater]) {
      for (const act of [confirm, deny]) expectRefusal(await act(person, pairing.userCode), 410, 'EXPIRED')
      expect((await poll(pairing)).body).toEqual({ status: 'expired' })
    }
    for (const [pairing, state] of [[denied, 'denied'] as const, [consumed, 'consumed'] as const]) {
      expect((await poll(pairing)).body).toEqual({ status: state })
      expectRefusal(await confirm(person, pairing.userCode), 409, 'CONFLICT')
    }
  })
})

stackOnly('deny of an expired code is refused as expired', () => {
  verifies('activation:deny:expired')
  return withClock(async (clock) => {
    const person = await newPerson()
    const pairing = await startPairing()
    await clock.setAhead(after)
    expectRefusal(await deny(person, pairing.userCode), 410, 'EXPIRED')
    expect((await poll(pairing)).body).toEqual({ status: 'expired' })
  })
})

stackOnly('lookup of an expired code still answers', () => {
  verifies('activation:lookup:expired-200')
  return withClock(async (clock) => {
    const person = await newPerson()
    const pairing = await startPairing()
    await clock.setAhead(after)
    const answer = await lookup(person, pairing.userCode)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ user_code: pairing.userCode, status: 'expired' })
  })
})

stackOnly('confirm of an expired code is refused as expired and makes no key', () => {
  verifies('errors:code:expired')
  return withClock(async (clock) => {
    const person = await newPerson()
    const pairing = await startPairing()
    await clock.setAhead(after)
    expectRefusal(await confirm(person, pairing.userCode), 410, 'EXPIRED')
    expect(await listKeys(person)).toEqual([])
    expect((await poll(pairing)).body).toEqual({ status: 'expired' })
  })
})
