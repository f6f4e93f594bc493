import type { Config } from '#platform/config.ts'
import { hmac, sameSecret } from '#platform/secrets.ts'
import type { RawCall } from '#transports/http/raw-route.ts'

type Parts = Pick<Config, 'publicUrl' | 'signingKeys'>

/** Which interaction's page it was put into, and for whom. */
interface Page {
  readonly uid: string
  readonly userId: string
}

/** Binds a decision to the page that asked for it. */
export function formToken(
  { signingKeys }: Parts,
  { uid, userId }: Page,
  version = signingKeys.current,
): string {
  return hmac(signingKeys, version, `oauth.decision.${uid}.${userId}`).toString('base64url')
}

export function isOwnForm(config: Parts, call: RawCall, form: URLSearchParams, page: Page): boolean {
  if (call.request.headers.origin !== new URL(config.publicUrl).origin) return false
  const given = form.get('csrf') ?? ''
  const versions = [...config.signingKeys.keys.keys()]
  return versions.some((version) => sameSecret(given, formToken(config, page, version)))
}
