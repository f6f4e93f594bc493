import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { anthropic } from './anthropic.ts'
import { openai } from './openai.ts'
import { type ModelRequest, need, type Protocol, Refusal, type Reply } from './protocol.ts'
import { replyTo } from './reply.ts'
import { nextStep } from './script.ts'
import type { Failure, Step } from './step.ts'

export interface ModelEndpoint {
  /** The base address of both protocols. */
  url: string
  stats(): EndpointStats
  close(): Promise<void>
}

interface EndpointStats {
  requests: number
  /** Replies whose reader went away before their end. */
  abandoned: number
}

interface Exchange {
  protocol: Protocol
  request: ModelRequest
  step: Step
  reply: Reply
  response: ServerResponse
  /** Aborted when the reader goes away. */
  gone: AbortSignal
}

const protocols: Record<string, Protocol> = { '/v1/messages': anthropic, '/v1/chat/completions': openai }
const bodyLimitBytes = 32 * 1024 * 1024
const rememberedFailures = 10_000

/** A model provider that says what a script tells it to, over the real protocols. */
export async function openModelEndpoint(options: {
  port: number
  instance?: string
}): Promise<ModelEndpoint> {
  const stats: EndpointStats = { requests: 0, abandoned: 0 }
  const failsNow = countFailures()
  const server = createServer((request, response) => {
    if (request.method === 'GET') return answerGet(request, response, { stats, instance: options.instance })
    stats.requests++
    answer(request, response, failsNow, () => stats.abandoned++).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    stats: () => ({ ...stats }),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function answerGet(
  { url }: IncomingMessage,
  response: ServerResponse,
  { stats, instance }: { stats: EndpointStats; instance: string | undefined },
): void {
  if (url === '/healthz') send(response, 200, { status: 'ok', instance })
  else if (url === '/stats') send(response, 200, stats)
  else send(response, 404, { error: { message: 'Not found' } })
}

async function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  failsNow: (key: string, failure: Failure) => boolean,
  onAbandoned: () => void,
): Promise<void> {
  const protocol = protocols[incoming.url ?? '']
  if (!protocol) return send(response, 404, { error: { message: 'Not found' } })
  const gone = new AbortController()
  response.once('close', () => {
    gone.abort()
    if (!response.writableFinished && !response.errored) onAbandoned()
  })
  try {
    protocol.checkHeaders(incoming.headers)
    const body = await readBody(incoming)
    const request = protocol.read(parse(body))
    const step = nextStep(request)
    const reply = replyTo(request, step, body.length)
    const exchange = { protocol, request, step, reply, response, gone: gone.signal }
    if (step.delayMs) await sleep(step.delayMs, undefined, { signal: gone.signal })
    const key = createHash('sha256').update(body).digest('base64')
    if (step.fail && failsNow(key, step.fail)) await fail(exchange, step.fail)
    else await say(exchange)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    send(response, error.status, protocol.errorBody(error.status, error.message))
  }
}

async function say({ protocol, request, reply, step, response, gone }: Exchange): Promise<void> {
  if (!request.stream) return send(response, 200, protocol.whole(request, reply))
  startStream(response)
  const frames = protocol.frames(request, reply)
  if (!step.chunkDelayMs) {
    response.end(frames.join(''))
    return
  }
  for (const frame of frames) {
    response.write(frame)
    await sleep(step.chunkDelayMs, undefined, { signal: gone })
  }
  response.end()
}

async function fail({ protocol, request, reply, response }: Exchange, failure: Failure): Promise<void> {
  const { status, retryAfterSeconds, midStream } = failure
  const error =
    typeof status === 'number' && protocol.errorBody(status, messages[status] ?? 'Failed by script')
  if (typeof status === 'number' && !midStream) {
    const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
    return send(response, status, error, headers)
  }
  const frames = protocol.frames(request, reply)
  const half = frames.slice(0, Math.ceil(frames.length / 2)).join('')
  startStream(response)
  if (error) response.end(`${half}event: error\ndata: ${JSON.stringify(error)}\n\n`)
  else if (status === 'cut') response.end(half)
  // Only when it has left: a socket that is destroyed takes what it still holds along.
  else response.write(half, () => response.destroy(new Error('dropped by script')))
}

const messages: Record<number, string> = {
  429: 'This request would exceed the rate limit',
  500: 'Internal server error',
  529: 'Overloaded',
}

/** Counts equal requests, since nothing in a request tells that it is a repetition. */
function countFailures(): (key: string, failure: Failure) => boolean {
  const failed = new Map<string, number>()
  return (key, { times = 1 }) => {
    const count = failed.get(key) ?? 0
    // Deleted once through, so that the same conversation can be had again.
    failed.delete(key)
    if (count >= times) return false
    failed.set(key, count + 1)
    const [oldest] = failed.keys()
    if (failed.size > rememberedFailures && oldest !== undefined) failed.delete(oldest)
    return true
  }
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bodyLimitBytes) throw new Refusal(413, 'Request exceeds the maximum size')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    need(false, 'The request body is not valid JSON')
  }
}

function startStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
