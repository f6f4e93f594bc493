/** A secret that is kept while its digest travels. */
export function randomVerifier(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

/** The digest by which a server will know the verifier. */
export async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}

/** As addresses carry bytes; with `forAddresses` false as headers do. */
export function base64url(bytes: Uint8Array, forAddresses = true): string {
  const text = btoa(String.fromCharCode(...bytes))
  return forAddresses ? text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') : text
}
