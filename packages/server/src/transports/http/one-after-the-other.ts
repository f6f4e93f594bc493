import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { whenOver } from './when-over.ts'

/** Hardly any client sends a second request over a connection before it has the answer to the first. */
const mostAtOnce = 16

/**
 * Ends a connection over which more is sent than was answered. Node begins with all that one piece of it brings, which can
 * be a thousand requests, and holds back no sender who does not wait: each of them would be begun, and kept.
 */
export function endFloods(server: Server): void {
  const unanswered = new WeakMap<Socket, number>()
  const count = (socket: Socket, change: number) =>
    unanswered.set(socket, (unanswered.get(socket) ?? 0) + change)
  const handlers = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    // What is left of that piece, of a connection that was ended.
    if (socket.destroyed) return
    if ((unanswered.get(socket) ?? 0) >= mostAtOnce) return void socket.destroy()
    count(socket, 1)
    whenOver(response, () => count(socket, -1))
    for (const handle of handlers) handle.call(server, request, response)
  })
}
