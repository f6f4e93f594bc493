import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { ApiError, toApiError } from '#operations/errors.ts'
import type { Deps } from '#platform/deps.ts'
import { addressReader } from './client-address.ts'
import { refuseByHand } from './refuse-by-hand.ts'
import { splitUrl, wantsBeats } from './socket-address.ts'

type Parts = Pick<Deps, 'config' | 'database' | 'logger' | 'metrics' | 'rateWindows' | 'stopping'>

/** Ends that the other side is told. */
const endings = {
  credential_ended: { code: 4001, reason: 'credential ended' },
  too_many: { code: 4008, reason: 'too many sockets of this credential' },
  restarting: { code: 1012, reason: 'restarting; reconnect' },
} as const

/** A socket that only ever speaks. */
export interface OpenSocket {
  /** False when it is closing. */
  send(frame: Buffer): boolean
  end(because: keyof typeof endings): void
}

/** Somebody who may open a socket. */
export interface Admission {
  readonly credential: string
  opened(socket: OpenSocket): void
  /** Called once, also when nothing was ever opened. */
  closed(): void
}

export interface SocketDoor {
  readonly path: string
  /** Decides by the token in the address alone; refuses by throwing. */
  admit(token: string): Promise<Admission>
}

const maxBufferedBytes = 1024 * 1024
const maxMessageBytes = 4 * 1024
const closeWithinMs = 1000
const lookEveryMs = 1000
const unansweredPings = 2
/** Beside each ping, for who cannot see those: a page is not told of them. */
const beat = Buffer.from('{"type":"beat"}')

interface Member {
  readonly ws: WebSocket
  pingAt: number
  unanswered: number
  readonly wantsBeats: boolean
  end(because: keyof typeof endings): void
  cut(because: 'stalled' | 'silent'): void
}

export function serveSockets(
  server: Server,
  parts: Parts,
  door: SocketDoor,
  { pingEveryMs = 25_000 }: { pingEveryMs?: number } = {},
): { close(): Promise<void> } {
  const { database, logger, metrics, stopping } = parts
  const acceptor = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    // Not in the types yet. Who does not answer a close is cut off after this.
    ...({ closeTimeout: closeWithinMs } as object),
  })
  const addressOf = addressReader(parts.config)
  const members = new Set<Member>()
  const undecided = new Set<Duplex>()
  let closing = false
  let allGone: (() => void) | undefined

  const noteGone = () => {
    if (members.size === 0 && undecided.size === 0) allGone?.()
  }

  async function decide(request: IncomingMessage): Promise<Admission> {
    const { path, query } = splitUrl(request)
    if (path !== door.path) throw new ApiError('NOT_FOUND')
    if (closing || stopping.aborted || !database.available) throw away()
    const admission = await door.admit(new URLSearchParams(query).get('token') ?? '')
    if (!closing) return admission
    admission.closed()
    throw away()
  }

  async function upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const started = performance.now()
    // The client may go away while it is looked at; without a listener that would end the process.
    stream.on('error', () => {})
    undecided.add(stream)
    let admission: Admission | undefined
    let status = 101
    try {
      admission = await decide(request)
      accept(request, stream, head, admission)
    } catch (error) {
      const refused = toApiError(error as Error)
      if (refused.status >= 500 && refused.cause) logger.error({ err: refused.cause }, 'upgrade failed')
      status = await refuseByHand(parts, stream, { address: addressOf(request), refused })
    }
    undecided.delete(stream)
    noteGone()
    const milliseconds = performance.now() - started
    metrics.observeRequest('openSocket', status, milliseconds / 1000)
    const line = { method: 'GET', route: door.path, status, ms: Math.round(milliseconds * 10) / 10 }
    logger[status === 101 ? 'debug' : 'info']({ ...line, credential: admission?.credential })
  }

  // The handshake is malformed; left to the acceptor, its answer would be like none of the others.
  acceptor.on('wsClientError', (_error, stream, request) => {
    const refused = new ApiError('INVALID_INPUT', { message: 'This is no WebSocket handshake' })
    void refuseByHand(parts, stream, { address: addressOf(request), refused })
  })

  function accept(request: IncomingMessage, stream: Duplex, head: Buffer, admission: Admission): void {
    let opened = false
    acceptor.handleUpgrade(request, stream, head, (ws) => {
      opened = true
      join(ws, admission, wantsBeats(request))
    })
    // The handshake was malformed, or the client is gone.
    if (!opened) admission.closed()
  }

  function join(ws: WebSocket, admission: Admission, wantsBeats: boolean): void {
    let dropped = false
    const drop = (reason: string): boolean => {
      if (dropped) return false
      dropped = true
      metrics.droppedSockets.inc({ reason })
      return true
    }
    const member: Member = {
      ws,
      pingAt: performance.now() + pingEveryMs,
      unanswered: 0,
      wantsBeats,
      end: (because) => {
        if (ws.readyState === ws.OPEN && drop(because))
          ws.close(endings[because].code, endings[because].reason)
      },
      cut: (because) => {
        drop(because)
        ws.terminate()
      },
    }
    const cutIfStalled = () => ws.bufferedAmount > maxBufferedBytes && member.cut('stalled')
    members.add(member)
    metrics.openSockets.inc()
    ws.on('error', () => drop('broken'))
    ws.on('pong', () => {
      member.unanswered = 0
    })
    // Each ping of theirs is answered, so one who sends them and reads nothing fills the buffer too.
    ws.on('ping', cutIfStalled)
    ws.on('close', () => {
      members.delete(member)
      metrics.openSockets.dec()
      admission.closed()
      noteGone()
    })
    admission.opened({
      send: (frame) => {
        if (ws.readyState !== ws.OPEN) return false
        // A buffer is not copied: stalled readers share what waits for them.
        ws.send(frame, { binary: false })
        cutIfStalled()
        return true
      },
      end: member.end,
    })
  }

  /** Pings fall due one socket at a time, as they opened, so that many sockets are no burst. */
  function look(): void {
    const now = performance.now()
    for (const member of members) {
      if (now < member.pingAt) continue
      if (member.unanswered >= unansweredPings) {
        member.cut('silent')
        continue
      }
      member.pingAt = now + pingEveryMs
      member.unanswered++
      if (member.ws.readyState !== member.ws.OPEN) continue
      member.ws.ping()
      // Who reads nothing does not answer the ping either, and is cut for that.
      if (member.wantsBeats) member.ws.send(beat, { binary: false })
    }
  }

  const timer = setInterval(look, Math.min(lookEveryMs, pingEveryMs))
  timer.unref()
  server.on('upgrade', (request, stream, head) => void upgrade(request, stream, head))

  return {
    close: async () => {
      closing = true
      clearInterval(timer)
      const gone = new Promise<void>((resolve) => {
        allGone = resolve
      })
      for (const member of members) member.end('restarting')
      noteGone()
      await gone
    },
  }
}

function away(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1 })
}
