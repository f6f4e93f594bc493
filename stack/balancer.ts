import { connect, createServer, type Socket } from 'node:net'
import { type ClaimedPort, claimPort, PortTakenError, retryOnTakenPort } from './ports.ts'

/** As that of what stands behind it. */
const backlog = 4096

export type Balancer = { port: number; url: string; close: () => Promise<void> }

/**
 * One address in front of several processes: each new connection goes to the next backend in turn, past those
 * that refuse it. It forwards bytes and knows no protocol, so HTTP/2, event streams and sockets pass alike.
 */
export async function startBalancer(backends: number[]): Promise<Balancer> {
  const open = new Set<Socket>()
  let turn = 0

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (client) => {
    track(client)
    const first = turn++
    offer(
      client,
      [...backends.keys()].map((step) => backends[(first + step) % backends.length] ?? 0),
    )
  })

  function track(socket: Socket) {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  }

  function offer(client: Socket, [port, ...others]: number[]) {
    if (port === undefined) return void client.destroy()
    const backend = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    track(backend)
    const giveUp = () => backend.destroy()
    client.once('error', giveUp)
    const tryNext = () => {
      client.off('error', giveUp)
      if (client.destroyed) return
      offer(client, others)
    }
    backend.once('error', tryNext)
    backend.once('connect', () => {
      backend.off('error', tryNext)
      client.off('error', giveUp)
      join(client, backend)
    })
  }

  const claim = await retryOnTakenPort(listen)
  return {
    port: claim.port,
    url: `http://127.0.0.1:${claim.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          claim.release()
          resolve()
        })
        for (const socket of open) socket.destroy()
      }),
  }

  async function listen(): Promise<ClaimedPort> {
    const claim = await claimPort()
    return new Promise((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException) => {
        claim.release()
        reject(error.code === 'EADDRINUSE' ? new PortTakenError(error.message) : error)
      }
      server.once('error', fail)
      server.listen(claim.port, '127.0.0.1', backlog, () => {
        server.off('error', fail)
        resolve(claim)
      })
    })
  }
}

/** An end of one side is passed on as an end, so that what is still under way the other way arrives. */
function join(client: Socket, backend: Socket): void {
  const cut = () => {
    client.destroy()
    backend.destroy()
  }
  client.on('error', cut)
  backend.on('error', cut)
  client.pipe(backend)
  backend.pipe(client)
}
