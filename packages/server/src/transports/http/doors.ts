import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

interface Address {
  readonly host: string
  readonly port: number
  readonly backlog: number
}

/**
 * In each turn of its loop Node takes one connection from a socket that listens. With one socket a read waits at the
 * door behind a thousand readers of streams who come back at once, and are asked to wait their turn inside anyway.
 */
const doors = 4
/** For how long, at most, a connection stays open and unused while the server closes. */
const idleMs = 100
/** Where the kernel shares out who comes among several sockets. */
const canShare = process.platform === 'linux'

/** Begins to serve at an address. Gives what ends it in good order. */
export async function openDoors(app: FastifyInstance, address: Address): Promise<() => Promise<void>> {
  const silent = watchSilent(app.server)
  if (!canShare) {
    await app.listen(address)
    return () => closeWithIdle(app, [], silent)
  }
  await refuseIfTaken(address)
  await app.listen(Object.assign({ reusePort: true }, address))
  const shared = { ...address, port: portOf(app), reusePort: true }
  const others = await Promise.all(Array.from({ length: doors - 1 }, () => openAnother(app.server, shared)))
  return () => closeWithIdle(app, others, silent)
}

/** Connections on which nothing has been said yet: browsers and balancers open some beforehand. */
function watchSilent(server: HttpServer): ReadonlySet<Socket> {
  const silent = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  server.on('request', ({ socket }) => silent.delete(socket))
  server.on('upgrade', ({ socket }) => silent.delete(socket))
  return silent
}

/**
 * What is idle is ended once when a server begins to close. Who was being answered then goes idle a moment later, told
 * to keep the connection for another minute, and the process would wait for that; and a connection that has had no request
 * is none of Node's idle ones.
 */
async function closeWithIdle(
  app: FastifyInstance,
  others: readonly Server[],
  silent: ReadonlySet<Socket>,
): Promise<void> {
  let silentBefore = new Set<Socket>()
  const ending = setInterval(() => {
    app.server.closeIdleConnections()
    for (const socket of silent) if (silentBefore.has(socket) && socket.bytesRead === 0) socket.destroy()
    silentBefore = new Set(silent)
  }, idleMs)
  // Each counts those who came in by it: the framework knows nothing of the other doors.
  const closed = others.map((other) => once(other.close(), 'close'))
  await Promise.all([app.close(), ...closed]).finally(() => clearInterval(ending))
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('The server listens at no port')
  return address.port
}

/** A socket that is shared lets everybody else in who shares as well, a second process at the same port for one. */
async function refuseIfTaken(address: Address): Promise<void> {
  const alone = createServer()
  await once(alone.listen(address), 'listening')
  await once(alone.close(), 'close')
}

async function openAnother(server: HttpServer, address: ListenOptions): Promise<Server> {
  // As the HTTP server has its own connections.
  const another = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    server.emit('connection', socket),
  )
  await once(another.listen(address), 'listening')
  return another
}
