import { connect, type Socket } from 'node:net'
import { sayReady } from './program.ts'

/**
 * Subscribers of threads on bare connections, in a process of their own. They know how far they have read, come back with
 * that, and note when each event arrived, what was missing or came twice, and when the heart beat.
 */
interface Asked {
  readonly open?: {
    readonly port: number
    readonly token: string
    readonly workspaceId: string
    readonly threads: string[]
  }
  readonly reopen?: { readonly port: number }
  readonly read?: true
}

interface Reader {
  readonly threadId: string
  readonly request: (lastSeq: number) => string
  last: number
  openedAt: number
  rest: string
}

const atOnce = 100
const readers: Reader[] = []
let seen = { latencies: [] as number[], gaps: 0, doubled: 0, firstBeatsMs: [] as number[] }
let sockets: Socket[] = []

function openOne(reader: Reader, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port })
    sockets.push(socket)
    let isReady = false
    let hasBeaten = false
    reader.rest = ''
    socket.on('error', (error) => (isReady ? undefined : reject(error)))
    socket.on('data', (chunk) => {
      const text = reader.rest + chunk.toString('latin1')
      let end = 0
      for (const found of text.matchAll(/id: (\d+)\ndata: ([^\n]*)\n\n|: heartbeat\n\n/g)) {
        end = found.index + found[0].length
        if (found[1] === undefined) {
          if (!hasBeaten) seen.firstBeatsMs.push(performance.now() - reader.openedAt)
          hasBeaten = true
        } else if (found[2]?.includes('"thread.ready"')) {
          isReady = true
          reader.openedAt = performance.now()
          resolve()
        } else take(reader, Number(found[1]), found[2] ?? '')
      }
      reader.rest = text.slice(end)
      if (!isReady && text.startsWith('HTTP/1.1') && !text.startsWith('HTTP/1.1 200')) reject(new Error(text))
    })
    socket.write(reader.request(reader.last))
  })
}

function take(reader: Reader, sequence: number, data: string): void {
  if (sequence <= reader.last) seen.doubled++
  else if (sequence > reader.last + 1) seen.gaps++
  reader.last = Math.max(reader.last, sequence)
  const at = /t=([\d.]+);/.exec(data)?.[1]
  if (at !== undefined) seen.latencies.push(performance.timeOrigin + performance.now() - Number(at))
}

async function openAll(port: number): Promise<void> {
  for (let from = 0; from < readers.length; from += atOnce)
    await Promise.all(readers.slice(from, from + atOnce).map((reader) => openOne(reader, port)))
}

function requestFor(token: string, workspaceId: string, threadId: string): Reader['request'] {
  return (lastSeq) => {
    const body = JSON.stringify({ resourceId: workspaceId, threadId, lastSeq })
    const head = [
      'POST /api/v1/agents/assistant/subscribe-thread HTTP/1.1',
      'host: x',
      `x-auth-token: ${token}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ]
    return `${head.join('\r\n')}\r\n\r\n${body}`
  }
}

process.on('message', async ({ open, reopen, read }: Asked) => {
  if (open) {
    const { port, token, workspaceId, threads } = open
    for (const threadId of threads) {
      const request = requestFor(token, workspaceId, threadId)
      readers.push({ threadId, request, last: 0, openedAt: 0, rest: '' })
    }
    await openAll(port)
    process.send?.({ open: readers.length })
  }
  if (reopen) {
    for (const socket of sockets) socket.destroy()
    sockets = []
    await openAll(reopen.port)
    process.send?.({ open: readers.length })
  }
  if (read) {
    const total = readers.reduce((sum, { last }) => sum + last, 0)
    process.send?.({ ...seen, total })
    seen = { latencies: [], gaps: 0, doubled: 0, firstBeatsMs: [] }
  }
})
sayReady()
