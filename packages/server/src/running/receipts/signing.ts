import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { canonical } from '#platform/canonical.ts'
import type { KeyRing } from '#platform/secrets.ts'

type PublicKey = {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly kid: string
  readonly alg: 'EdDSA'
  readonly use: 'sig'
}

/** The public half under its thumbprint (RFC 7638), which stays the same when versions are numbered anew. */
function publicHalf(key: KeyObject): PublicKey {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  const named = { crv: 'Ed25519', kty: 'OKP', x } as const
  const kid = createHash('sha256').update(canonical(named)).digest('base64url')
  return { ...named, kid, alg: 'EdDSA', use: 'sig' }
}

export class Signer {
  readonly #key: KeyObject
  readonly #keyId: string
  /** All that receipts may have been signed with. */
  readonly publicKeys: readonly PublicKey[]

  constructor({ current, keys }: KeyRing) {
    const key = keys.get(current)
    if (!key) throw new Error('there is no key to sign receipts with')
    this.#key = key
    this.#keyId = publicHalf(key).kid
    this.publicKeys = [...keys.values()].map(publicHalf)
  }

  sign(text: string): { signature: string; keyId: string } {
    const signature = sign(null, Buffer.from(text), this.#key).toString('base64url')
    return { signature, keyId: this.#keyId }
  }
}
