import { createECDH, createPrivateKey } from 'node:crypto'
import { parseFetchAllow } from './address-rules.ts'
import type { Attempt } from './sandbox-settings.ts'
import { type KeyRing, parseKeyRing } from './secrets.ts'
import { readList } from './setting-readers.ts'

/** How browsers are told of what waits for their person. */
export interface PushSettings {
  /** With which we sign in at push services (VAPID); the current one is what browsers subscribe with. */
  readonly keys: KeyRing
  /** What a browser needs to subscribe, by the version of the key. */
  readonly applicationServerKeys: ReadonlyMap<number, string>
  /** Whom a push service can turn to. */
  readonly subject: string
  /** Names of push services; `*.` stands for any name below. */
  readonly hosts: readonly string[]
  /** Exact `host:port` that are taken for push services although they are private or without https. */
  readonly allow: readonly string[]
}

const knownHosts = [
  'fcm.googleapis.com',
  '*.push.services.mozilla.com',
  '*.push.apple.com',
  '*.notify.windows.com',
]

/** Undefined where no keys are set: then no browser is told of anything. */
export function readPush(attempt: Attempt, publicUrl: string): PushSettings | undefined {
  const keys = attempt<KeyRing | null>('VAPID_KEYS', parseP256Ring, null)
  const subject = attempt('VAPID_SUBJECT', readSubject, publicUrl)
  const hosts = attempt('PUSH_HOSTS', readPatterns, knownHosts)
  const allow = attempt('PUSH_ALLOW', parseFetchAllow, [])
  // Malformed ones are complained about already.
  if (!keys) return undefined
  const versions = [...keys.keys].map(([version, key]) => {
    const { x = '', y = '' } = key.export({ format: 'jwk' })
    const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
    return [version, point.toString('base64url')] as const
  })
  return { keys, applicationServerKeys: new Map(versions), subject, hosts, allow }
}

/** Keys of the curve P-256: 32 bytes each. */
function parseP256Ring(text: string): KeyRing {
  return parseKeyRing(text, (bytes) => {
    if (bytes.length !== 32) throw new Error('must be VERSION:BASE64URL pairs of 32 bytes each')
    const pair = createECDH('prime256v1')
    pair.setPrivateKey(bytes)
    const point = pair.getPublicKey()
    const [d, x, y] = [bytes, point.subarray(1, 33), point.subarray(33)].map((part) =>
      part.toString('base64url'),
    )
    return createPrivateKey({ key: { kty: 'EC', crv: 'P-256', d, x, y } as never, format: 'jwk' })
  })
}

function readSubject(value: string): string {
  const protocol = URL.canParse(value) ? new URL(value).protocol : ''
  if (!['mailto:', 'https:'].includes(protocol)) throw new Error('must be mailto: or https:')
  return value
}

function readPatterns(value: string): string[] {
  return readList(value).map((entry) => {
    const pattern = entry.toLowerCase()
    if (!/^(\*\.)?([a-z0-9-]+\.)+[a-z0-9-]+$/.test(pattern)) throw new Error(`"${entry}" is not a host name`)
    return pattern
  })
}
