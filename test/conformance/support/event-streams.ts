import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { request as requestSecurely } from 'node:https'
import { requireDocumentedEvent } from '../../support/documented-shapes.ts'
import { newVisitor } from './actors.ts'
import { pause } from './client.ts'

export interface StreamFrame {
  id: string | undefined
  data: string
}

export interface OpenStream {
  status: number
  headers: IncomingHttpHeaders
  /** What has come so far; comments are not in here. */
  readonly frames: readonly StreamFrame[]
  /** When each comment came, in milliseconds. */
  readonly comments: readonly { text: string; at: number }[]
  /** Resolves when the server has closed the stream, or when it was cut off here. */
  readonly ended: Promise<void>
  /** The first frame, come or still to come, that is like this. */
  next(isIt: (frame: StreamFrame) => boolean): Promise<StreamFrame>
  close(): void
}

/**
 * Opens an address of server-sent events with no credential but what the address itself and the headers say; by POST if
 * there is a body.
 */
export async function openStream(
  url: string,
  headers: Record<string, string> = {},
  body?: unknown,
): Promise<OpenStream> {
  for (;;) {
    const incoming = await open(url, headers, body)
    if (incoming.statusCode !== 429) return follow(incoming, url)
    // Only where all callers share one address and wait for each other.
    incoming.destroy()
    await pause(Number(incoming.headers['retry-after'] ?? 1) * 1000)
  }
}

function open(url: string, headers: Record<string, string>, body: unknown): Promise<IncomingMessage> {
  const { address } = newVisitor()
  const send = url.startsWith('https:') ? requestSecurely : request
  const options = {
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    method: body === undefined ? 'GET' : 'POST',
    agent: false as const,
    ...(address ? { localAddress: address } : {}),
  }
  return new Promise((resolve, reject) => {
    send(url, options, resolve)
      .once('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body))
  })
}

function unionOf(url: string): 'RunStreamEvent' | 'ThreadStreamEvent' | 'ExecutionStreamEvent' {
  if (url.includes('/workflows/runs/')) return 'RunStreamEvent'
  return url.includes('/executions/') ? 'ExecutionStreamEvent' : 'ThreadStreamEvent'
}

function follow(incoming: IncomingMessage, url: string): OpenStream {
  const union = unionOf(url)
  const frames: StreamFrame[] = []
  const comments: { text: string; at: number }[] = []
  const waiting = new Set<() => void>()
  let isOver = false
  let text = ''
  const tell = () => {
    for (const look of waiting) look()
  }
  incoming.setEncoding('utf8').on('data', (part: string) => {
    text += part
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    const come = blocks.flatMap(parseFrame)
    const said = blocks.filter((block) => block.startsWith(': '))
    comments.push(...said.map((comment) => ({ text: comment.slice(2), at: performance.now() })))
    for (const { data } of come) requireDocumentedEvent(union, JSON.parse(data))
    frames.push(...come)
    tell()
  })
  incoming.on('error', () => {})
  const ended = new Promise<void>((resolve) => {
    incoming.once('close', () => {
      isOver = true
      tell()
      resolve()
    })
  })
  const next: OpenStream['next'] = (isIt) =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = frames.find(isIt)
        if (!found && !isOver) return
        waiting.delete(look)
        if (found) resolve(found)
        else reject(new Error('the stream ended without such a frame'))
      }
      waiting.add(look)
      look()
    })
  const { statusCode: status = 0, headers } = incoming
  return { status, headers, frames, comments, ended, next, close: () => incoming.destroy() }
}

function parseFrame(block: string): StreamFrame[] {
  const field = (name: string) =>
    block
      .split('\n')
      .filter((line) => line.startsWith(`${name}: `))
      .map((line) => line.slice(name.length + 2))
  const data = field('data')
  return data.length === 0 ? [] : [{ id: field('id')[0], data: data.join('\n') }]
}
