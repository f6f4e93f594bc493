import { isIPv6 } from 'node:net'

/** One caller's network: an IPv4 address, or the /64 that an IPv6 customer has to itself. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped?.[1]) return mapped[1]
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? []
  const left = head.split(':').filter(Boolean)
  const right = tail === undefined ? [] : tail.split(':').filter(Boolean)
  const zeros = tail === undefined ? [] : Array(Math.max(0, 8 - left.length - right.length)).fill('0')
  const groups = [...left, ...zeros, ...right].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
