export interface RelyingParty {
  /** The domain passkeys are bound to. */
  readonly id: string
  /** The pages that may ask for them. */
  readonly origins: readonly string[]
}

const loopbackAddresses = new Set(['127.0.0.1', '[::1]'])

/** Browsers refuse an address in place of a domain, so on a loopback address the person uses `localhost`. */
export function relyingParty(config: { appUrl: string; publicUrl: string }): RelyingParty {
  const app = nameLoopback(new URL(config.appUrl))
  const api = nameLoopback(new URL(config.publicUrl))
  return { id: app.hostname, origins: [...new Set([app.origin, api.origin])] }
}

function nameLoopback(url: URL): URL {
  if (loopbackAddresses.has(url.hostname)) url.hostname = 'localhost'
  return url
}
