import type { IncomingHttpHeaders } from 'node:http'

/** One blank stands between two, and nothing else is left out: a browser takes it for a part of another's name. */
export function readCookie({ cookie }: IncomingHttpHeaders, name: string): string | undefined {
  const pairs = (cookie ?? '').split(';').map((pair) => (pair.startsWith(' ') ? pair.slice(1) : pair))
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) || undefined
}
