import { generateKeyPairSync } from 'node:crypto'

const base58Digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** The key with which Restate signs its calls to the workers, in the two forms that both sides read. */
export function createRequestIdentity(): { privateKeyPem: string; publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  return {
    privateKeyPem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    publicKey: `publickeyv1_${base58(raw)}`,
  }
}

function base58(bytes: Buffer): string {
  let digits = ''
  for (let rest = BigInt(`0x${bytes.toString('hex')}`); rest > 0n; rest /= 58n) {
    digits = base58Digits.charAt(Number(rest % 58n)) + digits
  }
  const leadingZeros = bytes.findIndex((byte) => byte !== 0)
  return '1'.repeat(leadingZeros) + digits
}
