import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Config } from '#platform/config.ts'
import { readCookie } from '#platform/read-cookie.ts'
import { hmac, sameSecret } from '#platform/secrets.ts'
import { interactionSeconds } from './provider.ts'

type Keys = Pick<Config, 'publicUrl' | 'signingKeys'>

/**
 * What the browser has in which a person signed in for an interaction, and no other one. The interaction's own cookies do
 * not say that: they have a path, so a sibling of this host can set them in somebody's browser, and who began the
 * interaction would go on as whoever signed in to it. Over https the name is one that only this host can set.
 */
export function setMark(keys: Keys, response: ServerResponse, uid: string, userId: string): void {
  const secure = isSecure(keys) ? '; Secure' : ''
  const value = markOf(keys, keys.signingKeys.current, uid, userId)
  response.setHeader(
    'set-cookie',
    `${nameOf(keys, uid)}=${value}; Path=/; Max-Age=${interactionSeconds}; HttpOnly; SameSite=Lax${secure}`,
  )
}

export function hasMark(keys: Keys, { headers }: IncomingMessage, uid: string, userId: string): boolean {
  const given = readCookie(headers, nameOf(keys, uid))
  if (given === undefined) return false
  const versions = [...keys.signingKeys.keys.keys()]
  return versions.some((version) => sameSecret(given, markOf(keys, version, uid, userId)))
}

const isSecure = ({ publicUrl }: Keys) => publicUrl.startsWith('https:')

/** By the interaction, or two in one browser would end each other. */
const nameOf = (keys: Keys, uid: string) => `${isSecure(keys) ? '__Host-' : ''}guild_consent_${uid}`

function markOf({ signingKeys }: Keys, version: number, uid: string, userId: string): string {
  return hmac(signingKeys, version, `oauth.browser.${uid}.${userId}`).toString('base64url')
}
