import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { CookieChange, Cookies } from '#operations/answer.ts'
import { cookieNames, readCookie } from '#platform/read-cookie.ts'

/**
 * Names that a browser takes only over https (or from localhost), for the whole of this host and from nobody else. The
 * session goes along with what begins on a page of this site and with nothing else; the other must survive the way back
 * from the identity provider.
 */
const kinds = {
  session: { name: '__Host-guild', sameSite: 'Strict' },
  signIn: { name: '__Host-guild_signin', sameSite: 'Lax' },
} as const satisfies Record<CookieChange['cookie'], object>

export function readCookies(headers: IncomingHttpHeaders): Cookies {
  return {
    session: readCookie(headers, kinds.session.name),
    signIn: readCookie(headers, kinds.signIn.name),
    isForeign: headers['sec-fetch-site'] === 'cross-site',
  }
}

/** A browser whose session ends forgets also what pages kept in it, and by whichever other cookie it was known as a person's. */
export function setCookies(reply: FastifyReply, changes: readonly CookieChange[]): void {
  for (const { cookie, value, seconds } of changes) {
    const { name, sameSite } = kinds[cookie]
    setCookie(reply, name, value, seconds, sameSite)
    if (cookie !== 'session' || seconds > 0) continue
    reply.header('clear-site-data', '"cache", "storage"')
    for (const other of ownNames(reply.request.headers)) {
      if (other !== name) setCookie(reply, other, '', 0, sameSite)
    }
  }
}

function setCookie(
  reply: FastifyReply,
  name: string,
  value: string,
  seconds: number,
  sameSite: string,
): void {
  const line = `${name}=${value}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=${sameSite}`
  reply.header('set-cookie', line)
}

/** All cookies of ours that are for every path begin alike, the consent page's as well. */
function ownNames(headers: IncomingHttpHeaders): Set<string> {
  const names = cookieNames(headers)
  return new Set(names.filter((name) => name.startsWith('__Host-guild') || name.startsWith('guild_')))
}

/**
 * The session's token of a request that only a page of the app itself can have made. SameSite alone does not say so: a
 * page on another port of this host, or on a sibling of it, is of the same site. What changes something must also bear
 * our origin and a header that no form and no foreign page can send without asking first, which is never allowed.
 */
export function tokenOfPage(
  appOrigin: string | undefined,
  method: string,
  headers: IncomingHttpHeaders,
): string | undefined {
  const { origin } = headers
  if (appOrigin === undefined || headers['sec-fetch-site'] !== 'same-origin') return undefined
  if (origin !== undefined && origin !== appOrigin) return undefined
  const reads = method === 'GET' || method === 'HEAD'
  if (!reads && (origin === undefined || headers['x-guild-app'] !== '1')) return undefined
  return readCookies(headers).session
}
