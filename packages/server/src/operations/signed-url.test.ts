import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseKeyRing, seal } from '#platform/secrets.ts'
import { signTicket, verifyTicket } from './signed-url.ts'

const key = (version: number) => `${version}:${randomBytes(32).toString('base64url')}`
const [first, second] = [key(1), key(2)]
const ring = parseKeyRing(first)
const bearer = { kind: 'key', credentialId: 12, userId: 'u', workspaceId: 'w' } as const
const now = Date.UTC(2026, 0, 1)
const token = signTicket(ring, 'door', bearer, { lifetimeMs: 300_000, now })

test('says whom it speaks for, from when to when, and has an id of its own', () => {
  const ticket = verifyTicket(ring, 'door', token, now)
  expect(ticket).toMatchObject({ ...bearer, audience: 'door', issuedAt: now, expiresAt: now + 300_000 })
  const other = verifyTicket(ring, 'door', signTicket(ring, 'door', bearer, { lifetimeMs: 1, now }), now)
  expect(other?.id).not.toBe(ticket?.id)
})

test('is good at 299 s and not at 300 s or 301 s', () => {
  expect(verifyTicket(ring, 'door', token, now + 299_000)).toBeDefined()
  expect(verifyTicket(ring, 'door', token, now + 300_000)).toBeUndefined()
  expect(verifyTicket(ring, 'door', token, now + 301_000)).toBeUndefined()
})

test('opens no other door, whatever it says inside', () => {
  expect(verifyTicket(ring, 'window', token, now)).toBeUndefined()
  const ticket = verifyTicket(ring, 'door', token, now)
  expect(verifyTicket(ring, 'window', seal(ring, 'window', ticket), now)).toBeUndefined()
})

test('is refused with any bit of it changed, cut, or spelled otherwise', () => {
  for (let index = 0; index < token.length; index++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = String.fromCharCode(token.charCodeAt(index) ^ (1 << bit))
      const forged = token.slice(0, index) + changed + token.slice(index + 1)
      expect(verifyTicket(ring, 'door', forged, now), `${index}.${bit}`).toBeUndefined()
    }
    expect(verifyTicket(ring, 'door', token.slice(0, index), now)).toBeUndefined()
  }
  const [body, version, signature] = token.split('.')
  for (const other of [
    `${token}.x`,
    `${token}=`,
    ` ${token}`,
    `${body}.01.${signature}`,
    `${body}.1e0.${signature}`,
  ]) {
    expect(verifyTicket(ring, 'door', other, now)).toBeUndefined()
  }
  expect(version).toBe('1')
})

test('survives a rotation of keys and not the removal of its own', () => {
  expect(verifyTicket(parseKeyRing(`${second},${first}`), 'door', token, now)).toBeDefined()
  expect(verifyTicket(parseKeyRing(second), 'door', token, now)).toBeUndefined()
})
