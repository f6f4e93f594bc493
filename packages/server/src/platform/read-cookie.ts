import type { IncomingHttpHeaders } from 'node:http'

export function readCookie(headers: IncomingHttpHeaders, name: string): string | undefined {
  return (
    pairsOf(headers)
      .find((pair) => pair.startsWith(`${name}=`))
      ?.slice(name.length + 1) || undefined
  )
}

export function cookieNames(headers: IncomingHttpHeaders): string[] {
  return pairsOf(headers).flatMap((pair) => (pair.includes('=') ? pair.slice(0, pair.indexOf('=')) : []))
}

/** One blank stands between two, and nothing else is left out: a browser takes it for a part of another's name. */
function pairsOf({ cookie }: IncomingHttpHeaders): string[] {
  return (cookie ?? '').split(';').map((pair) => (pair.startsWith(' ') ? pair.slice(1) : pair))
}
