import {
  createHash,
  createHmac,
  createPrivateKey,
  createSecretKey,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto'
import { crc32 } from 'node:zlib'
import { randomText } from './ids.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43 // 62^43 > 2^256
const checksumLength = 6 // 62^6 > 2^32

/**
 * Every secret the service hands out starts with a word that says what it is. So a leak scanner finds it, the
 * log sink can redact it wherever it turns up, and junk is refused by its checksum before any lookup.
 */
export const secretPrefixes = {
  apiKey: 'guild_live_',
  session: 'guild_auth_',
  device: 'guild_device_',
  signIn: 'guild_signin_',
  oauthSecret: 'guild_oauth_',
  oauthCode: 'guild_code_',
  oauthAccess: 'guild_access_',
  oauthRefresh: 'guild_refresh_',
} as const

export type SecretKind = keyof typeof secretPrefixes

/** Without a word boundary before it: in a log line an escaped line break may stand right in front. */
export const secretPattern = /guild_(live|auth|device|signin|oauth|code|access|refresh)_[0-9A-Za-z]+/g

/** For text that is kept: that there was a secret, of which kind, and nothing more. */
export function withoutSecrets(text: string): string {
  return text.replace(secretPattern, 'guild_$1_[redacted]')
}

export function mintSecret(kind: SecretKind): string {
  const body = secretPrefixes[kind] + randomText(base62, secretLength)
  return body + checksum(body)
}

export function isWellFormedSecret(kind: SecretKind, text: string): boolean {
  const prefix = secretPrefixes[kind]
  if (text.length !== prefix.length + secretLength + checksumLength || !text.startsWith(prefix)) return false
  const body = text.slice(0, -checksumLength)
  return text.endsWith(checksum(body))
}

function checksum(body: string): string {
  let value = crc32(body)
  let text = ''
  for (let i = 0; i < checksumLength; i++) {
    text = base62[value % 62] + text
    value = Math.floor(value / 62)
  }
  return text
}

/** Enough for secrets of 256 random bits that live in short-lived rows; keys get a pepper on top. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

/** In a time that does not tell how much of it was right. */
export function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(hashSecret(given), hashSecret(expected))
}

/**
 * Versioned secret keys: the first one signs, all of them verify. To rotate while several processes run, deploy
 * the new key behind the old one, then in front of it, then alone.
 */
export interface KeyRing {
  readonly current: number
  readonly keys: ReadonlyMap<number, KeyObject>
}

/** `2:base64url,1:base64url`; the first is the current one. */
export function parseKeyRing(text: string, toKey: (bytes: Buffer) => KeyObject = createSecretKey): KeyRing {
  const keys = new Map<number, KeyObject>()
  for (const part of text.split(',')) {
    const match = /^\s*(\d+):([A-Za-z0-9_-]+)\s*$/.exec(part)
    const bytes = Buffer.from(match?.[2] ?? '', 'base64url')
    if (!match || bytes.length < 32)
      throw new Error('must be VERSION:BASE64URL pairs of at least 32 bytes each')
    // A KeyObject made once costs a tenth of what a raw buffer costs at every HMAC.
    keys.set(Number(match[1]), toKey(bytes))
  }
  const [current = 0] = keys.keys()
  return { current, keys }
}

/** What stands before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410). */
const ed25519Head = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The same, of keys that sign for everybody to check: 32 bytes each. */
export function parseEd25519Ring(text: string): KeyRing {
  return parseKeyRing(text, (bytes) => {
    if (bytes.length !== 32) throw new Error('must be VERSION:BASE64URL pairs of 32 bytes each')
    return createPrivateKey({ key: Buffer.concat([ed25519Head, bytes]), format: 'der', type: 'pkcs8' })
  })
}

export function hmac(ring: KeyRing, version: number, text: string): Buffer {
  const key = ring.keys.get(version)
  if (!key) throw new Error(`No key of version ${version}`)
  return createHmac('sha256', key).update(text).digest()
}

/** A short text that only this deployment can have made: `payload.version.signature`. */
export function seal(ring: KeyRing, purpose: string, payload: unknown): string {
  const body = Buffer.from(JSON.stringify(payload)).toString('base64url')
  return `${body}.${ring.current}.${hmac(ring, ring.current, `${purpose}.${body}`).toString('base64url')}`
}

export function sealVersion(sealed: string): number {
  return Number(sealed.split('.')[1])
}

export function unseal<T>(ring: KeyRing, purpose: string, sealed: string): T | undefined {
  const [body, version, signature, ...more] = sealed.split('.')
  // One spelling only: `01` is not `1`.
  const known = version !== undefined && String(Number(version)) === version && ring.keys.has(Number(version))
  if (!body || !known || !signature || more.length > 0) return undefined
  const expected = Buffer.from(hmac(ring, Number(version), `${purpose}.${body}`).toString('base64url'))
  const given = Buffer.from(signature)
  // Compared as text: base64url has several spellings of one value and only ours may pass.
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as T
}
