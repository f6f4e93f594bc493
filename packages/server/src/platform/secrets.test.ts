import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseKeyRing, seal, sealVersion, unseal } from './secrets.ts'

const [old, fresh] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')]

test('what one key sealed is opened by every ring that still has the key, and by no other', () => {
  const ticket = { redirect: 'x' }
  const sealed = seal(parseKeyRing(`1:${old}`), 'use', ticket)
  expect(sealVersion(sealed)).toBe(1)
  expect(unseal(parseKeyRing(`2:${fresh},1:${old}`), 'use', sealed)).toEqual(ticket)
  expect(unseal(parseKeyRing(`2:${fresh}`), 'use', sealed)).toBeUndefined()
  expect(unseal(parseKeyRing(`1:${fresh}`), 'use', sealed)).toBeUndefined()
  expect(unseal(parseKeyRing(`1:${old}`), 'other use', sealed)).toBeUndefined()
})

test('no byte of a seal can be changed', () => {
  const ring = parseKeyRing(`1:${old}`)
  const sealed = seal(ring, 'use', { a: 1 })
  for (let i = 0; i < sealed.length; i++) {
    for (const other of ['A', 'B', '.', '=', '']) {
      const altered = sealed.slice(0, i) + other + sealed.slice(i + 1)
      if (altered !== sealed) expect(unseal(ring, 'use', altered)).toBeUndefined()
    }
  }
})

test.each(['', '1:short', 'x:AAAA', `1=${'A'.repeat(43)}`])('a ring like "%s" is refused', (text) => {
  expect(() => parseKeyRing(text)).toThrow()
})
