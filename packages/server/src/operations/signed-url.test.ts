import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseKeyRing, seal } from '../platform/secrets.ts'
import { signNote, verifyNote } from './signed-url.ts'

const key = (version: number) => `${version}:${randomBytes(32).toString('base64url')}`
const [first, second] = [key(1), key(2)]
const ring = parseKeyRing(first)
const bearer = { kind: 'key', credentialId: 12, userId: 'u', workspaceId: 'w' } as const
const now = Date.UTC(2026, 0, 1)
const token = signNote(ring, 'door', bearer, { lifetimeMs: 300_000, now })

test('says whom it speaks for, from when to when, and has an id of its own', () => {
  const note = verifyNote(ring, 'door', token, now)
  expect(note).toMatchObject({ ...bearer, audience: 'door', issuedAt: now, expiresAt: now + 300_000 })
  const other = verifyNote(ring, 'door', signNote(ring, 'door', bearer, { lifetimeMs: 1, now }), now)
  expect(other?.id).not.toBe(note?.id)
})

test('is good at 299 s and not at 300 s or 301 s', () => {
  expect(verifyNote(ring, 'door', token, now + 299_000)).toBeDefined()
  expect(verifyNote(ring, 'door', token, now + 300_000)).toBeUndefined()
  expect(verifyNote(ring, 'door', token, now + 301_000)).toBeUndefined()
})

test('opens no other door, whatever it says inside', () => {
  expect(verifyNote(ring, 'window', token, now)).toBeUndefined()
  const note = verifyNote(ring, 'door', token, now)
  expect(verifyNote(ring, 'window', seal(ring, 'window', note), now)).toBeUndefined()
})

test('is refused with any bit of it changed, cut, or spelled otherwise', () => {
  for (let index = 0; index < token.length; index++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = String.fromCharCode(token.charCodeAt(index) ^ (1 << bit))
      const forged = token.slice(0, index) + changed + token.slice(index + 1)
      expect(verifyNote(ring, 'door', forged, now), `${index}.${bit}`).toBeUndefined()
    }
    expect(verifyNote(ring, 'door', token.slice(0, index), now)).toBeUndefined()
  }
  const [body, version, signature] = token.split('.')
  for (const other of [
    `${token}.x`,
    `${token}=`,
    ` ${token}`,
    `${body}.01.${signature}`,
    `${body}.1e0.${signature}`,
  ]) {
    expect(verifyNote(ring, 'door', other, now)).toBeUndefined()
  }
  expect(version).toBe('1')
})

test('survives a rotation of keys and not the removal of its own', () => {
  expect(verifyNote(parseKeyRing(`${second},${first}`), 'door', token, now)).toBeDefined()
  expect(verifyNote(parseKeyRing(second), 'door', token, now)).toBeUndefined()
})
