const loopback = new Set(['127.0.0.1', '[::1]', 'localhost'])

/**
 * Why an address cannot be registered; undefined when it can. Addresses are compared to the byte later, so only the
 * one canonical spelling is taken, and nothing in it may mean more than one place.
 */
export function redirectUriProblem(uri: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(uri) || !URL.canParse(uri)) return 'is not an absolute address'
  if (uri.includes('#')) return 'must not have a fragment'
  if (uri.includes('*')) return 'must not have wildcards'
  const url = new URL(uri)
  if (url.username !== '' || url.password !== '') return 'must not name a user'
  if (url.href !== uri && url.href !== `${uri}/`) return `must be written as ${url.href}`
  // It goes into the policy of the page of consent, where a semicolon begins something else.
  if (!/^(?:[\w.-]*|\[[\da-f:.]+\])$/.test(url.hostname)) return 'must not have such a host'
  // The same host once more, which no comparison of names takes for it: `localhost.` is the own machine as well.
  if (url.hostname.endsWith('.')) return 'must not have a host that ends in a dot'
  return schemeProblem(url)
}

function schemeProblem({ protocol, hostname }: URL): string | undefined {
  const local = loopback.has(hostname)
  if (protocol === 'https:') return local ? 'must be http on the own machine' : undefined
  if (protocol === 'http:')
    return local ? undefined : 'must be https, or http on 127.0.0.1, [::1] or localhost'
  return protocol.includes('.') ? undefined : 'must be https, or a scheme like com.example.app'
}

/** Whether the one is the other on another port of the own machine, where a program takes the port that is free. */
export function isSameButPort(registered: string, asked: string): boolean {
  if (redirectUriProblem(asked) !== undefined) return false
  const [expected, given] = [new URL(registered), new URL(asked)]
  if (!isLocal(registered)) return false
  expected.port = given.port
  return expected.href === given.href
}

/** Whether it leads to the own machine, where any program can listen. */
function isLocal(uri: string): boolean {
  const { protocol, hostname } = new URL(uri)
  return protocol === 'http:' && loopback.has(hostname)
}

/** What a page must allow its form to be sent on to, so that the browser follows the redirect to the app. */
export function formTarget(uri: string): string {
  const { protocol, hostname, origin } = new URL(uri)
  const named = protocol === 'https:' || protocol === 'http:'
  // A policy has no way to write an IPv6 address.
  return named && !hostname.startsWith('[') ? origin : protocol
}

/** Where a person will be sent, in words for that person. */
export function redirectPlace(uri: string): string {
  const { protocol, host } = new URL(uri)
  return protocol === 'https:' || protocol === 'http:' ? host : `an app on this device (${protocol}…)`
}
