import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { KeyRing } from '#platform/secrets.ts'

/** Opens only together with the context it was made with: whose it is and what it is for. */
export interface Sealed {
  version: number
  bytes: Buffer
}

const algorithm = 'aes-256-gcm'
const purpose = 'guildhall provider keys'
const nonceBytes = 12
const tagBytes = 16

export function encrypt(ring: KeyRing, text: string, context: readonly string[]): Sealed {
  const key = keyOf(ring, ring.current)
  if (!key) throw new Error('ENCRYPTION_KEYS holds no key')
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce)
  cipher.setAAD(associatedData(context))
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return { version: ring.current, bytes: Buffer.concat([nonce, cipher.getAuthTag(), encrypted]) }
}

/** Undefined when the key is not in the ring any more, or when anything about it was changed. */
export function decrypt(
  ring: KeyRing,
  { version, bytes }: Sealed,
  context: readonly string[],
): string | undefined {
  const key = keyOf(ring, version)
  if (!key) return undefined
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(associatedData(context))
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
  try {
    const start = decipher.update(bytes.subarray(nonceBytes + tagBytes))
    return Buffer.concat([start, decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

/** The ring takes keys of any length from 32 bytes on; the cipher wants exactly 32, and for this purpose alone. */
function keyOf(ring: KeyRing, version: number): Buffer | undefined {
  const key = ring.keys.get(version)
  return key && Buffer.from(hkdfSync('sha256', key, '', purpose, 32))
}

/** As JSON, so that no two contexts read the same when their parts are put together. */
function associatedData(context: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(context))
}
