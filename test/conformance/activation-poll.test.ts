import { describe, expect, test } from 'vitest'
import {
  confirm,
  deny,
  inWorkspace,
  lookup,
  newPerson,
  newVisitor,
  newWorkspace,
  type PollAnswer,
  pair,
  poll,
  pollNow,
  startPairing,
} from './support/actors.ts'
import { letWindowsPass } from './support/rate-windows.ts'
import { expectRefusal, keyPattern, uuidPattern } from './support/shapes.ts'
import { verifies } from './verifies.ts'

describe('a poll', () => {
  test('says pending, and nothing else, until somebody decides', async () => {
    verifies('activation:poll:always-200', 'activation:poll:extra-fields-only-approved')
    const answer = await poll(await startPairing())
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ status: 'pending' })
  })

  test('says denied, and nothing else, after a denial', async () => {
    verifies(
      'activation:state:pending-to-denied',
      'activation:poll:always-200',
      'activation:poll:extra-fields-only-approved',
    )
    const pairing = await startPairing()
    expect((await deny(await newPerson(), pairing.userCode)).status).toBe(200)
    const answer = await poll(pairing)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ status: 'denied' })
  })

  test('hands over the key once, then says consumed', async () => {
    verifies(
      'activation:state:approved-to-consumed',
      'activation:poll:consumed-once',
      'activation:poll:always-200',
      'activation:poll:extra-fields-only-approved',
    )
    const person = await newPerson()
    const pairing = await startPairing()
    expect((await confirm(person, pairing.userCode)).status).toBe(200)
    const claiming = await poll(pairing)
    expect(claiming.status).toBe(200)
    expect(claiming.body).toEqual({
      status: 'approved',
      api_key: expect.stringMatching(keyPattern),
      tier: 'basedmode',
      workspace: { id: person.workspaceId, name: null },
      activated: true,
    })
    expect((await lookup(person, pairing.userCode)).body.status).toBe('consumed')
    for (let again = 0; again < 2; again++) {
      const later = await poll(pairing)
      expect(later.status).toBe(200)
      expect(later.body).toEqual({ status: 'consumed' })
    }
  })

  test('names the workspace of the key, by name where it has one', async () => {
    verifies('activation:poll:approved-workspace', 'workspaces:record:fields')
    const person = await newPerson()
    const team = await newWorkspace(person, 'Cartographers')
    const [personal, named] = [await pair(person), await pair(person, { confirm: inWorkspace(team.id) })]
    expect(personal.claim.workspace).toEqual({ id: person.workspaceId, name: null })
    expect(personal.claim.workspace.id).toMatch(uuidPattern)
    expect(named.claim.workspace).toEqual({ id: team.id, name: 'Cartographers' })
  })

  test('of an unknown device code says expired', async () => {
    verifies(
      'activation:poll:unknown-device-code',
      'activation:poll:always-200',
      'activation:poll:extra-fields-only-approved',
    )
    const answer = await newVisitor().post<PollAnswer>('/activate/poll', { device_code: 'never-issued' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ status: 'expired' })
  })

  test('with the user code says expired and leaves the pairing pending', async () => {
    verifies('activation:poll:user-code-is-expired')
    const pairing = await startPairing()
    const answer = await pairing.client.post<PollAnswer>('/activate/poll', { device_code: pairing.userCode })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ status: 'expired' })
    expect((await poll(pairing)).body).toEqual({ status: 'pending' })
  })

  test.each([[{}], [{ device_code: 5 }], [{ device_code: null }]])(
    'needs a device code: %j',
    async (body) => {
      verifies('activation:poll:device-code-required')
      expectRefusal(await newVisitor().post('/activate/poll', body), 400, 'INVALID_INPUT')
    },
  )

  test('is taken once a second for each code', async () => {
    verifies('activation:poll:rate-once-per-second')
    const pairing = await startPairing()
    const other = await startPairing()
    expect((await pollNow(pairing)).status).toBe(200)
    const accepted = performance.now()
    expectRefusal(await pollNow(pairing), 429, 'RATE_LIMITED')
    expect((await pollNow(other)).status).toBe(200)
    await letWindowsPass(accepted + 1010 - performance.now())
    expect((await pollNow(pairing)).status).toBe(200)
  })

  test('racing others: one of twenty gets the key', async () => {
    verifies('activation:poll:claim-atomic')
    const person = await newPerson()
    const pairing = await startPairing()
    expect((await confirm(person, pairing.userCode)).status).toBe(200)
    const answers = await Promise.all(Array.from({ length: 20 }, () => pollNow(pairing)))
    const claiming = answers.filter(({ body }) => body.api_key !== undefined)
    expect(claiming).toHaveLength(1)
    for (const answer of answers.filter((each) => each !== claiming[0])) {
      expect(answer.text).not.toContain('guild_live_')
      if (answer.status === 200) expect(answer.body).toEqual({ status: 'consumed' })
      else expectRefusal(answer, 429, 'RATE_LIMITED')
    }
    await letWindowsPass(1010)
    expect((await pollNow(pairing)).body).toEqual({ status: 'consumed' })
  })
})

test('over all paths the status is one of five', async () => {
  verifies('activation:record:status-enum')
  const person = await newPerson()
  const seen = new Set<string>()
  const see = async (pairing: Awaited<ReturnType<typeof startPairing>>) => {
    const [polled, looked] = [await poll(pairing), await lookup(person, pairing.userCode)]
    seen.add(polled.body.status).add(looked.body.status)
  }
  const [approved, denied] = [await startPairing(), await startPairing()]
  await see(approved)
  await confirm(person, approved.userCode)
  seen.add((await lookup(person, approved.userCode)).body.status)
  await see(approved)
  await see(approved)
  await deny(person, denied.userCode)
  await see(denied)
  const unknown = { ...denied, deviceCode: 'never-issued-either' }
  seen.add((await poll(unknown)).body.status)
  expect([...seen].sort()).toEqual(['approved', 'consumed', 'denied', 'expired', 'pending'])
})
