import { createCipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from 'node:crypto'

/** What a browser gave to be written to: its public point and its secret. */
export interface Recipient {
  readonly p256dh: Buffer
  readonly auth: Buffer
}

const curve = 'prime256v1'
const recordBytes = 4096
/** Messages are filled up to a multiple of it, so that their length tells a push service nothing. */
const evenBytes = 512

/** Encrypts for one browser (RFC 8291, 8188): only it can read the message, not the service that carries it. */
export function sealMessage(text: string, recipient: Recipient): Buffer {
  const pair = createECDH(curve)
  pair.generateKeys()
  const padding = evenBytes - ((Buffer.byteLength(text) + 1) % evenBytes)
  return sealWith({ pair, salt: randomBytes(16), padding }, text, recipient)
}

/** With what is drawn by lot given: the example of the standard is checked by it. */
export function sealWith(
  { pair, salt, padding }: { pair: ECDH; salt: Buffer; padding: number },
  text: string,
  { p256dh, auth }: Recipient,
): Buffer {
  const ownPoint = pair.getPublicKey()
  const shared = pair.computeSecret(p256dh)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, ownPoint])
  const secret = derive(shared, auth, info, 32)
  const key = derive(secret, salt, 'Content-Encoding: aes128gcm\0', 16)
  const nonce = derive(secret, salt, 'Content-Encoding: nonce\0', 12)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  // The one record is the last one, which its delimiter says.
  const record = Buffer.concat([Buffer.from(text), Buffer.of(2), Buffer.alloc(padding)])
  const head = Buffer.alloc(5)
  head.writeUInt32BE(recordBytes)
  head.writeUInt8(ownPoint.length, 4)
  return Buffer.concat([salt, head, ownPoint, cipher.update(record), cipher.final(), cipher.getAuthTag()])
}

/** Whether somebody can be written to: a point that is not on the curve would give our secrets away. */
export function isRecipient({ p256dh, auth }: Recipient): boolean {
  if (p256dh.length !== 65 || p256dh[0] !== 4 || auth.length !== 16) return false
  const pair = createECDH(curve)
  pair.generateKeys()
  try {
    pair.computeSecret(p256dh)
    return true
  } catch {
    return false
  }
}

function derive(secret: Buffer, salt: Buffer, info: string | Buffer, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, bytes))
}
