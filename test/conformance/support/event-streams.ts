import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { get as getSecurely } from 'node:https'
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
  /** Resolves when the server has closed the stream, or when it was cut off here. */
  readonly ended: Promise<void>
  /** The first frame, come or still to come, that is like this. */
  next(isIt: (frame: StreamFrame) => boolean): Promise<StreamFrame>
  close(): void
}

/** Opens an address of server-sent events with no credential but what the address itself says. */
export async function openStream(url: string, headers: Record<string, string> = {}): Promise<OpenStream> {
  for (;;) {
    const incoming = await open(url, headers)
    if (incoming.statusCode !== 429) return follow(incoming, url)
    // Only where all callers share one address and wait for each other.
    incoming.destroy()
    await pause(Number(incoming.headers['retry-after'] ?? 1) * 1000)
  }
}

function open(url: string, headers: Record<string, string>): Promise<IncomingMessage> {
  const { address } = newVisitor()
  const send = url.startsWith('https:') ? getSecurely : get
  const options = { headers, agent: false, ...(address ? { localAddress: address } : {}) }
  return new Promise((resolve, reject) => {
    send(url, options, resolve).once('error', reject)
  })
}

function follow(incoming: IncomingMessage, url: string): OpenStream {
  const union = url.includes('/workflows/runs/') ? 'RunStreamEvent' : 'ExecutionStreamEvent'
  const frames: StreamFrame[] = []
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
  return { status, headers, frames, ended, next, close: () => incoming.destroy() }
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
