import { sign } from 'node:crypto'
import type { PushSettings } from '#platform/push-settings.ts'

const lifetimeSeconds = 12 * 3600

/** By what a push service knows that we are who the browser subscribed to (RFC 8292). Undefined for a key that is gone. */
export function vapidHeader(
  { keys, applicationServerKeys, subject }: PushSettings,
  { version, origin, now }: { version: number; origin: string; now: number },
): string | undefined {
  const key = keys.keys.get(version)
  if (!key) return undefined
  const claims = { aud: origin, exp: Math.floor(now / 1000) + lifetimeSeconds, sub: subject }
  const said = `${part({ typ: 'JWT', alg: 'ES256' })}.${part(claims)}`
  const signature = sign('sha256', Buffer.from(said), { key, dsaEncoding: 'ieee-p1363' })
  return `vapid t=${said}.${signature.toString('base64url')}, k=${applicationServerKeys.get(version)}`
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
