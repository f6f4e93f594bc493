import { isIP } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ActivationAnswer, lookup, newPerson, newVisitor, startPairing } from './support/actors.ts'
import { ownAddresses } from './support/client.ts'
import { verifies } from './verifies.ts'

describe('POST /activate', () => {
  test('takes no body and no content-type', async () => {
    verifies('activation:create:no-body')
    const answer = await newVisitor().send<ActivationAnswer>('POST', '/activate')
    expect(answer.status).toBe(200)
    expect(answer.body.user_code).toBeTypeOf('string')
  })

  test('answers the codes, where to go, and how long', async () => {
    verifies(
      'activation:create:response-fields',
      'activation:create:expires-in-600',
      'activation:create:interval',
    )
    const { answer } = await startPairing()
    expect(answer.body).toMatchObject({
      device_code: expect.stringMatching(/./),
      user_code: expect.stringMatching(/./),
      app_download_url: expect.stringMatching(/./),
      expires_in: 600,
      interval: 2,
    })
    expect(URL.canParse(answer.body.verification_url)).toBe(true)
    expect(URL.canParse(answer.body.verification_url_complete)).toBe(true)
  })

  test('the complete address carries the user code, the plain one does not', async () => {
    verifies('activation:create:verification-url-complete')
    const { answer, userCode } = await startPairing()
    const { verification_url, verification_url_complete } = answer.body
    expect(decodeURIComponent(verification_url_complete)).toContain(userCode)
    expect(decodeURIComponent(verification_url)).not.toContain(userCode)
    expect(verification_url).not.toContain(userCode.replace('-', ''))
  })
})

describe('the codes', () => {
  const count = 100
  let deviceCodes: string[] = []
  let userCodes: string[] = []

  beforeAll(async () => {
    for (let made = 0; made < count; made += 10) {
      const pairings = await Promise.all(Array.from({ length: 10 }, () => startPairing()))
      deviceCodes = [...deviceCodes, ...pairings.map(({ deviceCode }) => deviceCode)]
      userCodes = [...userCodes, ...pairings.map(({ userCode }) => userCode)]
    }
  }, 300_000)

  test('are all different', () => {
    verifies('activation:create:codes-distinct')
    expect(new Set(deviceCodes).size).toBe(count)
    expect(new Set(userCodes).size).toBe(count)
  })

  test('have the shape a person can type', () => {
    verifies('activation:code:length-and-shape')
    for (const code of userCodes) expect(code).toMatch(/^[A-Z2-9]{4}-[A-Z2-9]{4}$/)
  })

  test('hold no symbol that reads like another', () => {
    verifies('activation:code:alphabet')
    for (const code of userCodes) expect(code).toMatch(/^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/)
  })

  test('are evenly drawn', () => {
    verifies('activation:code:crypto-random')
    const symbols = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
    const drawn = userCodes.join('').replaceAll('-', '')
    const counts = [...symbols].map((symbol) => drawn.split(symbol).length - 1)
    const expected = drawn.length / symbols.length
    // 25 of each are expected; a fair draw leaves these bounds less than once in ten million runs.
    expect(Math.min(...counts)).toBeGreaterThan(0)
    expect(Math.max(...counts)).toBeLessThan(expected * 2.4)
    const chiSquare = counts.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
    expect(chiSquare).toBeLessThan(95)
    expect(new Set(userCodes).size).toBe(count)
  })
})

describe('what the approver is shown of the client', () => {
  test('its own label and user agent, and its address', async () => {
    verifies('activation:record:client-facts')
    const person = await newPerson()
    const { client, userCode } = await startPairing({
      'x-client-label': 'Editor of Ada',
      'user-agent': 'ada-editor/1.2 (linux)',
    })
    const { body } = await lookup(person, userCode)
    expect(body).toMatchObject({ client_label: 'Editor of Ada', client_ua: 'ada-editor/1.2 (linux)' })
    expect(isIP(body.client_ip)).toBeGreaterThan(0)
    if (ownAddresses) expect(body.client_ip).toBe(client.address)
  })

  test('without a label one derived from the user agent', async () => {
    verifies('activation:record:label-from-user-agent')
    const person = await newPerson()
    const { userCode } = await startPairing({ 'user-agent': 'ada-editor/1.2 (linux)' })
    expect((await lookup(person, userCode)).body.client_label).toContain('ada-editor')
  })

  test('and some label even where the client says nothing', async () => {
    verifies('activation:record:label-from-user-agent')
    const person = await newPerson()
    const { userCode } = await startPairing()
    expect((await lookup(person, userCode)).body.client_label).toMatch(/\S/)
  })

  test('whether it is on the same network', async () => {
    verifies('activation:lookup:same-network')
    const pairing = await startPairing()
    const { address } = pairing.client
    const neighbour = await newPerson(address ? { address } : {})
    expect((await lookup(neighbour, pairing.userCode)).body.same_network).toBe(true)
    if (ownAddresses) {
      const stranger = await newPerson()
      expect((await lookup(stranger, pairing.userCode)).body.same_network).toBe(false)
    }
  })
})
