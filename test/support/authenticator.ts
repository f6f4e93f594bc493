import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/browser'

/** What an authenticator or its browser does otherwise than a right one. */
export interface Knobs {
  /** False: the person was there, but nobody checked that it was them. */
  userVerified?: boolean
  origin?: string
  rpId?: string
  /** Instead of the next one; authenticators that keep none say 0. */
  counter?: number
  tampered?: boolean
}

export interface Authenticator {
  register(options: PublicKeyCredentialCreationOptionsJSON, knobs?: Knobs): RegistrationResponseJSON
  assert(options: PublicKeyCredentialRequestOptionsJSON, knobs?: Knobs): AuthenticationResponseJSON
}

const flags = { userPresent: 0x01, userVerified: 0x04, attestedCredential: 0x40 }

/** A passkey in software: real keys and signatures, in the browser's JSON, without a browser. */
export function createAuthenticator({ origin }: { origin: string }): Authenticator {
  const held = new Map<string, { privateKey: KeyObject; userHandle: string; counter: number }>()

  const authenticatorData = (rpId: string, counter: number, knobs: Knobs, attested?: Buffer): Buffer => {
    const head = Buffer.alloc(37)
    sha256(knobs.rpId ?? rpId).copy(head)
    head[32] =
      flags.userPresent |
      (knobs.userVerified === false ? 0 : flags.userVerified) |
      (attested ? flags.attestedCredential : 0)
    head.writeUInt32BE(counter, 33)
    return attested ? Buffer.concat([head, attested]) : head
  }
  const clientData = (type: string, challenge: string, knobs: Knobs): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin: knobs.origin ?? origin, crossOrigin: false }))

  return {
    register(options, knobs = {}) {
      if (options.excludeCredentials?.some(({ id }) => held.has(id))) throw new Error('InvalidStateError')
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
      const id = randomBytes(32)
      held.set(id.toString('base64url'), { privateKey, userHandle: options.user.id, counter: 0 })
      const idLength = Buffer.alloc(2)
      idLength.writeUInt16BE(id.length)
      const cose = new Map<number, number | Buffer>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ])
      const attested = Buffer.concat([Buffer.alloc(16), idLength, id, cbor(cose)])
      const authData = authenticatorData(options.rp.id ?? '', knobs.counter ?? 0, knobs, attested)
      if (knobs.tampered) authData[0] = (authData[0] ?? 0) ^ 1
      const attestation = new Map<string, Cbor>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ])
      return {
        id: id.toString('base64url'),
        rawId: id.toString('base64url'),
        type: 'public-key',
        response: {
          clientDataJSON: clientData('webauthn.create', options.challenge, knobs).toString('base64url'),
          attestationObject: cbor(attestation).toString('base64url'),
          transports: ['internal'],
        },
        clientExtensionResults: {},
      }
    },

    assert(options, knobs = {}) {
      const id = options.allowCredentials?.map((allowed) => allowed.id).find((allowed) => held.has(allowed))
      const credential = id === undefined ? undefined : held.get(id)
      if (id === undefined || !credential) throw new Error('NotAllowedError')
      credential.counter = knobs.counter ?? credential.counter + 1
      const authData = authenticatorData(options.rpId ?? '', credential.counter, knobs)
      const client = clientData('webauthn.get', options.challenge, knobs)
      const signature = sign('sha256', Buffer.concat([authData, sha256(client)]), credential.privateKey)
      if (knobs.tampered) signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1
      return {
        id,
        rawId: id,
        type: 'public-key',
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: authData.toString('base64url'),
          signature: signature.toString('base64url'),
          userHandle: credential.userHandle,
        },
        clientExtensionResults: {},
      }
    },
  }
}

type Cbor = number | string | Buffer | Map<string | number, Cbor>

function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([cborHead(2, value.length), value])
  return Buffer.concat([cborHead(5, value.size), ...[...value].flat().map(cbor)])
}

function cborHead(type: number, size: number): Buffer {
  const major = type << 5
  if (size < 24) return Buffer.from([major | size])
  if (size < 256) return Buffer.from([major | 24, size])
  return Buffer.from([major | 25, size >> 8, size & 255])
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}
