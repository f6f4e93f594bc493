import { createECDH } from 'node:crypto'
import { expect, test } from 'vitest'
import { isRecipient, sealMessage, sealWith } from './seal.ts'

/** From appendix A of RFC 8291. */
const example = {
  text: 'When I grow up, I want to be a watermelon',
  sender: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
  salt: 'DGv6ra1nlYgDCS1FRnbzlw',
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  sealed:
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
}
const bytes = (text: string) => Buffer.from(text, 'base64url')
const recipient = { p256dh: bytes(example.p256dh), auth: bytes(example.auth) }

test('the example of the standard comes out to the byte', () => {
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(bytes(example.sender))
  const sealed = sealWith({ pair, salt: bytes(example.salt), padding: 0 }, example.text, recipient)
  expect(sealed.toString('base64url')).toBe(example.sealed)
})

test('a short and a longer message have the same length, and no two are alike', () => {
  const [one, other, long] = [
    sealMessage('a', recipient),
    sealMessage('a', recipient),
    sealMessage('b'.repeat(400), recipient),
  ]
  expect(one.equals(other)).toBe(false)
  expect(one.length).toBe(long.length)
})

test('who cannot be written to: a point off the curve, one of another form, a secret of another length', () => {
  const off = Buffer.from(recipient.p256dh)
  off[64] = (off[64] ?? 0) ^ 1
  expect(isRecipient(recipient)).toBe(true)
  expect(isRecipient({ ...recipient, p256dh: off })).toBe(false)
  expect(isRecipient({ ...recipient, p256dh: Buffer.alloc(65, 4) })).toBe(false)
  expect(isRecipient({ ...recipient, p256dh: recipient.p256dh.subarray(1) })).toBe(false)
  expect(isRecipient({ ...recipient, auth: recipient.auth.subarray(1) })).toBe(false)
})
