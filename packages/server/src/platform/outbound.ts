import { lookup, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, isIPv6, type LookupFunction } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import { type Destination, isPublicAddress, readDestination } from './address-rules.ts'

/** How this process reaches addresses that a caller named. Proxies of the environment play no part in it. */
export interface Outbound {
  /** From FETCH_ALLOW: exact `host:port`. */
  readonly allow: readonly string[]
  /** The authority that certificates of those are checked against. */
  readonly allowCaFile: string | undefined
  /** How long one fetch may take, all its requests together. */
  readonly timeoutMs: number
  /** Of that, how long a server may say nothing at all when something is got from it. */
  readonly answerWithinMs: number
  /** `exempt`: a name that the operator allowed, which may be one of this machine alone. */
  readonly resolve: (host: string, exempt: boolean, signal: AbortSignal) => Promise<readonly string[]>
}

export function openOutbound(allow: readonly string[], allowCaFile: string | undefined): Outbound {
  return { allow, allowCaFile, timeoutMs: 30_000, answerWithinMs: 4000, resolve }
}

const resolve: Outbound['resolve'] = async (host, exempt, signal) => {
  if (isIP(host) !== 0) return [host]
  if (exempt) return (await lookup(host, { all: true })).map(({ address }) => address)
  return resolveStranger(host, signal)
}

/**
 * Not by the system's own lookup: two of those at once are all that a process can have, none can be given up, and a
 * name server of a stranger's may never answer. Everything else that has a name would wait behind them.
 */
export async function resolveStranger(
  host: string,
  signal: AbortSignal,
  servers?: readonly string[],
): Promise<string[]> {
  const resolver = new Resolver({ timeout: 2000, tries: 2 })
  if (servers) resolver.setServers(servers)
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = [four, six].flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    if (found.length === 0 && four.status === 'rejected') throw four.reason
    return found
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/**
 * `refused`: not an address that we fetch from, for whatever reason; the reason would map our network for whoever
 * asks. `unreachable`: it may work later. `too-large`: more came than was asked for.
 */
export class OutboundError extends Error {
  readonly kind: 'refused' | 'unreachable' | 'too-large'

  constructor(kind: OutboundError['kind'], cause?: unknown) {
    super(`The fetch failed: ${kind}`, { cause })
    this.kind = kind
  }
}

export interface CheckedDestination extends Destination {
  /** All were checked. Only these are dialled: a second look at the name could give others. */
  addresses: readonly string[]
}

/** Judges an address by its text and by everything its name stands for right now. */
export async function checkDestination(
  outbound: Outbound,
  text: string,
  signal: AbortSignal,
): Promise<CheckedDestination> {
  const destination = readDestination(text, outbound.allow)
  if (!destination) throw new OutboundError('refused')
  const addresses = await Promise.race([
    outbound.resolve(destination.host, destination.exempt, signal),
    aborted(signal),
  ]).catch((error) => {
    // That a name is unknown is told like a refusal, or else the difference lists the names of our own network.
    throw new OutboundError(['ENOTFOUND', 'ENODATA'].includes(error?.code) ? 'refused' : 'unreachable', error)
  })
  if (addresses.length === 0) throw new OutboundError('refused')
  if (!destination.exempt && !addresses.every(isPublicAddress)) throw new OutboundError('refused')
  return { ...destination, addresses }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

export interface FetchedBody {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

const mostRedirects = 3

/** A GET that follows few redirects, each judged like the first address, and reads a body of bounded size. */
export async function getBounded(
  outbound: Outbound,
  address: string,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<FetchedBody> {
  let target = address
  for (let hop = 0; hop <= mostRedirects; hop++) {
    const destination = await checkDestination(outbound, target, signal)
    const silence = new AbortController()
    const late = setTimeout(() => silence.abort(), outbound.answerWithinMs)
    const asked = { method: 'GET', headers: {}, signal: AbortSignal.any([signal, silence.signal]) }
    const response = await dial(outbound, destination, asked).finally(() => clearTimeout(late))
    const { statusCode: status = 0, headers } = response
    if (status < 300 || status > 399) return { status, headers, body: await readBody(response, maxBytes) }
    response.destroy()
    const next = headers.location
    if (!next || !URL.canParse(next, destination.url.href)) throw new OutboundError('refused')
    target = new URL(next, destination.url).href
  }
  throw new OutboundError('refused')
}

export interface OutboundRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly signal: AbortSignal
}

/** One request to an address that was judged, and an answer of bounded size. A redirect is an answer like any other. */
export async function requestBounded(
  outbound: Outbound,
  destination: CheckedDestination,
  request: OutboundRequest & { maxBytes: number },
): Promise<FetchedBody> {
  const response = await dial(outbound, destination, request)
  const { statusCode: status = 0, headers } = response
  return { status, headers, body: await readBody(response, request.maxBytes) }
}

async function dial(
  outbound: Outbound,
  { url, addresses, exempt }: CheckedDestination,
  { method, headers, body, signal }: OutboundRequest,
): Promise<IncomingMessage> {
  const known = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  const pinned: LookupFunction = (_host, options, done) => {
    if (options.all) done(null, known)
    else done(null, known[0]?.address ?? '', known[0]?.family)
  }
  const ca = exempt && outbound.allowCaFile ? await readFile(outbound.allowCaFile) : undefined
  const options = {
    ...urlToHttpOptions(url),
    method,
    agent: false,
    lookup: pinned,
    signal,
    headers: { accept: '*/*', 'user-agent': 'guildhall', ...headers, 'accept-encoding': 'identity' },
    ...(ca ? { ca } : {}),
  }
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps(options) : requestHttp(options)
    request.on('response', resolve)
    request.on('error', (error) => reject(new OutboundError('unreachable', error)))
    request.end(body)
  })
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response) {
      size += (chunk as Buffer).length
      if (size > maxBytes) throw new OutboundError('too-large')
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    throw error instanceof OutboundError ? error : new OutboundError('unreachable', error)
  }
  return Buffer.concat(chunks)
}
