import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIPv4 } from 'node:net'
import type { Config } from '#platform/config.ts'
import { RpcError } from './message.ts'

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']
const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)

/**
 * A page in a browser says where it comes from, and only pages that this deployment knows may call. A foreign page whose
 * name was made to point at this machine is told by the name that it calls, where the process listens to this machine
 * alone; behind a balancer the name may be anything.
 */
export function placeRefusal(config: Config, headers: IncomingHttpHeaders): RpcError | undefined {
  const { origin, host = '' } = headers
  if (origin !== undefined && !allowedOrigins(config).includes(origin))
    return new RpcError(
      'invalidRequest',
      'This origin may not call; its operator can list it in CORS_ORIGINS',
    )
  const isLocal =
    config.host === 'localhost' ||
    config.host === '::1' ||
    (isIPv4(config.host) && loopback.check(config.host))
  if (isLocal && !isOwnName(config, host))
    return new RpcError('invalidRequest', 'This host name is not one of this service')
  return undefined
}

function allowedOrigins({ publicUrl, appUrl, corsOrigins }: Config): string[] {
  return [new URL(publicUrl).origin, new URL(appUrl).origin, ...corsOrigins]
}

function isOwnName({ publicUrl }: Config, host: string): boolean {
  const name = host.replace(/:\d+$/, '')
  return loopbackNames.includes(name) || host === new URL(publicUrl).host
}
