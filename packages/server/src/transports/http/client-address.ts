import type { IncomingMessage } from 'node:http'
import proxyAddress from '@fastify/proxy-addr'
import type { Config } from '#platform/config.ts'

/** The client's address where the framework, which does the same for its requests, has not seen the request. */
export function addressReader({
  trustedProxies,
}: Pick<Config, 'trustedProxies'>): (request: IncomingMessage) => string {
  const trust = proxyAddress.compile([...trustedProxies])
  // Undefined of a connection that is gone, which gets no answer either.
  return (request) => proxyAddress(request, trust) ?? ''
}
