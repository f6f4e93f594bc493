import { randomInt } from 'node:crypto'
import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { inject, vi } from 'vitest'
import { requireDocumented } from './documented.ts'

export interface Answer<Body = unknown> {
  status: number
  headers: IncomingHttpHeaders
  /** Parsed when the answer is JSON, otherwise the text. */
  body: Body
  text: string
}

export interface SendOptions {
  headers?: Record<string, string>
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is, with no content-type but the one in `headers`. */
  rawBody?: string
  /** Takes a 429 for an answer, also where callers share one address and have to wait for their turn. */
  impatient?: boolean
}

export interface Caller {
  /** Where its requests come from; undefined when all callers share the machine's own address. */
  readonly address: string | undefined
  send<Body>(method: string, path: string, options?: SendOptions): Promise<Answer<Body>>
  get<Body>(path: string, options?: SendOptions): Promise<Answer<Body>>
  post<Body>(path: string, body?: unknown, options?: SendOptions): Promise<Answer<Body>>
  put<Body>(path: string, body?: unknown, options?: SendOptions): Promise<Answer<Body>>
  patch<Body>(path: string, body?: unknown, options?: SendOptions): Promise<Answer<Body>>
  delete<Body>(path: string, options?: SendOptions): Promise<Answer<Body>>
}

const baseUrl = inject('baseUrl')
export const ownAddresses = inject('ownAddresses')
const apiRoot = '/api/v1'
// Callers who share one address wait for each other, up to a whole window at a time.
if (!ownAddresses) vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })
const secure = baseUrl.startsWith('https:')
// A connection per request: with so many source addresses hardly one would be used twice.
const agent = secure ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false })
const addressBlock = `127.${randomInt(1, 255)}.${randomInt(0, 256)}`
let addressCount = 0

/** Every public rate window is per address, so an address of one's own is a window of one's own. */
export function freshAddress(): string | undefined {
  if (!ownAddresses) return undefined
  const host = (addressCount % 254) + 1
  const block = Math.floor(addressCount / 254)
  addressCount += 1
  const [first, second, third] = addressBlock.split('.').map(Number)
  return `${first}.${second}.${((third ?? 0) + block) % 256}.${host}`
}

/** Paths are below /api/v1; `root:` in front of one names it from the root of the service. */
export function newCaller(options: { headers?: Record<string, string>; address?: string } = {}): Caller {
  const address = options.address ?? freshAddress()
  const send = async <Body>(method: string, path: string, given: SendOptions = {}): Promise<Answer<Body>> => {
    const headers = { ...options.headers, ...given.headers }
    for (;;) {
      const answer = await sendOnce<Body>(method, urlOf(path), { ...given, headers }, address)
      requireDocumented(method, urlOf(path), answer)
      const isPublic = !headers['x-api-key'] && !headers['x-auth-token']
      if (ownAddresses || given.impatient || !isPublic || answer.status !== 429) return answer
      await pause(Number(answer.headers['retry-after'] ?? 1) * 1000)
    }
  }
  return {
    address,
    send,
    get: (path, given) => send('GET', path, given),
    post: (path, body, given) => send('POST', path, { ...given, body }),
    put: (path, body, given) => send('PUT', path, { ...given, body }),
    patch: (path, body, given) => send('PATCH', path, { ...given, body }),
    delete: (path, given) => send('DELETE', path, given),
  }
}

function urlOf(path: string): string {
  return path.startsWith('root:') ? baseUrl + path.slice('root:'.length) : baseUrl + apiRoot + path
}

function sendOnce<Body>(
  method: string,
  url: string,
  { headers, body, rawBody }: SendOptions,
  localAddress: string | undefined,
): Promise<Answer<Body>> {
  const payload = rawBody ?? (body === undefined ? undefined : JSON.stringify(body))
  const request = secure ? httpsRequest : httpRequest
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method,
        agent,
        headers: {
          ...type,
          ...(payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) }),
          ...headers,
        },
        ...(localAddress ? { localAddress } : {}),
      },
      (incoming) => {
        let text = ''
        incoming.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        incoming.once('error', reject).once('end', () => {
          const { statusCode: status = 0, headers: answered } = incoming
          resolve({ status, headers: answered, body: parse(answered, text) as Body, text })
        })
      },
    )
    outgoing.once('error', reject).end(payload)
  })
}

function parse(headers: IncomingHttpHeaders, text: string): unknown {
  return headers['content-type']?.startsWith('application/json') ? JSON.parse(text) : text
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
