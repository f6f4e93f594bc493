import { expect } from 'vitest'
import { patienceFor } from '../support/sizes.ts'
import { keyCaller, listKeys, type NewKeyRecord, newKey, newPerson } from './support/actors.ts'
import { credentialsForgotten, withClock } from './support/clock.ts'
import { expectRefusal } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

stackOnly('a key falls idle after a day and dormant after thirty', () => {
  verifies('keys:activity:thresholds')
  return withClock(async (clock) => {
    const person = await newPerson()
    const [used, unused] = [await newKey(person), await newKey(person)]
    expect((await used.get('/workspaces')).status).toBe(200)
    const activities = async () => {
      const keys = await listKeys(person)
      return [used, unused].map((key) => keys.find(({ id }) => id === key.id)?.activity)
    }
    await expect.poll(activities, { timeout: patienceFor(3000), interval: 100 }).toEqual(['ACTIVE', 'IDLE'])
    await clock.setAhead({ hours: 23, minutes: 59 })
    expect(await activities()).toEqual(['ACTIVE', 'IDLE'])
    await clock.setAhead({ hours: 24, minutes: 1 })
    expect(await activities()).toEqual(['IDLE', 'IDLE'])
    await clock.setAhead({ days: 29, hours: 23, minutes: 59 })
    expect(await activities()).toEqual(['IDLE', 'IDLE'])
    await clock.setAhead({ days: 30, minutes: 1 })
    expect(await activities()).toEqual(['DORMANT', 'DORMANT'])
  })
})

stackOnly('a replaced secret works for one hour more', () => {
  verifies('keys:rotate:old-valid-one-hour')
  return withClock(async (clock) => {
    const person = await newPerson()
    const old = await newKey(person)
    const { body } = await person.post<NewKeyRecord>(`/keys/${old.id}/rotate`)
    const renewed = keyCaller(body.api_key)
    await clock.setAhead({ minutes: 59 })
    await credentialsForgotten()
    expect((await old.get('/workspaces')).status).toBe(200)
    await clock.setAhead({ minutes: 61 })
    await credentialsForgotten()
    const refusal = expectRefusal(await old.get('/workspaces'), 401, 'UNAUTHORIZED')
    expect(refusal.message).toBe('Invalid API key')
    expect((await renewed.get('/workspaces')).status).toBe(200)
  })
})

stackOnly('a session lapses thirty days after its last use', () => {
  verifies('auth:session:sliding-30-days')
  return withClock(async (clock) => {
    const [idle, used, late] = [await newPerson(), await newPerson(), await newPerson()]
    await clock.setAhead({ days: 29 })
    await credentialsForgotten()
    const expiry = async () => (await used.get<{ expires_at: string }>('/auth/session')).body.expires_at
    const dayOf = (time: string) => Math.round((Date.parse(time) - Date.now()) / 86_400_000)
    // The renewal is written beside the answer, not before it.
    await expect
      .poll(async () => dayOf(await expiry()), { timeout: patienceFor(3000), interval: 100 })
      .toBe(59)
    await clock.setAhead({ days: 29, hours: 23, minutes: 59 })
    expect((await late.get('/auth/session')).status).toBe(200)
    await clock.setAhead({ days: 30, minutes: 1 })
    const refusal = expectRefusal(await idle.get('/auth/session'), 401, 'UNAUTHORIZED')
    expect(refusal.message).toBe('Invalid auth token')
    await clock.setAhead({ days: 31 })
    await credentialsForgotten()
    expect((await used.get('/auth/session')).status).toBe(200)
  })
})

stackOnly('a session ends 180 days after the sign-in, however it is used', () => {
  verifies('auth:session:ends-after-180-days')
  return withClock(async (clock) => {
    const person = await newPerson()
    const status = async () => (await person.get('/auth/session')).status
    for (const days of [29, 58, 87, 116, 145, 174]) {
      await clock.setAhead({ days })
      await credentialsForgotten()
      expect([days, await status()]).toEqual([days, 200])
      const read = async () => (await person.get<{ expires_at: string }>('/auth/session')).body.expires_at
      const daysLeft = async () => (Date.parse(await read()) - Date.now()) / 86_400_000
      // The renewal is written beside the answer, not before it.
      await expect.poll(daysLeft, { interval: 100 }).toBeGreaterThan(Math.min(days + 29, 179))
    }
    await clock.setAhead({ days: 179, hours: 23 })
    await credentialsForgotten()
    expect(await status()).toBe(200)
    await clock.setAhead({ days: 180, minutes: 1 })
    await credentialsForgotten()
    const refusal = expectRefusal(await person.get('/auth/session'), 401, 'UNAUTHORIZED')
    expect(refusal.message).toBe('Invalid auth token')
  })
})
