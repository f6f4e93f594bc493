import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Where a request would go, as far as its address alone tells. */
export interface Destination {
  /** Normalised. Whoever dials must use this and never the text it came from, which others read differently. */
  url: URL
  /** Without the brackets of an IPv6 address. */
  host: string
  port: number
  /** Named in FETCH_ALLOW: neither https nor a public address is asked of it. */
  exempt: boolean
}

const longestUrl = 2048
const plainText = /^[!-[\]-~]+$/
/** At least two labels, and no dot at the end: names of one label mean something of our own network. */
const publicName = /^(?:[a-z0-9_-]+\.)+[a-z0-9-]+$/

/** What the text of an address allows to judge; undefined is a refusal. The name is yet to be resolved. */
export function readDestination(text: string, allow: readonly string[]): Destination | undefined {
  if (text.length > longestUrl || !plainText.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  if (url.username !== '' || url.password !== '') return undefined
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const exempt = allow.includes(`${url.hostname}:${port}`)
  if (exempt) return { url, host, port, exempt }
  if (url.protocol !== 'https:' || port !== 443) return undefined
  const good = isIPv4(host) || isIPv6(host) ? isPublicAddress(host) : publicName.test(host)
  return good ? { url, host, port, exempt } : undefined
}

/** Ranges that are special, after the registries of IANA, and addresses by which clouds serve credentials. */
const specialV4 = blockList('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
])
const globalV6 = blockList('ipv6', ['2000::/3'])
/** Inside 2000::/3. Teredo (in 2001::/23) and 6to4 (2002::/16) carry an IPv4 address that could be any. */
const specialV6 = blockList('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

function blockList(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}

/** Only what belongs to the open internet; of IPv6 that leaves out every way to write an IPv4 address in it. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !specialV4.check(address, 'ipv4')
  if (!isIPv6(address) || address.includes('%')) return false
  return globalV6.check(address, 'ipv6') && !specialV6.check(address, 'ipv6')
}

/** `host:port,host:port`, exact; written the way URLs are normalised, so that comparing is enough. */
export function parseFetchAllow(value: string): string[] {
  return value.split(',').flatMap((part) => {
    const entry = part.trim().toLowerCase()
    if (entry === '') return []
    if (!/^(\[[0-9a-f:.]+\]|[a-z0-9._-]+):[1-9]\d{0,4}$/.test(entry) || !URL.canParse(`http://${entry}`)) {
      throw new Error(`"${entry}" is not host:port`)
    }
    return [`${new URL(`http://${entry}`).hostname}${entry.slice(entry.lastIndexOf(':'))}`]
  })
}
