import { createPublicKey, randomBytes, verify, webcrypto } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a push service does with a message: takes it with 201, unless told otherwise. */
interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly afterMs?: number
  /** Breaks the connection off without an answer. */
  readonly cut?: boolean
}

interface Delivered {
  readonly at: number
  readonly ttl: number
  readonly topic: string | undefined
  readonly urgency: string | undefined
  readonly bytes: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages whose shape they assert
  readonly message: any
}

export interface Browser {
  readonly id: string
  /** As PushSubscription.toJSON gives it. */
  readonly subscription: { endpoint: string; keys: { p256dh: string; auth: string } }
  /** What its service has taken for it, opened with its own keys. */
  readonly received: Delivered[]
  /** Every message that came to the service for it, taken or not. */
  tries: number
}

export interface PushService {
  readonly host: string
  readonly url: string
  /** What a service of that kind would refuse, in words. */
  readonly violations: string[]
  newBrowser(): Promise<Browser>
  /** What happens to messages from now on. */
  reply(decide: (browser: Browser, attempt: number) => Reply): void
  close(): Promise<void>
}

const { subtle } = webcrypto
const p256 = { name: 'ECDH', namedCurve: 'P-256' }

/**
 * A push service as RFC 8030 describes it, with browsers behind it: takes messages for the endpoints it has given out,
 * only from who signs as RFC 8292 says, and opens them as browsers do (RFC 8291). The way back is written against the
 * platform's other cryptography, so that the same mistake is not made twice.
 */
export async function openPushService(applicationServerKey: () => string, atPort = 0): Promise<PushService> {
  const browsers = new Map<string, { browser: Browser; open: (body: Buffer) => Promise<string> }>()
  const violations: string[] = []
  let decide: (browser: Browser, attempt: number) => Reply = () => ({})
  const server = createServer(async (request, response) => {
    const body = await readAll(request)
    const known = browsers.get(request.url?.slice('/push/'.length) ?? '')
    if (!known) return void response.writeHead(404).end()
    const { browser, open } = known
    const { status = 201, headers = {}, afterMs = 0, cut } = decide(browser, ++browser.tries)
    try {
      checkHeaders(request, service.url, applicationServerKey())
      const text = await open(body)
      const { ttl, topic, urgency } = request.headers as Record<string, string | undefined>
      if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs))
      const taken = { at: Date.now(), ttl: Number(ttl), topic, urgency, bytes: body.length, text }
      if (status < 300) browser.received.push({ ...taken, message: JSON.parse(text) })
    } catch (error) {
      violations.push(String(error))
      return void response.writeHead(400).end()
    }
    if (cut) return void request.socket.destroy()
    response.writeHead(status, headers).end()
  })
  await new Promise<void>((resolve) => server.listen(atPort, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const service: PushService = {
    host: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}`,
    violations,
    newBrowser: async () => {
      const id = randomBytes(12).toString('hex')
      const pair = await subtle.generateKey(p256, false, ['deriveBits'])
      const point = Buffer.from(await subtle.exportKey('raw', pair.publicKey))
      const auth = randomBytes(16)
      const keys = { p256dh: point.toString('base64url'), auth: auth.toString('base64url') }
      const subscription = { endpoint: `${service.url}/push/${id}`, keys }
      const browser: Browser = { id, subscription, received: [], tries: 0 }
      browsers.set(id, { browser, open: (body) => openMessage(body, pair.privateKey, point, auth) })
      return browser
    },
    reply: (next) => {
      decide = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return service
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function checkHeaders({ method, headers }: IncomingMessage, origin: string, key: string): void {
  const must = (isSo: boolean, what: string) => {
    if (!isSo) throw new Error(what)
  }
  must(method === 'POST', 'a message is sent by POST')
  must(/^\d+$/.test(String(headers['ttl'])), 'a message says how long it is of use')
  must(headers['content-encoding'] === 'aes128gcm', 'a message is encrypted')
  must(/^[\w-]{1,32}$/.test(String(headers['topic'])), 'a topic has at most 32 characters of base64url')
  const [, token = '', k = ''] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(headers.authorization ?? '') ?? []
  must(k === key, 'a subscription takes messages by the key that it was made with')
  const [head = '', claims = '', signature = ''] = token.split('.')
  const point = Buffer.from(k, 'base64url')
  const jwk = { kty: 'EC', crv: 'P-256', x: url(point.subarray(1, 33)), y: url(point.subarray(33)) }
  const signer = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' as const }
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    signer,
    Buffer.from(signature, 'base64url'),
  )
  must(isSigned, 'the token is signed by that key')
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const left = exp - Date.now() / 1000
  must(aud === origin, 'the token is for this service')
  must(left > 0 && left <= 24 * 3600, 'the token lives a day at most')
  must(/^(mailto|https?):/.test(sub), 'the token says whom to turn to')
}

const url = (bytes: Buffer) => bytes.toString('base64url')

async function openMessage(
  body: Buffer,
  own: webcrypto.CryptoKey,
  point: Buffer,
  auth: Buffer,
): Promise<string> {
  const salt = body.subarray(0, 16)
  const size = body.readUInt32BE(16)
  const idLength = body.readUInt8(20)
  const theirs = body.subarray(21, 21 + idLength)
  const record = body.subarray(21 + idLength)
  if (record.length > size) throw new Error('a message is one record')
  const their = await subtle.importKey('raw', theirs, p256, false, [])
  const shared = await subtle.deriveBits({ name: 'ECDH', public: their }, own, 256)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), point, theirs])
  const secret = await expand(shared, auth, info, 32)
  const bytes = await expand(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = await expand(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  const key = await subtle.importKey('raw', bytes, 'AES-GCM', false, ['decrypt'])
  const plain = Buffer.from(await subtle.decrypt({ name: 'AES-GCM', iv: nonce }, key, record))
  const end = plain.lastIndexOf(2)
  if (end < 0 || plain.subarray(end + 1).some((byte) => byte !== 0)) throw new Error('the padding is none')
  return plain.subarray(0, end).toString()
}

async function expand(secret: ArrayBuffer, salt: Buffer, info: Buffer, bytes: number): Promise<ArrayBuffer> {
  const key = await subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits'])
  return subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt, info }, key, bytes * 8)
}
